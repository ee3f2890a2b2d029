// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/one_pass_detector/one_pass_detector.hpp"

#include <gtest/gtest.h>

#include "pipeline/stages/stages.hpp"
#include "tests/support/detector_edges.hpp"
#include "tests/support/detector_paths.hpp"

namespace iqd::one_pass_detector {
namespace {

using testing::DetectorUnderTest;
using testing::Path;
using testing::random_transmission;

/// The best path into each symbol of the row; of equal ones the first.
std::vector<Path> reduced(const std::vector<Path>& all, int bits) {
  std::vector<Path> best(static_cast<std::size_t>(1 << bits), {1e300, {}});
  for (const Path& path : all) {
    Path& into = best[static_cast<std::size_t>(path.symbols.back())];
    if (path.distance < into.distance) into = path;
  }
  return best;
}

TEST(OnePassDetector, KeepsTheBestPathIntoEverySymbol) {
  const struct {
    int rx, tx, bits, vectors;
    double noise;
    const char* keys;
    double clip;
  } cases[] = {{2, 2, 2, 33, 0.2, "{modulation: qpsk}", 8},   {4, 4, 2, 33, 0.4, "{modulation: qpsk, clip: 5.5}", 5.5},
               {4, 2, 4, 31, 0.1, "{modulation: 16qam}", 8},  {4, 4, 4, 20, 0.06, "{modulation: 16qam}", 8},
               {8, 8, 4, 9, 0.06, "{modulation: 16qam}", 8},  {3, 3, 6, 9, 0.02, "{modulation: 64qam}", 8},
               {1, 1, 8, 9, 0.001, "{modulation: 256qam}", 8}};
  int clipped = 0;
  for (const auto& c : cases) {
    const auto x = random_transmission(c.rx, c.tx, c.bits, c.vectors, c.noise);
    clipped += testing::expect_paths(DetectorUnderTest(entry(), c.keys, c.rx, c.tx).run(x), x, c.clip,
                                     [&](const std::vector<Path>& all) { return reduced(all, c.bits); });
  }
  EXPECT_GT(clipped, 100);
}

TEST(OnePassDetector, KeepsTheBestPathIntoEverySymbolOfMixedAlphabets) {
  const struct {
    std::vector<int> sent;
    const char* keys;
  } cases[] = {{{4, 4, 2, 2}, "{modulation: [16qam, 16qam, qpsk, qpsk]}"},
               {{2, 6, 4}, "{modulation: [qpsk, 64qam, 16qam]}"}};
  for (const auto& c : cases)
    for (const double strength : {0, 3}) {
      auto x = testing::mixed_transmission(4, c.sent, 15, 0.1);
      if (strength > 0) testing::add_prior(x, strength);
      DetectorUnderTest stage(entry(), c.keys, 4, x.tx, strength > 0 ? x.bits : 0);
      testing::expect_paths(stage.run(x), x, 8, [&](const std::vector<Path>& all) {
        auto best = reduced(all, x.bits);
        std::erase_if(best, [](const Path& path) { return path.symbols.empty(); });
        return best;
      });
    }
}

TEST(OnePassDetector, HasTheMannersOfDetectors) {
  testing::expect_detector_manners(entry());
}

}  // namespace
}  // namespace iqd::one_pass_detector
