// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/kernel/messages.hpp"
#include "pipeline/stages/math/kernel/texts.hpp"
#include "tests/support/kernel_under_test.hpp"

namespace iqd::kernel {
namespace {

using iqd::testing::complex_noise;
using iqd::testing::same_bits;
using ::testing::HasSubstr;

using Kernel = KernelTest;

constexpr const char* kScale = "__device__ float2 f(float2 x, float k) { return make_float2(k * x.x, k * x.y); }";

TEST_F(Kernel, EachElementThroughTheFunction) {
  UnderTest s(with(kScale, "params: {k: 0.3}"), {Element::cf32}, 2);
  ASSERT_EQ(s.complaints(), "");
  const auto x = complex_noise(2002);
  std::vector<cf32> expected;
  for (const cf32 v : x) expected.emplace_back(0.3f * v.real(), 0.3f * v.imag());
  EXPECT_TRUE(same_bits(s.stream<cf32>(x), expected));
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1, 2, 3, 64, 65, 127, 200}), expected));
}

TEST_F(Kernel, TwoInputsOfOtherTypes) {
  UnderTest s(with("__device__ int f(int a, int b) { return a - 2 * b; }", "in: [i32, i32], out: i32"),
              {Element::i32, Element::i32});
  ASSERT_EQ(s.complaints(), "");
  const std::vector<std::int32_t> a{5, -7, 100000}, b{1, 2, 3};
  EXPECT_EQ((s.streams<std::int32_t>(std::vector{a, b}, {2})), (std::vector<std::int32_t>{3, -11, 99994}));
}

TEST_F(Kernel, OfTwoThatAreCountedTheShorterCounts) {
  Problems problems;
  const std::unique_ptr<Stage> stage = entry().make();
  const Document keys = parse_document(
      with("__device__ float f(float a, float b) { return a - b; }", "in: [f32, f32], out: f32"), "a.yaml", problems);
  const Section section = read_fields(
      keys.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  PortShape items;
  items.element = Element::f32;
  items.axis = Axis::counted;
  items.most = 3;
  const std::vector<PortShape> in(2, items);
  std::vector<PortShape> out(1, items);
  std::vector<Footprint> footprint(2);
  ShapeContext context{.in = in, .out = out, .footprint = footprint, .most_new = 3, .section = section};
  stage->shape(context);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  const auto cpu = make_cpu_backend();
  std::vector<float> a{5, 6, 7}, b{1, 2}, y{0, 0, -1};
  std::int32_t counts[] = {3, 2, 0};
  const auto port = [](std::vector<float>& x, std::int32_t& count) {
    return PortIo{.data = reinterpret_cast<std::byte*>(x.data()), .length = std::ssize(x), .count = &count};
  };
  const PortIo from[] = {port(a, counts[0]), port(b, counts[1])};
  const PortIo to[] = {port(y, counts[2])};
  stage->make(*cpu)->enqueue({.in = from, .out = to}, {});
  EXPECT_EQ(counts[2], 2);
  EXPECT_EQ(y, (std::vector<float>{4, 4, -1}));
}

TEST_F(Kernel, MayReturnAnotherType) {
  UnderTest s(with("__device__ unsigned char f(float2 x) { return x.x > 0; }", "out: u8"), {Element::cf32});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out().element, Element::u8);
  EXPECT_EQ(s.stream<std::uint8_t>(std::vector<cf32>{1, -1, cf32(2, 5)}), (std::vector<std::uint8_t>{1, 0, 1}));
}

TEST_F(Kernel, ParametersGoByTheirNames) {
  UnderTest s(with("__device__ float f(float x, int n, float2 w, double d, bool on, unsigned u) "
                   "{ return on ? x + n * w.y + float(d) + u : 0; }",
                   "in: [f32], out: f32, params: {w: [1, 0.5], u: 7, on: true, d: 1e-3, n: -3}"),
              {Element::f32});
  ASSERT_EQ(s.complaints(), "");
  const float one = 1;
  EXPECT_EQ(s.stream<float>(std::vector<float>{one}), (std::vector<float>{one + -3 * 0.5f + 1e-3f + 7}));
}

/// y(n) = x(n-2) + 10 x(n) + 100 x(n+1)
constexpr const char* kWindow = "__device__ float f(const float* x) { return x[-2] + 10 * x[0] + 100 * x[1]; }";

TEST_F(Kernel, WithAHaloItGetsAWindow) {
  UnderTest s(with(kWindow, "in: [f32], out: f32, past: 2, future: 1"), {Element::f32});
  ASSERT_EQ(s.complaints(), "");
  // Zeros outside the stream.
  EXPECT_EQ(s.stream<float>(std::vector<float>{1, 2, 3, 4}), (std::vector<float>{210, 320, 431, 42}));
  EXPECT_EQ(s.stream<float>(std::vector<float>{5}), (std::vector<float>{50}));
}

TEST_F(Kernel, HowTheStreamIsCutDoesNotMatter) {
  // Compilers like to fuse a complex product, for some elements and not for others.
  const std::string code =
      "__device__ float2 f(const float2* a, const float2* b) { float2 s = make_float2(0, 0); "
      "for (int k = -7; k <= 2; ++k) { s.x += a[k].x * b[k].x - a[k].y * b[k].y; "
      "s.y += a[k].x * b[k].y + a[k].y * b[k].x; } return s; }";
  UnderTest s(with(code, "in: [cf32, cf32], past: 7, future: 2"), {Element::cf32, Element::cf32});
  ASSERT_EQ(s.complaints(), "");
  const std::vector<std::vector<cf32>> x{complex_noise(3001, 1), complex_noise(3001, 2)};
  const auto whole = s.streams<cf32>(x, {1 << 20});
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{1}, {5, 3, 64, 1}, {100}, {63, 65, 64, 1000}})
    EXPECT_TRUE(same_bits(s.streams<cf32>(x, lengths), whole));
}

TEST_F(Kernel, NanAndInfinityGoThrough) {
  UnderTest s(with("__device__ float f(float x) { return 1.0f / x; }", "in: [f32], out: f32"), {Element::f32});
  const auto y = s.stream<float>(std::vector<float>{0, NAN, INFINITY, 2});
  EXPECT_EQ(y[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0.5f);
}

TEST_F(Kernel, FilesAreFoundBesideThePipeline) {
  const std::string file = folder_.write("mine.cu", "// a comment\n\n__device__ float2 f(float2 x) { return x; }\n");
  EXPECT_EQ(complaint("{file: " + file + "}"), "");
  folder_.write("twice.h", "__device__ float twice(float x) { return 2 * x; }\n");
  const std::string more =
      folder_.write("more.cu", "#include \"twice.h\"\n__device__ float f(float x) { return twice(x); }\n");
  const std::string keys = "{file: " + more + ", in: [f32], out: f32}";
  UnderTest s(keys, {Element::f32});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.stream<float>(std::vector<float>{3}), std::vector<float>{6});
  // An included file is part of the program.
  folder_.write("twice.h", "__device__ float twice(float x) { return -2 * x; }\n");
  UnderTest changed(keys, {Element::f32});
  EXPECT_EQ(changed.stream<float>(std::vector<float>{3}), std::vector<float>{-6});
}

TEST_F(Kernel, ADevicesCompilerSaysTheSame) {
  const auto* const cuda = static_cast<const CudaHalf*>(find_cuda_half("kernel"));
  if (!cuda) GTEST_SKIP() << "NVRTC WAS NOT TESTED: there is no libiqd_cuda.so";
  const auto check = [&](Program p) {
    p.name = "mine.cu";
    p.folder = ".";
    p.function = "f";
    p.values.resize(p.types.size());
    return cuda->check({device_text(p), p.name, p.folder, p.in, p.element_wise()});
  };
  Program p;
  p.in = {Element::cf32};
  p.text = "__device__ float2 f(float2 x) {\n  return y;\n}";
  const std::string log = check(p);
  if (log.empty()) GTEST_SKIP() << "NVRTC WAS NOT TESTED: it is not installed";
  EXPECT_EQ(errors_in(log).front().place.file, "mine.cu");
  EXPECT_EQ(errors_in(log).front().place.line, 2);
  p.types = {"float", "float2", "int"};
  p.text = "__device__ float2 f(float2 x, float k, float2 w, int n) { return make_float2(k * w.x, n + M_PI); }";
  EXPECT_EQ(check(p), "");
  p.types.clear();
  p.in = {Element::sc16, Element::u8};
  p.past = kMostHalo;
  p.text = "__device__ float2 f(const short2* x, const uint8_t* b) { return make_float2(x[-2048].x, *b); }";
  EXPECT_EQ(check(p), "");
}

TEST_F(Kernel, WhatIsCompiledIsKeptWhereThatCanBe) {
  const auto first = [&](const std::string& constant) {
    UnderTest s(with("__device__ float f(float x) { return x + " + constant + "; }", "in: [f32], out: f32"),
                {Element::f32});
    EXPECT_EQ(s.complaints(), "");
    return s.stream<float>(std::vector<float>{1}).front();
  };
  EXPECT_EQ(first("1.0f"), 2);
  const auto kept = std::filesystem::directory_iterator(folder_.path() / "cache/host");
  EXPECT_EQ(std::distance(begin(kept), end(kept)), 1);
  folder_.write("file", "");
  ::setenv("IQD_CACHE_DIR", (folder_ / "file/below").c_str(), 1);
  EXPECT_EQ(first("2.0f"), 3);
}

TEST_F(Kernel, CompilerIsNamedOrFound) {
  const std::string path = std::getenv("PATH"), named = std::getenv("CXX") ? std::getenv("CXX") : "";
  ::setenv("CXX", "c++ -DONE", 1);
  ASSERT_EQ(host_compiler().size(), 2U);
  EXPECT_THAT(host_compiler().front(), ::testing::EndsWith("/c++"));
  ::unsetenv("CXX");
  EXPECT_EQ(host_compiler().size(), 1U);
  ::setenv("PATH", folder_.path().c_str(), 1);
  EXPECT_TRUE(host_compiler().empty());
  try {
    UnderTest(with(kScale, "params: {k: 9}"), {Element::cf32});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const SetupError& e) {
    EXPECT_THAT(e.what(), HasSubstr("apt install g++"));
  }
  ::setenv("PATH", path.c_str(), 1);
  if (!named.empty()) ::setenv("CXX", named.c_str(), 1);
}

TEST_F(Kernel, ElementWiseItTakesPartInFusion) {
  Problems problems;
  const Section section("kernel", {}, problems);
  const auto code_of = [&](const std::string& yaml) {
    const std::unique_ptr<Stage> stage = entry().make();
    const Document document = parse_document(yaml, "test.yaml", problems);
    read_fields(
        document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
    EXPECT_TRUE(stage->load(section)) << yaml;
    stage->compile(false, section);
    return stage->elements();
  };
  const auto code = code_of(with(kScale, "params: {k: 2}"));
  ASSERT_TRUE(code);
  std::vector<cf32> x = complex_noise(1000), y(x.size());
  const void* const in[] = {x.data()};
  void* const out[] = {y.data()};
  code->apply(in, out, 0, 1000);
  EXPECT_EQ(y[999], 2.0f * x[999]);
  void* const in_place[] = {x.data()};
  code->apply(in, in_place, 0, 999);
  EXPECT_TRUE(same_bits(std::vector(x.begin(), x.end() - 1), std::vector(y.begin(), y.end() - 1)));
  const auto device = code->device_code();
  ASSERT_TRUE(device);
  EXPECT_EQ(device->parameters.size(), sizeof(Parameter));
  EXPECT_THAT(device->text, HasSubstr(kScale));
  EXPECT_FALSE(code_of(with(kWindow, "in: [f32], out: f32, past: 2, future: 1")));
  // Its macros would affect the other stages.
  const std::string file = folder_.write("m.cu", "#define TWO 2\n__device__ float f(float x) { return TWO * x; }\n");
  EXPECT_FALSE(code_of("{file: " + file + ", in: [f32], out: f32}")->device_code());
}

}  // namespace
}  // namespace iqd::kernel
