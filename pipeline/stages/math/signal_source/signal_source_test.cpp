// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/signal_source/signal_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/elements_under_test.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::signal_source {
namespace {

using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

StageUnderTest source(const std::string& keys, double rate_hz = 1e6, std::int64_t channels = 1) {
  return {entry(), keys, {stream_of(Element::cf32, channels, rate_hz)}};
}
std::vector<cf32> played(const std::string& keys, std::int64_t n, double rate_hz = 1e6) {
  StageUnderTest s = source(keys, rate_hz);
  EXPECT_EQ(s.complaints(), "");
  return s.stream<cf32>(std::vector<cf32>(static_cast<std::size_t>(n)));
}

/// The definition, in extended precision.
std::complex<double> reference(std::int64_t n, long double frequency, long double rate, long double phase) {
  long double turns = frequency / rate * static_cast<long double>(n);
  turns -= std::floor(turns);
  return std::complex<double>(std::polar(1.0L, 2 * std::numbers::pi_v<long double> * turns + phase));
}

TEST(SignalSource, AgreesWithTheDefinitionNearAndFar) {
  constexpr double kRate = 20.625e6;
  for (const double frequency : {0.0, 1.0, 1e6, -1e6, 10.3125e6, -10.3125e6, 123456.789, 30e6})
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{12'345'678'901}}) {
      Config config;
      config.frequency = frequency;
      config.phase = 0.7;
      config.amplitude = 3;
      std::vector<cf32> y(2001);
      run_cpu(Waveform::complex, config.oscillation(kRate), first, Element::cf32, y.data(), std::ssize(y));
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::int64_t n = first + static_cast<std::int64_t>(i);
        const auto exact = 3.0 * reference(n, frequency, kRate, 0.7);
        ASSERT_LT(std::abs(std::complex<double>(y[i]) - exact), 3 * 4e-7) << frequency << " at " << n;
      }
    }
}

TEST(SignalSource, HalfTheRateAlternatesAndQuartersAreExact) {
  const auto half = played("{frequency: 500 kHz, amplitude: 2}", 100);
  for (std::size_t n = 0; n < half.size(); ++n) EXPECT_EQ(half[n], cf32(n % 2 ? -2 : 2, 0));
  EXPECT_EQ(played("{frequency: 250 kHz}", 5), (std::vector<cf32>{1, {0, 1}, -1, {0, -1}, 1}));
  EXPECT_EQ(played("{frequency: -250 kHz}", 5), (std::vector<cf32>{1, {0, -1}, -1, {0, 1}, 1}));
  EXPECT_EQ(played("{frequency: 750 kHz}", 5), played("{frequency: -250 kHz}", 5));
}

TEST(SignalSource, RealWaveformsArePartsOfTheComplexOne) {
  const auto complex = played("{frequency: 12.3 kHz, phase: 0.3, amplitude: 0.5}", 1000);
  const auto cosine = played("{waveform: cosine, frequency: 12.3 kHz, phase: 0.3, amplitude: 0.5}", 1000);
  const auto sine = played("{waveform: sine, frequency: 12.3 kHz, phase: 0.3, amplitude: 0.5}", 1000);
  StageUnderTest real = source("{waveform: sine, frequency: 12.3 kHz, phase: 0.3, amplitude: 0.5, dtype: f32}");
  EXPECT_EQ(real.out().text(), "f32 [n]");
  const auto numbers = real.stream<float>(std::vector<cf32>(1000));
  for (std::size_t n = 0; n < complex.size(); ++n) {
    EXPECT_EQ(cosine[n], cf32(complex[n].real(), 0));
    EXPECT_EQ(sine[n], cf32(complex[n].imag(), 0));
    EXPECT_EQ(numbers[n], complex[n].imag());
  }
}

TEST(SignalSource, SquareAndConstant) {
  EXPECT_EQ(played("{waveform: square, frequency: 125 kHz, amplitude: 3}", 9),
            (std::vector<cf32>{3, 3, 3, 3, -3, -3, -3, -3, 3}));
  EXPECT_EQ(played("{waveform: constant, amplitude: -0.25}", 3, 0), std::vector<cf32>(3, cf32(-0.25f, 0)));
}

/// Checked with integers: sample n is in the first half of a turn if (n frequency) mod rate is below rate / 2.
TEST(SignalSource, NoEdgeOfASquareIsASampleLate) {
  struct Wave {
    std::int64_t frequency, rate;
  };
  for (const Wave& w : {Wave{10'000, 1'000'000},
                        {1'000, 48'000},
                        {700, 1'000},
                        {-300, 1'000},
                        {-10'000, 1'000'000},
                        {3, 7},
                        {-1, 6},
                        {1'234'500, 1'000'000},
                        {499'999, 1'000'000}})
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1'000'000'000'000}}) {
      Config config;
      config.waveform = Waveform::square;
      config.frequency = static_cast<double>(w.frequency);
      std::vector<float> y(3001);
      run_cpu(Waveform::square, config.oscillation(static_cast<double>(w.rate)), first, Element::f32, y.data(),
              std::ssize(y));
      for (std::int64_t i = 0; i < std::ssize(y); ++i) {
        const std::int64_t part = ((first + i) % w.rate * w.frequency % w.rate + w.rate) % w.rate;
        ASSERT_EQ(y[static_cast<std::size_t>(i)], 2 * part < w.rate ? 1 : -1)
            << w.frequency << "/" << w.rate << " at " << first + i;
      }
    }
  EXPECT_EQ(played("{waveform: square, frequency: 125 kHz, phase: 3.141592653589793}", 5),
            (std::vector<cf32>{-1, -1, -1, -1, 1}));
}

TEST(SignalSource, OnlyPositionsCount) {
  for (const char* keys : {"{frequency: 1234.5}", "{waveform: square, frequency: 1234.5}"}) {
    StageUnderTest s = source(keys, 1e6, 2);
    const std::vector<cf32> noise = testing::complex_noise(6000), nothing(6000);
    const auto whole = s.stream<cf32>(nothing);
    EXPECT_TRUE(same_bits(s.stream<cf32>(noise, {1, 2, 3, 511, 512, 513, 77}), whole));
    EXPECT_TRUE(same_bits(std::vector<cf32>(whole.begin(), whole.begin() + 3000),
                          std::vector<cf32>(whole.begin() + 3000, whole.end())));
  }
}

TEST(SignalSource, PiecesOfElementsGiveWhatTheStageGives) {
  constexpr const char* kKeys = "{waveform: cosine, dtype: f32, frequency: 1234.5}";
  const testing::ElementsUnderTest elements(entry(), kKeys, stream_of(Element::cf32));
  std::vector<float> y(1000);
  for (std::int64_t at = 0; at < std::ssize(y); at += 300) {
    const void* const nothing = nullptr;
    void* const piece = y.data() + at;
    elements.code->apply({&nothing, 1}, {&piece, 1}, at, std::min<std::int64_t>(300, std::ssize(y) - at));
  }
  StageUnderTest s = source(kKeys);
  EXPECT_TRUE(same_bits(y, s.stream<float>(std::vector<cf32>(1000))));
  EXPECT_EQ(elements.code->device_code()->type,
            "iqd::signal_source::Tone<iqd::signal_source::Waveform::cosine, float>");
}

TEST(SignalSource, BadKeysAreRefused) {
  EXPECT_THAT(source("{frequency: 1 kHz}", 0).complaints(), HasSubstr("frequency: needs the sample rate"));
  EXPECT_THAT(source("{dtype: f32}").complaints(), HasSubstr("dtype: f32 does not go with `waveform: complex`"));
  EXPECT_THAT(source("{waveform: triangle}").complaints(), HasSubstr("square"));
  EXPECT_THAT(source("{amplitude: .inf}").complaints(), HasSubstr("amplitude"));
}

}  // namespace
}  // namespace iqd::signal_source
