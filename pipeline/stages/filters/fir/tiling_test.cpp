// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/fir/tiling.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/element.hpp"

namespace iqd::fir {
namespace {

/// The contents of shared memory for a piece, as the number of the input at each place, for a tile whose first output
/// multiplies tap 0 by input 0.
template <int each> std::vector<std::int64_t> staged_inputs(const Tiling& t, int piece, int outputs, int stride) {
  constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> at(static_cast<std::size_t>(stride * t.decimation), kNothing);
  for (int i = 0; i < t.staged(outputs); ++i) {
    std::int64_t& place = at.at(static_cast<std::size_t>(t.place_of_input<each>(i, stride)));
    EXPECT_EQ(place, kNothing) << "two inputs at one place";
    place = t.staged_from(piece) + i;
  }
  return at;
}

template <int each> void expect_every_tap_meets_its_input(std::int64_t taps, int decimation) {
  const Tiling t(taps, decimation);
  const int outputs = 3 * each;
  const int stride = t.stride(outputs, each, sizeof(cf32));
  std::int64_t met = 0;
  for (int piece = 0; piece < t.pieces; ++piece) {
    const auto at = staged_inputs<each>(t, piece, outputs, stride);
    for (int phase = 0; phase < t.phases(); ++phase)
      for (int q = 0; q < t.taps_in(piece, phase); ++q) {
        const std::int64_t k = (static_cast<std::int64_t>(piece) * t.depth + q) * decimation + phase;
        ASSERT_LT(k, taps);
        EXPECT_EQ(t.place_of_tap(k), static_cast<std::size_t>(piece * t.piece_size() + phase * t.depth + q));
        for (int i = 0; i < outputs; ++i)
          ASSERT_EQ(at.at(static_cast<std::size_t>(phase * stride + Tiling::padded<each>(t.depth + i - q))),
                    i * decimation - k);
        ++met;
      }
  }
  EXPECT_EQ(met, taps);
}

TEST(FirTiling, EveryTapMeetsItsInput) {
  for (const std::int64_t taps : {1, 2, 8, 9, 17, 64, 513, 1500})
    for (const int decimation : {1, 2, 3, 7, 16}) {
      SCOPED_TRACE(fmt::format("{} taps, decimation {}", taps, decimation));
      expect_every_tap_meets_its_input<2>(taps, decimation);
      expect_every_tap_meets_its_input<4>(taps, decimation);
      expect_every_tap_meets_its_input<8>(taps, decimation);
    }
}

TEST(FirTiling, VectorsOfTapsAreAligned) {
  for (const std::int64_t taps : {1, 21, 100'000})
    for (int decimation = 1; decimation <= 16; ++decimation) EXPECT_EQ(Tiling(taps, decimation).depth % 8, 0);
}

}  // namespace
}  // namespace iqd::fir
