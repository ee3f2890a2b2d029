// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/exhaustive_detector/exhaustive_detector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "pipeline/stages/stages.hpp"
#include "tests/support/detector_edges.hpp"
#include "tests/support/mtt_definition.hpp"

namespace iqd::exhaustive_detector {
namespace {

using testing::Detected;
using testing::DetectorUnderTest;
using ::testing::HasSubstr;
using testing::random_transmission;
using testing::Transmission;

/// All |y - H s|^2 of vector v, indexed by the bits of all antennas as one number, and the expected results.
struct Everything {
  Everything(const Transmission& x, std::int64_t v) : llrs(x.tx * x.bits) {
    const auto points = testing::constellation(x.bits);
    least.assign(static_cast<std::size_t>(llrs), {1e300, 1e300});
    for (int all = 0; all < 1 << llrs; ++all) {
      double d = 0;
      for (int n = 0; n < x.rx; ++n) {
        std::complex<double> e = x.y_at(v, n);
        for (int t = 0; t < x.tx; ++t)
          e -= x.h_at(v, n, t) * points[static_cast<std::size_t>(all >> (x.tx - 1 - t) * x.bits & ((1 << x.bits) - 1))];
        d += std::norm(e);
      }
      for (int t = 0; t < x.tx; ++t) d += x.prior_cost(v, t, all >> (x.tx - 1 - t) * x.bits & ((1 << x.bits) - 1));
      best = std::min(best, d);
      for (int b = 0; b < llrs; ++b) {
        double& of_bit = least[static_cast<std::size_t>(b)][all >> (llrs - 1 - b) & 1];
        of_bit = std::min(of_bit, d);
      }
    }
  }

  int llrs;
  double best = 1e300;
  std::vector<std::array<double, 2>> least;
};

TEST(ExhaustiveDetector, TriesEverything) {
  const struct {
    int rx, tx, bits, vectors;
    double noise;
  } cases[] = {{1, 1, 8, 21, 0.01}, {2, 2, 6, 17, 0.05}, {4, 2, 4, 33, 0.1}, {4, 4, 2, 33, 0.4}, {3, 3, 4, 5, 1e-4}};
  for (const auto& c : cases)
    for (const int prior_bits : {0, c.bits}) {
      Transmission x = random_transmission(c.rx, c.tx, c.bits, c.vectors, c.noise);
      if (prior_bits > 0) testing::add_prior(x, 3);
      const char* keys[] = {"{modulation: qpsk}", "{modulation: 16qam}", "{modulation: 64qam}", "{modulation: 256qam}"};
      const Detected got = DetectorUnderTest(entry(), keys[c.bits / 2 - 1], c.rx, c.tx, prior_bits).run(x);
      for (std::int64_t v = 0; v < c.vectors; ++v) {
        const Everything want(x, v);
        for (int b = 0; b < want.llrs; ++b) {
          const auto at = static_cast<std::size_t>(v * want.llrs + b);
          const auto& of_bit = want.least[static_cast<std::size_t>(b)];
          const double prior = x.prior_at(v, b / x.bits, b % x.bits);
          const double llr = (of_bit[1] - of_bit[0]) / x.noise_at(v) - prior;
          // Rounding of distances of up to some hundred, divided by the noise.
          EXPECT_NEAR(got.llr[at], llr, 1e-4 * std::max(1.0, std::abs(llr)) + 4e-6 / c.noise) << c.tx << " " << v;
          EXPECT_EQ(got.bits[at], got.llr[at] + prior < 0);
        }
        EXPECT_NEAR(got.distance[static_cast<std::size_t>(v)], want.best, 1e-5 * std::max(want.best, 0.1));
      }
    }
}

TEST(ExhaustiveDetector, TriesAllPointsOfMixedAlphabets) {
  const struct {
    std::vector<int> sent;
    const char* keys;
  } cases[] = {{{4, 2, 2}, "{modulation: [16qam, qpsk, qpsk]}"},
               {{2, 6}, "{modulation: [qpsk, 64qam]}"},
               {{6, 4}, "{modulation: [64qam, 16qam]}"},
               {{2, 8}, "{modulation: [qpsk, 256qam]}"}};
  for (const auto& c : cases)
    for (const double strength : {0, 3}) {
      const auto tx = static_cast<int>(c.sent.size());
      Transmission x = testing::mixed_transmission(3, c.sent, 17, 0.1);
      if (strength > 0) testing::add_prior(x, strength);
      const Detected got = DetectorUnderTest(entry(), c.keys, 3, tx, strength > 0 ? x.bits : 0).run(x);
      std::size_t at = 0;
      for (std::int64_t v = 0; v < 17; ++v)
        for (const double llr : testing::exhaustive(x, v))
          EXPECT_NEAR(got.llr[at++], llr, 1e-4 * std::max(1.0, std::abs(llr)) + 4e-5) << c.keys << v;
    }
}

TEST(ExhaustiveDetector, RefusesWhatWouldTakeForEver) {
  EXPECT_EQ(DetectorUnderTest(entry(), "{modulation: 16qam}", 4, 4).complaints(), "");
  EXPECT_THAT(DetectorUnderTest(entry(), "{modulation: 64qam}", 4, 4).complaints(), HasSubstr("2^24 combinations"));
}

TEST(ExhaustiveDetector, HasTheMannersOfDetectors) {
  testing::expect_detector_manners(entry());
}

}  // namespace
}  // namespace iqd::exhaustive_detector
