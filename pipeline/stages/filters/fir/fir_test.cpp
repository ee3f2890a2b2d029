// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/fir/fir.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "signal/filters/filter_design.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::fir {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::real_noise;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;
using Taps = std::vector<std::complex<double>>;

Taps taps_like(std::int64_t n, bool complex) {
  Taps h;
  for (std::int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<double>(k);
    h.emplace_back(std::sin(at + 1) / std::sqrt(n), complex ? std::cos(3 * at) / std::sqrt(n) : 0);
  }
  return h;
}

std::complex<double> wide(cf32 x) {
  return {x.real(), x.imag()};
}
double wide(float x) {
  return x;
}
std::complex<double> product(std::complex<double> h, std::complex<double> x) {
  return h * x;
}
double product(std::complex<double> h, double x) {
  return h.real() * x;
}

/// The definition, in double precision.
template <class T> auto reference(const std::vector<T>& x, const Taps& h, std::int64_t decimation) {
  std::vector<decltype(wide(T()))> y;
  for (std::int64_t n = 0; n < std::ssize(x); n += decimation) {
    decltype(wide(T())) sum = 0;
    for (std::int64_t k = 0; k < std::ssize(h) && k <= n; ++k)
      sum += product(h[static_cast<std::size_t>(k)], wide(x[static_cast<std::size_t>(n - k)]));
    y.push_back(sum);
  }
  return y;
}

template <class T> std::vector<T> filtered(const Filter& filter, const std::vector<T>& x, std::int64_t decimation) {
  std::vector<T> y((x.size() + static_cast<std::size_t>(decimation) - 1) / static_cast<std::size_t>(decimation));
  std::vector<std::byte> scratch(filter.scratch_bytes());
  filter.run(View<const T, 2>(x.data(), {1, std::ssize(x)}), 0, View<T, 2>(y.data(), {1, std::ssize(y)}), 0,
             scratch.data());
  return y;
}

template <class T> double worst(const std::vector<T>& y, const std::vector<T>& x, const Taps& h, std::int64_t d) {
  const auto expected = reference(x, h, d);
  EXPECT_EQ(y.size(), expected.size());
  double off = 0;
  for (std::size_t i = 0; i < y.size(); ++i) off = std::max(off, std::abs(wide(y[i]) - expected[i]));
  return off;
}

struct Case {
  std::int64_t taps;
  std::int64_t decimation;
  std::int64_t samples;
};

// Lengths near those of a vector, a tile and a transform; phases without taps; no or hardly any input.
constexpr Case kCases[] = {{1, 1, 1},     {1, 1, 300},    {2, 1, 0},      {3, 1, 2},      {8, 1, 1000},
                           {17, 1, 4097}, {64, 1, 9001},  {65, 2, 3000},  {130, 3, 5000}, {5, 16, 4000},
                           {9, 4, 3},     {300, 7, 2500}, {64, 4, 70000}, {1, 1000, 5000}};

TEST(Fir, AgreesWithTheDefinition) {
  for (const Case& c : kCases)
    for (const bool complex : {false, true})
      for (const bool fft : {false, true}) {
        const Taps h = taps_like(c.taps, complex);
        const auto filter = fft ? make_overlap_save(h, c.decimation) : make_direct(h, c.decimation);
        const auto x = complex_noise(c.samples);
        SCOPED_TRACE(fmt::format("{} taps, decimation {}, {} samples, {} {}", c.taps, c.decimation, c.samples,
                                 complex ? "complex" : "real", fft ? "fft" : "direct"));
        EXPECT_LT(worst(filtered(*filter, x, c.decimation), x, h, c.decimation), 2e-6);
        const auto real = real_noise(c.samples);
        EXPECT_LT(worst(filtered(*filter, real, c.decimation), real, h, c.decimation), 2e-6);
      }
}

TEST(Fir, ImpulseGivesTheTaps) {
  std::vector<cf32> x(10);
  x[2] = 1;
  const auto y = filtered(*make_direct(Taps{1, {0, 2}, 3}, 1), x, 1);
  const std::vector<cf32> expected{0, 0, 1, {0, 2}, 3, 0, 0, 0, 0, 0};
  EXPECT_EQ(y, expected);
}

TEST(Fir, BadSamplesSpoilTheirOwnOutputsOnly) {
  auto x = complex_noise(600);
  x[300] = {std::numeric_limits<float>::quiet_NaN(), 0};
  x[400] = {std::numeric_limits<float>::infinity(), 0};
  for (const bool fft : {false, true}) {
    const Taps h = taps_like(33, false);
    const auto y = filtered(fft ? *make_overlap_save(h, 1) : *make_direct(h, 1), x, 1);
    for (std::size_t n = 0; n < y.size(); ++n) {
      const bool spoilt = (n >= 300 && n < 333) || (n >= 400 && n < 433);
      EXPECT_EQ(std::isfinite(y[n].real()), !spoilt) << n << " " << fft;
      EXPECT_TRUE(std::isfinite(y[n].imag())) << n << " " << fft;
    }
  }
}

TEST(Fir, WhatTransformsSpoiltIsRightAgain) {
  for (const bool complex : {false, true})
    for (const std::int64_t decimation : {1, 3}) {
      const Taps h = taps_like(200, complex);
      const auto filter = make_overlap_save(h, decimation);
      auto bad = complex_noise(3000);
      bad[1500] = {3e38f, -INFINITY};
      auto good = bad;
      good[1500] = 0;
      const auto y = filtered(*filter, bad, decimation);
      const auto expected = reference(good, h, decimation);
      for (std::int64_t m = 0; m < std::ssize(y); ++m) {
        if (m * decimation >= 1500 && m * decimation < 1700) continue;
        EXPECT_LT(std::abs(wide(y[static_cast<std::size_t>(m)]) - expected[static_cast<std::size_t>(m)]), 2e-6) << m;
      }
    }
}

TEST(Fir, DenormalsAndZerosOfBothSigns) {
  const std::vector<float> x{1e-40f, -0.0f, 0.0f, -1e-40f};
  const auto y = filtered(*make_direct(Taps{1}, 1), x, 1);
  EXPECT_EQ(y, x);
}

TEST(Fir, HowTheStreamIsCutDoesNotMatter) {
  const auto x = complex_noise(5000);
  const auto two = complex_noise(4000, 7);
  for (const char* yaml : {"{taps: [1, 2, 1]}", "{taps: [1, [0, 1], 2, 0.5-1j, 3], decimation: 3}",
                           "{design: {cutoff: 100 kHz, transition: 30 kHz}, decimation: 4, method: direct}"}) {
    StageUnderTest one(entry(), yaml, {stream_of(Element::cf32)});
    ASSERT_EQ(one.complaints(), "");
    const auto whole = one.stream<cf32>(x);
    for (const std::vector<std::int64_t>& lengths :
         std::vector<std::vector<std::int64_t>>{{1}, {7}, {0, 59, 3, 1, 4, 128}, {1000, 1, 999}})
      EXPECT_TRUE(same_bits(one.stream<cf32>(x, lengths), whole)) << yaml;
    StageUnderTest both(entry(), yaml, {stream_of(Element::cf32, 2)});
    EXPECT_TRUE(same_bits(both.stream<cf32>(two, {61}), both.stream<cf32>(two))) << yaml;
    const auto first = StageUnderTest(entry(), yaml, {stream_of(Element::cf32)})
                           .stream<cf32>(std::vector<cf32>(two.begin() + 2000, two.end()));
    const auto rows = both.stream<cf32>(two);
    EXPECT_TRUE(same_bits(first, std::vector<cf32>(rows.end() - std::ssize(first), rows.end()))) << yaml;
  }
}

TEST(Fir, TransformsAgreeWithinTheToleranceHoweverCut) {
  const auto x = real_noise(20000);
  StageUnderTest s(entry(), "{design: {cutoff: 100 kHz, transition: 4 kHz}, method: fft}", {stream_of(Element::f32)});
  ASSERT_EQ(s.complaints(), "");
  const auto whole = s.stream<float>(x);
  const auto cut = s.stream<float>(x, {1, 900, 3000});
  ASSERT_EQ(cut.size(), whole.size());
  for (std::size_t n = 0; n < cut.size(); ++n) ASSERT_NEAR(cut[n], whole[n], 1e-6) << n;
}

TEST(Fir, LongFiltersGoThroughTransforms) {
  EXPECT_EQ(choose_method(taps_like(8, false), 1), Method::direct);
  EXPECT_EQ(choose_method(taps_like(2000, false), 1), Method::fft);
  EXPECT_EQ(choose_method(taps_like(2000, false), 1000), Method::direct);
}

/// The definition of interpolation: zeros between the samples, the filter, and every D-th output.
TEST(Fir, InterpolatesAsTheDefinitionSays) {
  struct Rates {
    std::int64_t taps, up, down, samples;
  };
  for (const auto& [taps, up, down, samples] : {Rates{1, 2, 1, 50},
                                                {2, 3, 1, 40},
                                                {45, 4, 1, 300},
                                                {64, 3, 2, 500},
                                                {31, 5, 7, 700},
                                                {200, 2, 3, 400},
                                                {7, 160, 147, 300},
                                                {90, 4, 2, 100},
                                                {3, 2, 1, 0},
                                                {1, 2, 1, 1}})
    for (const bool complex : {false, true}) {
      const Taps h = taps_like(taps, complex);
      const auto x = complex_noise(samples);
      std::vector<cf32> between(static_cast<std::size_t>(samples * up));
      for (std::int64_t n = 0; n < samples; ++n)
        between[static_cast<std::size_t>(n * up)] = x[static_cast<std::size_t>(n)];
      std::string list;
      for (const auto tap : h) list += fmt::format("[{:.17g}, {:.17g}], ", tap.real(), tap.imag());
      StageUnderTest s(entry(), fmt::format("{{taps: [{}], interpolation: {}, decimation: {}}}", list, up, down),
                       {stream_of(Element::cf32)});
      ASSERT_EQ(s.complaints(), "");
      const auto y = s.stream<cf32>(x);
      EXPECT_LT(worst(y, between, h, down), 2e-6) << taps << " " << up << "/" << down;
      EXPECT_TRUE(same_bits(s.stream<cf32>(x, {0, 1, 59, 3, 128, 7}), y)) << taps << " " << up << "/" << down;
    }
}

TEST(Fir, InterpolatesRealStreams) {
  const auto x = real_noise(400);
  std::vector<float> between(1200);
  for (std::size_t n = 0; n < x.size(); ++n) between[3 * n] = x[n];
  StageUnderTest s(entry(), "{taps: [1, -2, 0.5, 3, 1, 1, 0.25], interpolation: 3, decimation: 2}",
                   {stream_of(Element::f32, 1, 1e6)});
  EXPECT_LT(worst(s.stream<float>(x), between, Taps{1, -2, 0.5, 3, 1, 1, 0.25}, 2), 2e-6);
  EXPECT_EQ(s.out().rate_hz, 1.5e6);
  EXPECT_EQ(s.footprint().past, 2);
}

/// Seven taps, three phases: two of them have two taps.
TEST(Fir, ABadSampleSpoilsItsOwnInterpolatedOutputsOnly) {
  std::vector<cf32> x(40, cf32(1, 0));
  x[20] = {INFINITY, NAN};
  StageUnderTest s(entry(), "{taps: [1, 2, 3, 4, 5, 6, 7], interpolation: 3}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t m = 0; m < y.size(); ++m) EXPECT_EQ(std::isfinite(y[m].real()), m < 60 || m > 66) << m;
}

/// The study's filters: int(A rate / (22 width)) taps, made odd, with a Hamming window at 10 MS/s.
TEST(Fir, WidthsOfTheStudyGiveItsTaps) {
  const auto past = [](double percent) {
    StageUnderTest s(entry(),
                     fmt::format("{{design: {{cutoff: 1 MHz, transition: {} Hz}}, method: fft}}", percent / 100 * 1e4),
                     {stream_of(Element::cf32, 1, 10e6)});
    EXPECT_EQ(s.complaints(), "");
    return s.footprint().past;
  };
  EXPECT_EQ(past(200) + 1, tap_count(53, 20e3, 10e6));
  EXPECT_EQ(past(200) + 1, 1205);
  EXPECT_EQ(past(150) + 1, 1607);
  EXPECT_EQ(past(100) + 1, 2409);
  EXPECT_EQ(past(50) + 1, 4819);
}

TEST(Fir, ShapeOfADecimator) {
  StageUnderTest s(entry(), "{taps: [1, 2, 1], decimation: 4}", {stream_of(Element::f32, 3, 8e6)});
  EXPECT_EQ(s.out().text(), "f32 [channel 3][n]");
  EXPECT_EQ(s.out().rate_hz, 2e6);
  EXPECT_EQ(s.footprint().past, 2);
  EXPECT_EQ(s.footprint().granule, 4);
}

TEST(Fir, DesignsPassWhatTheyShall) {
  const auto gain_at = [](const std::string& design, double frequency) {
    StageUnderTest s(entry(), "{design: " + design + "}", {stream_of(Element::cf32)});
    EXPECT_EQ(s.complaints(), "");
    std::vector<cf32> tone;
    for (int n = 0; n < 2000; ++n)
      tone.emplace_back(std::polar(1.0, 2 * std::numbers::pi * frequency / 1e6 * static_cast<double>(n)));
    return std::abs(s.stream<cf32>(tone).back());
  };
  EXPECT_NEAR(gain_at("{cutoff: 100 kHz, transition: 20 kHz}", 50e3), 1, 0.01);
  EXPECT_NEAR(gain_at("{cutoff: 100 kHz, transition: 20 kHz}", 150e3), 0, 0.01);
  EXPECT_NEAR(gain_at("{type: high_pass, cutoff: 100 kHz, transition: 20 kHz}", 150e3), 1, 0.01);
  const std::string band =
      "low: 100 kHz, high: 200 kHz, transition: 20 kHz, window: kaiser, attenuation: 60 dB, gain: 2}";
  EXPECT_NEAR(gain_at("{type: band_pass, " + band, 150e3), 2, 0.01);
  EXPECT_NEAR(gain_at("{type: band_pass, " + band, 0), 0, 0.01);
  EXPECT_NEAR(gain_at("{type: band_reject, " + band, 150e3), 0, 0.01);
  EXPECT_NEAR(gain_at("{type: band_reject, " + band, 0), 2, 0.01);
  EXPECT_NEAR(gain_at("{type: rrc, symbol_rate: 250 kS/s, ntaps: 45}", 0), 1, 1e-5);
}

TEST(Fir, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& yaml, Element element = Element::cf32, double rate = 1e6) {
    return StageUnderTest(entry(), yaml, {stream_of(element, 1, rate)}).complaints();
  };
  EXPECT_THAT(complaints("{}"), HasSubstr("taps: missing"));
  EXPECT_THAT(complaints("{taps: []}"), HasSubstr("taps: missing"));
  EXPECT_THAT(complaints("{taps: [1, .nan]}"), HasSubstr("taps"));
  EXPECT_THAT(complaints("{taps: [1, [0, 1]]}", Element::f32), HasSubstr("complex taps need a complex input"));
  EXPECT_THAT(complaints("{taps: [1], decimation: 0}"), HasSubstr("decimation"));
  EXPECT_THAT(complaints("{taps: [1, 1], interpolation: 2, method: fft}"), HasSubstr("does not interpolate"));
  EXPECT_THAT(complaints("{taps: [1], interpolation: 0}"), HasSubstr("interpolation"));
  EXPECT_THAT(complaints("{taps: [1], design: {cutoff: 1 kHz, transition: 1 kHz}}"), HasSubstr("not both"));
  EXPECT_THAT(complaints("{design: {transition: 1 kHz}}"), HasSubstr("design.cutoff: missing"));
  EXPECT_THAT(complaints("{design: {cutoff: 1 kHz}}"), HasSubstr("design.transition: missing"));
  EXPECT_THAT(complaints("{design: {cutoff: 600 kHz, transition: 1 kHz}}"), HasSubstr("half the sample rate, 500 kHz"));
  EXPECT_THAT(complaints("{design: {cutoff: 1 kHz, transition: 0 Hz}}"), HasSubstr("design.transition: 0: has to be"));
  EXPECT_THAT(complaints("{design: {cutoff: 1 kHz, transition: 1 Hz}}"), HasSubstr("more than 1048576 taps"));
  EXPECT_THAT(complaints("{design: {type: band_pass, low: 2 kHz, high: 1 kHz, transition: 1 kHz}}"),
              HasSubstr("above"));
  EXPECT_THAT(complaints("{design: {type: rrc, ntaps: 9}}"), HasSubstr("design.symbol_rate: missing"));
  EXPECT_THAT(complaints("{design: {type: rrc, symbol_rate: 1 kS/s}}"), HasSubstr("design.ntaps: missing"));
  EXPECT_THAT(complaints("{design: {cutoff: 1 kHz, transition: 1 kHz}}", Element::cf32, 0), HasSubstr("not known"));
}

TEST(Fir, AllProblemsOfADesignAreToldAtOnce) {
  StageUnderTest s(entry(), "{design: {type: band_pass, low: 700 kHz, transition: -1 Hz}}", {stream_of(Element::cf32)});
  EXPECT_EQ(s.problems().size(), 3u) << s.complaints();
}

}  // namespace
}  // namespace iqd::fir
