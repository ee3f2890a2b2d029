// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/python.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "pipeline/stage_runner.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::python {

StageEntry entry();  // python_stage.cpp

namespace {

using testing::complex_noise;
using testing::real_noise;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

template <class T> using Inputs = std::vector<std::vector<T>>;

/// Keys with a function of this body.
std::string keys_with(const std::string& body, const std::string& more = "", const std::string& arguments = "x, meta") {
  return fmt::format("{{code: \"import numpy as np\\ndef f({}):\\n  {}\"{}{}}}", arguments, body,
                     more.empty() ? "" : ", ", more);
}

/// Bit-identical in blocks of many lengths; each gets exactly the samples that the stage asks for.
template <class Out, class In> std::vector<Out> however_cut(StageUnderTest& s, const Inputs<In>& x) {
  EXPECT_EQ(s.complaints(), "");
  const std::vector<Out> whole = s.streams<Out>(x, {1 << 30});
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{1, 2, 3, 77}, {7}, {64}, {1000, 1}})
    EXPECT_TRUE(same_bits(s.streams<Out>(x, lengths), whole)) << "blocks of " << lengths.front();
  return whole;
}

TEST(Python, PastAndFutureAreZeroWhereThereIsNone) {
  StageUnderTest s(entry(), keys_with("return x[:, :-5] - 2 * x[:, 5:]", "past: 2, future: 3"),
                   {stream_of(Element::cf32, 2)});
  const std::int64_t n = 500;
  const std::vector<cf32> x = complex_noise(2 * n);
  const std::vector<cf32> y = however_cut<cf32>(s, Inputs<cf32>{x});
  const auto at = [&](std::int64_t row, std::int64_t p) {
    return p < 0 || p >= n ? cf32() : x[static_cast<std::size_t>(row * n + p)];
  };
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t p = 0; p < n; ++p)
      ASSERT_EQ(y[static_cast<std::size_t>(row * n + p)], at(row, p - 2) - 2.0f * at(row, p + 3)) << row << " " << p;
}

TEST(Python, WholeGroupsBecomeOtherNumbersOfSamples) {
  StageUnderTest s(entry(),
                   keys_with("return x[:, 3:].reshape(len(x), -1, 7)[..., 2:5].reshape(len(x), -1)",
                             "in: [f32], out: {element: f32}, past: 3, decimation: 7, interpolation: 3"),
                   {stream_of(Element::f32)});
  const std::vector<float> x = real_noise(1003);
  std::vector<float> expected;
  for (std::size_t g = 0; g < x.size() / 7; ++g)
    expected.insert(expected.end(), x.begin() + 7 * g + 2, x.begin() + 7 * g + 5);
  EXPECT_EQ(however_cut<float>(s, Inputs<float>{x}), expected);
  EXPECT_NEAR(s.out().rate_hz, 1e6 * 3 / 7, 1e-6);
}

TEST(Python, TwoInputs) {
  StageUnderTest s(entry(), keys_with("return a * b.conj()", "in: [cf32, cf32]", "a, b, meta"),
                   {stream_of(Element::cf32), stream_of(Element::cf32)});
  const std::vector<cf32> a(300, cf32(2, 1)), b(300, cf32(0, 3));
  EXPECT_EQ(however_cut<cf32>(s, Inputs<cf32>{a, b}), std::vector<cf32>(300, cf32(2, 1) * cf32(0, -3)));
}

TEST(Python, ItemsThatAreFoundBelongToTheBlockTheyAreIn) {
  StageUnderTest s(entry(),
                   keys_with("return np.flatnonzero(x[0, meta.past:] > 0.5) + meta.position",
                             "in: [f32], past: 4, out: {element: i64, dims: \"[find]\", most: 3}"),
                   {stream_of(Element::f32)});
  EXPECT_EQ(s.complaints(), "");
  std::vector<float> x(100, 0);
  x[3] = x[49] = x[50] = x[99] = 1;
  EXPECT_EQ(s.once<std::int64_t>(x, 0, 50), (std::vector<std::int64_t>{3, 49}));
  EXPECT_EQ(s.once<std::int64_t>(x, 50, 100), (std::vector<std::int64_t>{50, 99}));
  EXPECT_EQ(s.once<std::int64_t>(x, 51, 51), std::vector<std::int64_t>{});
}

StageInput packets(std::int64_t count) {
  StageInput in;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = "packet";
  in.shape.item = {{"sample", 5}};
  in.shape.most = in.length = count;
  const std::vector<cf32> x = complex_noise(count * 5);
  in.data.resize(x.size() * sizeof(cf32));
  std::memcpy(in.data.data(), x.data(), in.data.size());
  return in;
}

/// Plans refer to it.
const StageEntry& kept_entry() {
  static const StageEntry kept = entry();
  return kept;
}

std::vector<StageOutput> run_on(const std::string& keys, StageInput in, std::int64_t block = 0) {
  Problems problems;
  StageRunner runner(kept_entry(), keys, {std::move(in)}, block, "cpu", problems, {.outputs = {"out"}});
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  return problems.empty() ? runner.run() : std::vector<StageOutput>();
}

TEST(Python, OneItemForEach) {
  for (const std::int64_t block : {0, 1, 4}) {
    const auto out =
        run_on(keys_with("return np.abs(x).sum(1)", "out: {element: f32, dims: \"[packet]\"}"), packets(9), block);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].shape.axis_name, "packet");
    EXPECT_TRUE(out[0].shape.item.empty());
    EXPECT_EQ(out[0].length, 9);
  }
}

TEST(Python, OtherItemsOfItems) {
  const auto out =
      run_on(keys_with("return np.arange(2 * len(x))", "out: {element: i32, dims: \"[word]\", most: 20}"), packets(9));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].length, 18);
}

TEST(Python, OneArrayForEachBlock) {
  StageInput in;
  in.shape = stream_of(Element::cf32);
  in.length = 100;
  in.data.resize(800);
  const auto out =
      run_on(keys_with("return [meta.n, meta.position]", "out: {element: f32, dims: \"[value 2]\"}"), in, 40);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].length, 3);
  EXPECT_EQ(out[0].shape.text(), "f32 [value 2]");
}

/// What a stage on arrays cannot compute ends the command.
TEST(Python, AnExceptionEndsARunOnArrays) {
  StageInput in;
  in.shape = stream_of(Element::cf32);
  in.length = 100;
  in.data.resize(800);
  EXPECT_THROW(run_on(keys_with("return 1 / 0"), in), SetupError);
  EXPECT_THROW(run_on(keys_with("return x[:, 1:]"), in), SetupError);
}

std::string complaint_of(const std::string& keys, PortShape in = stream_of(Element::cf32)) {
  Problems problems;
  StageInput input;
  input.shape = std::move(in);
  StageRunner runner(kept_entry(), keys, {input}, 0, "cpu", problems);
  return problems.empty() ? "" : problems.front().text();
}

TEST(Python, MistakesInItsShapes) {
  EXPECT_EQ(complaint_of(keys_with("return x", "out: {element: f64}")),
            "python:1:65 out.element: 'f64' is not one of sc16 cf32 f32 f16 i64 i32 i16 i8 u8");
  EXPECT_THAT(complaint_of(keys_with("return x", "out: {dims: \"[3\"}")),
              ::testing::HasSubstr("'[3' is not a list of dimensions"));
  EXPECT_THAT(complaint_of(keys_with("return x", "out: {dims: \"[a 3]\", most: 2}")),
              ::testing::HasSubstr("out.most: the first dimension has an extent"));
  EXPECT_THAT(complaint_of(keys_with("return x", "out: {dims: \"[find][n]\"}")),
              ::testing::HasSubstr("[find] needs an extent"));
  EXPECT_THAT(complaint_of(keys_with("return x", "out: {dims: \"[find]\", most: 2}, decimation: 2")),
              ::testing::HasSubstr("decimation: a stage that counts its items has no rate"));
  EXPECT_THAT(complaint_of(keys_with("return x", "in: [f32, f32, f32]")), ::testing::HasSubstr("names 3 inputs"));
  EXPECT_THAT(complaint_of(keys_with("return x", "past: 3"), packets(1).shape),
              ::testing::HasSubstr("past: only a stream has a past"));
}

/// As `iqd explain` shows it, and `iqd check` judges by it.
TEST(Python, ItsProcessesCountAsMemoryAndDescriptors) {
  Problems problems;
  StageInput input;
  input.shape = stream_of(Element::cf32);
  input.length = 100'000;
  input.data.resize(800'000);
  StageRunner runner(kept_entry(), keys_with("return x", "workers: 3"), {input}, 50'000, "cpu", problems);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  const Needs needs = runner.plan().steps.front().stage->needs();
  ASSERT_EQ(needs.size(), 1u);
  EXPECT_EQ(needs[0].what, "3 process(es) of python: f");
  EXPECT_EQ(needs[0].files, 9);
  EXPECT_GT(needs[0].bytes, 3u * (31'000'000 + 2 * 50'000 * sizeof(cf32)));
  EXPECT_LT(needs[0].bytes, 3u * (31'000'000 + 2 * 52'000 * sizeof(cf32) + 80'000));
}

TEST(Python, ParametersHaveALimit) {
  EXPECT_THAT(complaint_of(keys_with("return x", "params: {k: " + std::string(70'000, 'a') + "}", "x, meta, k")),
              ::testing::HasSubstr("params: are too long: 70"));
}

TEST(Python, MistakesInItsTextHaveALine) {
  EXPECT_THAT(complaint_of("{code: \"def f(x, meta):\\n  return (\"}"), ::testing::HasSubstr("SyntaxError"));
  EXPECT_THAT(complaint_of(keys_with("return x", "function: g")),
              ::testing::HasSubstr("there is no function g; there are: f"));
  EXPECT_THAT(complaint_of(keys_with("return x", "", "x, meta, k")), ::testing::HasSubstr("'k' of f has no value"));
  EXPECT_THAT(complaint_of(keys_with("return x", "params: {k: 1}")), ::testing::HasSubstr("f has no parameter 'k'"));
  EXPECT_THAT(complaint_of(keys_with("return x", "interpreter: /none")), ::testing::HasSubstr("apt install python3"));
}

}  // namespace
}  // namespace iqd::python
