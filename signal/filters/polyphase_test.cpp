// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/polyphase.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace iqd {
namespace {

/// m M = at L + phase, in integers modulo 2^64.
TEST(Polyphase, PlacesAreExactForAllTime) {
  const std::int64_t far = std::int64_t{1} << 55;
  for (const Ratio ratio : {Ratio{1, 1}, {3, 2}, {25, 768}, {1048573, 1048576}, {1048576, 3}})
    for (const std::int64_t m : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000003}, far, far + 12345}) {
      const double at = static_cast<double>(m) / static_cast<double>(ratio.up) * static_cast<double>(ratio.down);
      if (at > 9e18) continue;
      const PolyphasePlace place = place_of(ratio, m);
      EXPECT_TRUE(place.phase >= 0 && place.phase < ratio.up) << ratio.up << "/" << ratio.down << " " << m;
      const auto bits = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
      EXPECT_EQ(bits(place.at) * bits(ratio.up) + bits(place.phase), bits(m) * bits(ratio.down)) << m;
      EXPECT_NEAR(static_cast<double>(place.at), at, 1 + 1e-12 * at) << ratio.up << "/" << ratio.down << " " << m;
    }
}

TEST(Polyphase, RowsAreTheTapsDealtOut) {
  const std::vector<std::complex<double>> h{1, 2, 3, 4, 5, 6, 7};
  const PolyphaseTaps taps = polyphase_taps(h, {3, 2});
  EXPECT_EQ(taps.taps, 3);
  EXPECT_EQ(taps.past(), 2);
  EXPECT_EQ(taps.short_from, 1);
  const std::vector<float> rows{7, 4, 1, 0, 5, 2, 0, 6, 3};  // that of the oldest input first
  EXPECT_EQ(taps.re, rows);
  EXPECT_TRUE(taps.im.empty());
}

std::vector<float> noise(std::size_t n) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(generator);
  return x;
}

/// Taps between rows, inputs ahead of an output: the header's formula in double precision, for windows of a stream that
/// begin and end anywhere.
TEST(Polyphase, TakesTapsBetweenRows) {
  PolyphaseTaps taps{.ratio = {1009, 997}, .rows = 8, .ahead = 11, .short_from = 9, .between = true};
  for (const std::int64_t row_taps : {1, 3, 16, 37}) {
    taps.taps = row_taps;
    taps.ahead = row_taps / 3;
    taps.re = noise(static_cast<std::size_t>(9 * row_taps));
    const auto filter = make_polyphase_filter(taps, false);
    const auto x = noise(300);
    constexpr std::int64_t kFirst = 5000;
    std::vector<float> y(200);
    std::vector<std::byte> scratch(filter->scratch_bytes());
    const std::int64_t y_first = kFirst * 1009 / 997 - 20;
    filter->run(View<const float, 2>(x.data(), {1, 300}), kFirst, View<float, 2>(y.data(), {1, 200}), y_first,
                scratch.data());
    for (std::int64_t i = 0; i < 200; ++i) {
      const PolyphasePlace place = place_of(taps.ratio, y_first + i);
      const double at = static_cast<double>(place.phase) * 8 / 1009;
      const auto row = static_cast<std::int64_t>(at);
      double sum = 0;
      for (std::int64_t j = 0; j < row_taps; ++j) {
        const std::int64_t n = place.at + taps.ahead - (row_taps - 1) + j - kFirst;
        if (n < 0 || n >= 300) continue;
        const double low = taps.re[static_cast<std::size_t>(row * row_taps + j)];
        const double high = taps.re[static_cast<std::size_t>((row + 1) * row_taps + j)];
        sum += (low + (at - static_cast<double>(row)) * (high - low)) * x[static_cast<std::size_t>(n)];
      }
      EXPECT_NEAR(y[static_cast<std::size_t>(i)], sum, 2e-5) << row_taps << " " << i;
    }
  }
}

}  // namespace
}  // namespace iqd
