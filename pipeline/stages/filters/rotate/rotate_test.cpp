// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/rotate/rotate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "pipeline/stages/filters/rotate/turn.hpp"
#include "tests/support/elements_under_test.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::rotate {
namespace {

using testing::complex_noise;
using testing::ElementsUnderTest;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

/// The definition, in extended precision.
std::complex<double> reference(cf32 x, std::int64_t n, long double turns_per_sample, long double phase) {
  long double turns = turns_per_sample * static_cast<long double>(n);
  turns -= std::floor(turns);
  const long double angle = 2 * std::numbers::pi_v<long double> * turns + phase;
  return std::complex<double>(x) * std::complex<double>(std::polar(1.0L, angle));
}

void expect_exact(double frequency, double rate, double phase, std::int64_t first) {
  const Rotator rotator(Phase::per_sample(frequency, rate), Phase::of_radians(phase));
  const auto x = complex_noise(2000);
  std::vector<cf32> y(x.size());
  run_cpu(rotator, View<const cf32, 2>(x.data(), {1, 2000}), first, View<cf32, 2>(y.data(), {1, 2000}));
  const long double turns = static_cast<long double>(frequency) / static_cast<long double>(rate);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto exact = reference(x[i], first + static_cast<std::int64_t>(i), turns, phase);
    ASSERT_LT(std::abs(std::complex<double>(y[i]) - exact), 4e-7) << frequency << " " << first + static_cast<int>(i);
  }
}

TEST(Rotate, AgreesWithTheDefinitionNearAndFar) {
  for (std::int64_t first : {std::int64_t{0}, std::int64_t{511}, std::int64_t{1'000'000'000}})
    for (double frequency : {0.0, 1.0, 1e6, -1e6, 10.3125e6, -10.3125e6, 123456.789, 30e6})
      expect_exact(frequency, 20.625e6, 0.7, first);
}

TEST(Rotate, QuartersOfTheRate) {
  StageUnderTest s(entry(), "{frequency: 250 kHz}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(std::vector<cf32>(5, cf32(1, 0)));
  const std::vector<cf32> expected{{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 0}};
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_LT(std::abs(y[i] - expected[i]), 1e-7f);
}

TEST(Rotate, PhaseAlone) {
  StageUnderTest s(entry(), "{phase: 1.5707963267948966}", {stream_of(Element::cf32, 1, 0)});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_LT(std::abs(s.stream<cf32>(std::vector<cf32>{{2, 1}}).front() - cf32(-1, 2)), 1e-6f);
}

TEST(Rotate, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest s(entry(), "{frequency: 123456.7, phase: 1}", {stream_of(Element::cf32, 2)});
  const auto x = complex_noise(6000);
  const auto whole = s.stream<cf32>(x);
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1, 2, 3, 511, 512, 513, 77}), whole));
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1}), whole));
}

/// The rotation in generated kernels has no table; the same error bound holds.
TEST(Rotate, ADevicesTurnAgreesWithTheDefinition) {
  for (std::int64_t first : {std::int64_t{0}, std::int64_t{1'000'000'000}})
    for (double frequency : {1e6, -10.3125e6, 123456.789}) {
      const Turn turn{Phase::per_sample(frequency, 20.625e6).turns, Phase::of_radians(0.7).turns};
      const auto x = complex_noise(2000);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::int64_t n = first + static_cast<std::int64_t>(i);
        elementwise::Complex y;
        turn({x[i].real(), x[i].imag()}, y, n);
        const auto turns = static_cast<long double>(frequency) / 20.625e6L;
        ASSERT_LT(std::abs(std::complex<double>(y.re, y.im) - reference(x[i], n, turns, 0.7L)), 4e-7) << n;
      }
    }
}

TEST(Rotate, PiecesOfElementsGiveWhatTheStageGives) {
  constexpr const char* kKeys = "{frequency: 12345.6, phase: 1}";
  const ElementsUnderTest elements(entry(), kKeys, stream_of(Element::cf32));
  const auto x = complex_noise(3000);
  auto y = x;  // in place
  for (std::int64_t at = 0; at < std::ssize(y); at += 333) {
    void* const piece = y.data() + at;
    const void* const from = piece;
    elements.code->apply({&from, 1}, {&piece, 1}, at, std::min<std::int64_t>(333, std::ssize(y) - at));
  }
  StageUnderTest s(entry(), kKeys, {stream_of(Element::cf32)});
  EXPECT_TRUE(same_bits(y, s.stream<cf32>(x)));
}

TEST(Rotate, BadSamplesStayWhereTheyAre) {
  std::vector<cf32> x(20, cf32(1, 0));
  x[7] = {std::numeric_limits<float>::quiet_NaN(), 0};
  StageUnderTest s(entry(), "{frequency: 1 kHz}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i].real()), i == 7);
}

TEST(Rotate, NeedsARate) {
  EXPECT_THAT(StageUnderTest(entry(), "{frequency: 1 kHz}", {stream_of(Element::cf32, 1, 0)}).complaints(),
              HasSubstr("frequency: needs the sample rate"));
}

}  // namespace
}  // namespace iqd::rotate
