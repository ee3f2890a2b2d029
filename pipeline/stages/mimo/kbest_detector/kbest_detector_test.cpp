// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/kbest_detector/kbest_detector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/stages/stages.hpp"
#include "tests/support/detector_edges.hpp"
#include "tests/support/detector_paths.hpp"

namespace iqd::kbest_detector {
namespace {

using testing::Detected;
using testing::DetectorUnderTest;
using testing::Path;
using testing::random_transmission;
using testing::Transmission;

/// The best, in their original order; of equal ones the first.
std::vector<Path> best_of(const std::vector<Path>& all, std::size_t survivors) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].distance < all[b].distance; });
  order.resize(std::min(all.size(), survivors));
  std::sort(order.begin(), order.end());
  std::vector<Path> best;
  for (const std::size_t i : order) best.push_back(all[i]);
  return best;
}

TEST(KbestDetector, KeepsTheBestPaths) {
  const struct {
    int rx, tx, bits, vectors;
    double noise;
    const char* keys;
    double clip;
    std::size_t survivors;
  } cases[] = {{2, 2, 2, 33, 0.2, "{modulation: qpsk}", 8, 4},
               {4, 4, 2, 33, 0.4, "{modulation: qpsk, clip: 5.5}", 5.5, 4},
               {4, 4, 2, 33, 0.4, "{modulation: qpsk, survivors: 100}", 8, 100},
               {4, 4, 2, 33, 0.4, "{modulation: qpsk, survivors: 1}", 8, 1},
               {4, 2, 4, 31, 0.1, "{modulation: 16qam, survivors: 5}", 8, 5},
               {4, 4, 4, 20, 0.06, "{modulation: 16qam}", 8, 16},
               {8, 8, 4, 9, 0.06, "{modulation: 16qam}", 8, 16},
               {3, 3, 6, 9, 0.02, "{modulation: 64qam}", 8, 64},
               {1, 1, 8, 9, 0.001, "{modulation: 256qam}", 8, 256}};
  int clipped = 0;
  for (const auto& c : cases)
    for (const int prior_bits : {0, c.bits}) {
      auto x = random_transmission(c.rx, c.tx, c.bits, c.vectors, c.noise);
      if (prior_bits > 0) testing::add_prior(x, 3);
      clipped += testing::expect_paths(DetectorUnderTest(entry(), c.keys, c.rx, c.tx, prior_bits).run(x), x, c.clip,
                                       [&](const std::vector<Path>& all) { return best_of(all, c.survivors); });
    }
  EXPECT_GT(clipped, 100);
}

TEST(KbestDetector, KeepsTheBestPathsOfMixedAlphabets) {
  const struct {
    std::vector<int> sent;
    const char* keys;
    std::size_t survivors;
  } cases[] = {{{4, 4, 2, 2}, "{modulation: [16qam, 16qam, qpsk, qpsk]}", 16},
               {{2, 6, 4}, "{modulation: [qpsk, 64qam, 16qam]}", 64},
               {{2, 2, 4, 2}, "{modulation: [qpsk, qpsk, 16qam, qpsk], survivors: 5}", 5}};
  for (const auto& c : cases)
    for (const double strength : {0, 3}) {
      auto x = testing::mixed_transmission(4, c.sent, 15, 0.1);
      if (strength > 0) testing::add_prior(x, strength);
      DetectorUnderTest stage(entry(), c.keys, 4, x.tx, strength > 0 ? x.bits : 0);
      testing::expect_paths(stage.run(x), x, 8,
                            [&](const std::vector<Path>& all) { return best_of(all, c.survivors); });
    }
}

/// y = 0: all symbols of a ring cost exactly the same on each row. Of those at the limit the first are taken.
TEST(KbestDetector, OfEqualCostsTheFirstAreTaken) {
  Transmission x = random_transmission(2, 1, 2, 1, 1);
  x.y = {0, 0};
  for (const int survivors : {1, 2, 3, 4}) {
    const Detected got =
        DetectorUnderTest(entry(), fmt::format("{{modulation: qpsk, survivors: {}}}", survivors), 2, 1).run(x);
    const float second = survivors > 1 ? 0.0f : 8.0f;  // symbols 0 1 2 3 are bits 00 01 10 11
    EXPECT_THAT(got.llr, ::testing::ElementsAre(survivors > 2 ? 0.0f : 8.0f, second));
  }
}

TEST(KbestDetector, HasTheMannersOfDetectors) {
  testing::expect_detector_manners(entry());
}

}  // namespace
}  // namespace iqd::kbest_detector
