// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/window_filter_cpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace iqd::equalizer {
namespace {

/// The values at the bits' centres that a window filter yields, with buffers of its own.
class FilterUnderTest {
 public:
  explicit FilterUnderTest(std::int64_t samples_per_bit, float detection = 1)
      : setup_(make(samples_per_bit, detection)) {
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    for (std::int64_t n = 0; n < setup_.format.window(); ++n) window_[n] = {normal(engine), normal(engine)};
  }
  std::vector<cf32> run(const std::vector<cf32>& taps, std::int64_t first, bool detection) {
    filter_.transform(window_.data(), spectrum_.data());
    filter_.transform_taps(taps, first, {a_.data(), b_.data()}, response_.data());
    std::vector<cf32> symbols(setup_.format.bits());
    filter_.run(spectrum_.data(), response_.data(), detection, {a_.data(), b_.data()}, symbols.data(), bits());
    return symbols;
  }
  /// What `run` has to yield for these taps, by their definition.
  cf32 expected(const std::vector<cf32>& taps, std::int64_t first, std::int64_t bit) const {
    cf32 sum;
    for (std::int64_t i = 0; i < std::ssize(taps); ++i)
      sum += taps[i] * window_[PacketFormat::kGuard + bit * setup_.format.samples_per_bit - first - i];
    return sum;
  }
  std::int64_t bits() const { return setup_.format.bits(); }

 private:
  static Setup make(std::int64_t samples_per_bit, float detection) {
    Setup setup;
    setup.format.payload_bits = 64;
    setup.format.samples_per_bit = samples_per_bit;
    setup.window.size = 4096;
    setup.window.detection.assign(setup.window.size, detection);
    return setup;
  }
  Setup setup_;
  WindowFilter filter_{setup_.window, setup_.format.samples_per_bit};
  std::vector<cf32> window_ = std::vector<cf32>(setup_.window.size);
  std::vector<cf32> spectrum_ = window_, response_ = window_, a_ = window_, b_ = window_;
};

TEST(WindowFilter, YieldsTheFilteredSampleOfEachBit) {
  const std::vector<cf32> taps{{1, 0.5f}, {0, -2}, {0.25f, 0}, {-1, 1}, {0.125f, 3}};
  for (const std::int64_t samples_per_bit : {2, 4, 8})
    for (const std::int64_t first : {0, -2, -4}) {
      FilterUnderTest filter(samples_per_bit);
      const std::vector<cf32> symbols = filter.run(taps, first, false);
      for (std::int64_t bit = 0; bit < filter.bits(); ++bit)
        ASSERT_LT(std::abs(symbols[bit] - filter.expected(taps, first, bit)), 1e-4f) << samples_per_bit << ' ' << bit;
    }
}

TEST(WindowFilter, TheDetectionFilterIsWeightedIn) {
  FilterUnderTest filter(2, 4);
  const std::vector<cf32> one{1};
  std::vector<cf32> plain = filter.run(one, 0, false);
  for (cf32& v : plain) v *= 4;
  EXPECT_EQ(filter.run(one, 0, true), plain);
}

}  // namespace
}  // namespace iqd::equalizer
