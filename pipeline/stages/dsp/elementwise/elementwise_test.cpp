// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/dsp/elementwise/elementwise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pipeline/stages/dsp/elementwise/elementwise_stage.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::elementwise {
std::vector<StageEntry> entries();
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

StageEntry named(std::string_view name) {
  for (StageEntry& e : entries())
    if (e.name == name) return std::move(e);
  ADD_FAILURE() << "no operation " << name;
  return {};
}

template <class Out, class Op, class Reference> void expect_agrees(const Op& op, Reference reference) {
  for (std::int64_t n : {0, 1, 2, 3, 15, 16, 17, 1000}) {
    const auto x = complex_noise(n);
    std::vector<Out> y(x.size());
    run_cpu<cf32>(op, View<const cf32, 2>(x.data(), {1, n}), View<Out, 2>(y.data(), {1, n}));
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(std::abs(std::complex<double>(y[i]) - reference(std::complex<double>(x[i]))), 0, 2e-7) << i;
  }
}

TEST(Elementwise, AgreesWithTheDefinitions) {
  using Wide = std::complex<double>;
  expect_agrees<float>(op::complex_to_mag{}, [](Wide x) { return Wide(std::abs(x)); });
  expect_agrees<float>(op::complex_to_mag_squared{}, [](Wide x) { return Wide(std::norm(x)); });
  expect_agrees<cf32>(op::conjugate{}, [](Wide x) { return std::conj(x); });
  expect_agrees<cf32>(op::multiply_const{{.value = {0.6f, -0.8f}}}, [](Wide x) { return x * Wide(0.6f, -0.8f); });
}

TEST(Elementwise, EdgeValues) {
  const std::vector<cf32> x{{0, 0}, {-0.0f, 3}, {3, -4}, {kInf, 1}, {kNan, 1}, {1e18f, 1e18f}, {3e38f, 0}, {1e-30f, 0}};
  std::vector<float> magnitude(x.size());
  const auto n = std::ssize(x);
  run_cpu<cf32>(op::complex_to_mag{}, View<const cf32, 2>(x.data(), {1, n}), View<float, 2>(magnitude.data(), {1, n}));
  EXPECT_EQ(magnitude[0], 0);
  EXPECT_EQ(magnitude[1], 3);
  EXPECT_EQ(magnitude[2], 5);
  EXPECT_EQ(magnitude[3], kInf);
  EXPECT_TRUE(std::isnan(magnitude[4]));
  EXPECT_FLOAT_EQ(magnitude[5], 1.41421356e18f);
  EXPECT_EQ(magnitude[6], kInf);  // its square is too large
  EXPECT_EQ(magnitude[7], 0);     // its square is too small
  std::vector<cf32> y(x.size());
  run_cpu<cf32>(op::conjugate{}, View<const cf32, 2>(x.data(), {1, n}), View<cf32, 2>(y.data(), {1, n}));
  EXPECT_TRUE(std::signbit(y[0].imag()));
  EXPECT_TRUE(std::signbit(y[1].real()));
  EXPECT_EQ(y[3], cf32(kInf, -1));
}

TEST(Elementwise, InPlaceIsAllowed) {
  auto x = complex_noise(100);
  const auto before = x;
  run_cpu<cf32>(op::conjugate{}, View<const cf32, 2>(x.data(), {2, 50}), View<cf32, 2>(x.data(), {2, 50}));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], std::conj(before[i]));
}

TEST(Elementwise, HowTheStreamIsCutDoesNotMatter) {
  for (const StageEntry& e : entries()) {
    const std::string sample(e.sample);
    StageUnderTest s(e, sample.substr(sample.find(':') + 1), {stream_of(Element::cf32, 2)});
    ASSERT_EQ(s.complaints(), "") << e.name;
    const auto x = complex_noise(2002);
    if (s.out().element == Element::f32) {
      EXPECT_TRUE(same_bits(s.stream<float>(x, {1, 3, 64, 100}), s.stream<float>(x))) << e.name;
    } else {
      EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1, 3, 64, 100}), s.stream<cf32>(x))) << e.name;
    }
  }
}

TEST(Elementwise, AProductIsTheSameInVectorsAndAlone) {
  StageUnderTest s(named("multiply_const"), "{value: [0.6, -0.8]}", {stream_of(Element::cf32)});
  const auto x = complex_noise(2000);
  const auto whole = s.stream<cf32>(x);
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1}), whole));
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {5, 37}), whole));
}

TEST(Elementwise, ItemsAndCountsPassThrough) {
  PortShape packets = stream_of(Element::cf32);
  packets.axis = Axis::counted;
  packets.axis_name = "packet";
  packets.most = 4;
  packets.item = {{"symbol", 3}};
  StageUnderTest s(named("complex_to_mag"), "{}", {packets});
  EXPECT_EQ(s.out().text(), "f32 [packet up to 4][symbol 3]");
  const std::vector<cf32> x(12, cf32(3, 4));
  EXPECT_EQ(s.once<float>(x, 0, 4, 2), std::vector<float>(6, 5.0f));
  EXPECT_EQ(s.count(), 2);
}

TEST(Elementwise, TheFactorIsRequired) {
  StageUnderTest s(named("multiply_const"), "{}", {stream_of(Element::cf32)});
  EXPECT_THAT(s.complaints(), HasSubstr("value: is required"));
}

TEST(Elementwise, TheSamplesAreThoseOfTheFile) {
  Problems problems;
  std::string text;
  for (const StageEntry& e : entries()) text += "- " + std::string(e.sample) + "\n";
  const Document document = parse_document(text, "samples", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(document.root.items().size(), entries().size());
}

/// An operation of two inputs and of either type, as a line of ops.def would make it.
struct difference {
  struct Config {};
  struct Parameters {
  } p;
  using Input = type::number;
  using Output = type::number;
  static constexpr int kInputs = 2;
  template <class X> auto operator()(X x, X y) const { return x - y; }
};
void read_fields(difference::Config&, FieldVisitor&) {}
difference::Parameters rounded(const difference::Config&) {
  return {};
}
template <class T> void subtract(const difference& op, const void* x, const void* y, void* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    static_cast<T*>(to)[i] = op(static_cast<const T*>(x)[i], static_cast<const T*>(y)[i]);
}
void apply(const difference& op, Element type, const void* x, const void* y, void* to, std::int64_t n) noexcept {
  if (type == Element::cf32) return subtract<Complex>(op, x, y, to, n);
  subtract<float>(op, x, y, to, n);
}
constexpr std::string_view kDifference = "difference";

TEST(Elementwise, TwoInputsOfEitherType) {
  const StageEntry e = entry_of<difference, kDifference>("difference: {}", "x - y");
  ASSERT_EQ(e.inputs.size(), 2u);
  EXPECT_EQ(e.inputs[1].name, "in1");
  StageUnderTest complex(e, "{}", {stream_of(Element::cf32), stream_of(Element::cf32)});
  const auto x = complex_noise(50);
  const auto y = complex_noise(50, 2);
  const auto z = complex.streams<cf32>(std::vector{x, y}, {7});
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], x[i] - y[i]);
  StageUnderTest real(e, "{}", {stream_of(Element::f32), stream_of(Element::f32)});
  EXPECT_EQ(real.out().element, Element::f32);
  StageUnderTest mixed(e, "{}", {stream_of(Element::cf32), stream_of(Element::f32)});
  EXPECT_THAT(mixed.complaints(), HasSubstr("have to be alike; they are cf32 [n] and f32 [n]"));
}

TEST(Elementwise, TheHalfOfADeviceKnowsTheOperationsOfTheFile) {
  CudaHalf half{};
  half.make_conjugate = [](const op::conjugate&, Element, bool) { return std::unique_ptr<StageRun>(); };
  EXPECT_EQ(half.make_for(op::conjugate{}), half.make_conjugate);
  EXPECT_EQ(half.make_for(op::complex_to_mag{}), nullptr);
  EXPECT_EQ(half.make_for(difference{}), nullptr);
}

}  // namespace
}  // namespace iqd::elementwise
