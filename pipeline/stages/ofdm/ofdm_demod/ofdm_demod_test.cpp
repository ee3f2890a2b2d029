// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/ofdm_demod/ofdm_demod.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::ofdm_demod {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using complex = std::complex<double>;

constexpr OfdmFormat kFive;
constexpr OfdmFormat kTwenty{.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720, .tx = 4};
constexpr OfdmFormat kSmall{.fft = 64, .carriers = 62, .prefix = 9, .frame = 900, .tx = 1, .pilot_every = 5};

std::string keys_of(const OfdmFormat& f) {
  return fmt::format("{{fft: {}, carriers: {}, prefix: {}, frame: {}, tx: {}, pilot_every: {}, tail: {}}}", f.fft,
                     f.carriers, f.prefix, f.frame, f.tx, f.pilot_every, f.tail);
}

PortShape frames_of(std::int64_t rx, std::int64_t samples, std::int64_t most = 2) {
  PortShape s;
  s.axis = Axis::counted;
  s.axis_name = "frame";
  s.item = {{"rx", rx}, {"sample", samples}};
  s.most = most;
  return s;
}

/// The stage on whole frames, `most` of them at once.
std::vector<cf32> demodulated(const OfdmFormat& f, std::int64_t rx, const std::vector<cf32>& frames) {
  const std::int64_t most = std::ssize(frames) / (rx * f.frame);
  StageUnderTest s(entry(), keys_of(f), {frames_of(rx, f.frame, most)}, most);
  EXPECT_EQ(s.complaints(), "");
  return s.once<cf32>(frames, 0, 0, static_cast<std::int32_t>(most));
}

cf32 at(const std::vector<cf32>& y, const OfdmFormat& f, std::int64_t rx, std::int64_t frame, std::int64_t s,
        std::int64_t c, std::int64_t r) {
  return y[static_cast<std::size_t>(((frame * f.symbols() + s) * f.carriers + c) * rx + r)];
}

complex turn(double part) {
  return std::polar(1.0, 2 * std::numbers::pi * (part - std::floor(part)));
}

/// One carrier, by the definition.
complex transform(const OfdmFormat& f, const cf32* x, std::int64_t s, std::int64_t c) {
  const std::int64_t first = f.frame - (f.symbols() - s) * (f.prefix + f.fft) + f.prefix - f.prefix / 8;
  complex sum = 0;
  for (std::int64_t n = 0; n < f.fft; ++n)
    sum +=
        complex(x[first + n]) * turn(-static_cast<double>(f.frequency_of(c) * n % f.fft) / static_cast<double>(f.fft));
  return sum * std::sqrt(static_cast<double>(f.carriers)) / static_cast<double>(f.fft);
}

TEST(OfdmDemod, IsADirectTransformOfEachSymbol) {
  struct Case {
    OfdmFormat format;
    std::int64_t rx;
    std::int64_t step;  // step between the carriers under test
  };
  for (const Case& k :
       {Case{kSmall, 1, 1}, Case{kSmall, 3, 1}, Case{kSmall, 16, 1}, Case{kFive, 2, 37}, Case{kTwenty, 4, 401}}) {
    const OfdmFormat& f = k.format;
    const auto x = complex_noise(2 * k.rx * f.frame);
    const auto y = demodulated(f, k.rx, x);
    ASSERT_EQ(std::ssize(y), 2 * f.symbols() * f.carriers * k.rx);
    for (const std::int64_t frame : {0, 1})
      for (std::int64_t s = 0; s < f.symbols(); ++s)
        for (std::int64_t r = 0; r < k.rx; ++r)
          for (std::int64_t c = 0; c < f.carriers; c += k.step) {
            const complex expected = transform(f, &x[static_cast<std::size_t>((frame * k.rx + r) * f.frame)], s, c);
            ASSERT_LT(std::abs(complex(at(y, f, k.rx, frame, s, c, r)) - expected), 1e-6)
                << "fft " << f.fft << ", symbol " << s << ", carrier " << c << ", antenna " << r;
          }
  }
}

TEST(OfdmDemod, WhatIsSentComesBackWithItsDelayAsARamp) {
  const OfdmFormat f;
  const OfdmFrameMaker maker(f, Modulation::qam16);
  std::vector<std::byte> scratch(maker.scratch_bytes());
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(f.bits(Modulation::qam16)));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 3 == 0;
  std::vector<cf32> sent(static_cast<std::size_t>(f.tx * f.frame));
  std::vector<cf32*> antennas;
  for (std::int64_t a = 0; a < f.tx; ++a) antennas.push_back(&sent[static_cast<std::size_t>(a * f.frame)]);
  maker.make(bits, antennas, scratch.data());
  for (const std::int64_t late : {-f.prefix / 8, std::int64_t{0}, f.prefix - f.prefix / 8}) {
    std::vector<cf32> frame(sent.size());
    for (std::int64_t a = 0; a < f.tx; ++a)
      for (std::int64_t n = 0; n < f.frame; ++n)
        if (n - late >= 0 && n - late < f.frame)
          frame[static_cast<std::size_t>(a * f.frame + n)] = sent[static_cast<std::size_t>(a * f.frame + n - late)];
    const auto y = demodulated(f, f.tx, frame);
    for (std::int64_t s = 0; s < 1 + f.tx; ++s)
      for (std::int64_t c = 0; c < f.carriers; ++c)
        for (std::int64_t a = 0; a < f.tx; ++a) {
          const cf32 known = maker.known()[static_cast<std::size_t>((s * f.tx + a) * f.fft + f.bin_of(c))];
          const complex expected =
              complex(known) * std::sqrt(static_cast<double>(f.carriers)) *
              turn(-static_cast<double>(f.frequency_of(c) * (late + f.prefix / 8)) / static_cast<double>(f.fft));
          ASSERT_LT(std::abs(complex(at(y, f, f.tx, 0, s, c, a)) - expected), 2e-6) << s << " " << c << " " << late;
        }
  }
}

/// The same symbols as when the next frame is demodulated by itself.
TEST(OfdmDemod, ATailIsTheBeginningOfTheNextFrame) {
  for (OfdmFormat f : {kSmall, kFive}) {
    const auto x = complex_noise(2 * f.frame);
    const auto alone = demodulated(f, 1, x);
    OfdmFormat with = f;
    with.tail = true;
    const StageUnderTest s(entry(), keys_of(with), {frames_of(1, f.frame + with.tail_samples())});
    EXPECT_EQ(s.out().item[0].extent, f.symbols() + 1 + f.tx);
    StageUnderTest stage(entry(), keys_of(with), {frames_of(1, f.frame + with.tail_samples(), 1)}, 1);
    const auto y = stage.once<cf32>(std::vector<cf32>(x.begin(), x.begin() + f.frame + with.tail_samples()), 0, 0, 1);
    EXPECT_TRUE(same_bits(y, {alone.begin(), alone.begin() + std::ssize(y)}));
  }
}

TEST(OfdmDemod, FramesDoNotMatterToEachOther) {
  const auto x = complex_noise(3 * 2 * kFive.frame);
  const auto y = demodulated(kFive, 2, x);
  const std::vector<cf32> last(x.end() - 2 * kFive.frame, x.end());
  EXPECT_TRUE(same_bits(demodulated(kFive, 2, last), {y.end() - std::ssize(y) / 3, y.end()}));
}

TEST(OfdmDemod, WhatIsNotFiniteSpoilsItsSymbolOfItsAntenna) {
  const OfdmFormat& f = kSmall;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto x = complex_noise(2 * f.frame);
    x[static_cast<std::size_t>(f.frame + f.begin_of(3) + 5)] = {0, bad};
    const auto y = demodulated(f, 2, x);
    for (std::int64_t s = 0; s < f.symbols(); ++s)
      for (std::int64_t c = 0; c < f.carriers; ++c)
        for (const std::int64_t r : {0, 1}) {
          const cf32 v = at(y, f, 2, 0, s, c, r);
          ASSERT_EQ(std::isnan(v.real()) && std::isnan(v.imag()), s == 3 && r == 1) << s << " " << c << " " << r;
        }
  }
}

TEST(OfdmDemod, WhatNoWindowReadsDoesNothing) {
  const OfdmFormat& f = kSmall;
  const auto x = complex_noise(f.frame);
  auto spoilt = x;
  for (std::int64_t s = 0; s < f.symbols(); ++s)
    for (std::int64_t n = s == 0 ? 0 : f.begin_of(s) - f.prefix; n < f.frame && n < f.begin_of(s) - f.prefix / 8; ++n)
      spoilt[static_cast<std::size_t>(n)] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t s = 1; s <= f.symbols(); ++s)  // nor the samples behind a window
    spoilt[static_cast<std::size_t>(f.first_prefix() + s * f.symbol() - f.prefix - 1)] = std::nanf("");
  EXPECT_TRUE(same_bits(demodulated(f, 1, spoilt), demodulated(f, 1, x)));
}

TEST(OfdmDemod, ACarrierTooLargeForAFloatIsNan) {
  const OfdmFormat& f = kSmall;
  constexpr std::int64_t kCarrier = 5;
  std::vector<cf32> x;
  for (std::int64_t n = 0; n < f.frame; ++n)
    x.emplace_back(3e38 * turn(static_cast<double>(f.frequency_of(kCarrier) * n) / static_cast<double>(f.fft)));
  const auto y = demodulated(f, 1, x);
  for (std::int64_t s = 0; s < f.symbols(); ++s) {
    const cf32 v = at(y, f, 1, 0, s, kCarrier, 0);
    EXPECT_TRUE(std::isnan(v.real()) && std::isnan(v.imag())) << s << ": sqrt(62) times as large as its samples";
  }
}

TEST(OfdmDemod, SaysWhatItMakes) {
  const StageUnderTest s(entry(), keys_of(kTwenty), {frames_of(4, 30720, 7)}, 7);
  EXPECT_EQ(s.out().text(), "cf32 [frame up to 7][symbol 14][carrier 1200][rx 4]");
}

TEST(OfdmDemod, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& keys, std::int64_t samples) {
    return StageUnderTest(entry(), keys, {frames_of(2, samples)}).complaints();
  };
  EXPECT_EQ(complaints("{}", 7680), "");
  EXPECT_THAT(complaints("{}", 7679), HasSubstr("[sample 7680]"));
  EXPECT_THAT(complaints("{fft: 500}", 7680), HasSubstr("fft"));
  EXPECT_THAT(complaints("{carriers: 512}", 7680), HasSubstr("carriers"));
}

}  // namespace
}  // namespace iqd::ofdm_demod
