// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/plot/plots.hpp"
#include "daemon/plot/tone_for_test.hpp"

namespace iqd::plot {
namespace {

using ::testing::HasSubstr;

TEST(WaterfallPlot, ATonesColumnIsItsFrequency) {
  PlotOptions options;
  options.is_whole = true;
  options.rows = 8;
  const Piece piece = tone(250e3);
  const Figure f = figure_of(Kind::waterfall, piece, options);
  ASSERT_EQ(f.kind, Figure::Kind::grid);
  EXPECT_GE(f.grid.rows, 8);
  EXPECT_LT(f.grid.rows, 16);
  for (int r = 0; r < f.grid.rows; ++r) {
    int strongest = 0;
    for (int c = 0; c < f.grid.columns; ++c)
      if (f.grid.at(c, r) > f.grid.at(strongest, r)) strongest = c;
    const double hz = 1e6 * (f.x.low + (f.x.high - f.x.low) * strongest / (f.grid.columns - 1));
    EXPECT_NEAR(hz, kCentre + 250e3, kRate / 4096) << r;
  }
  EXPECT_EQ(f.y.label, "time, ms");
  EXPECT_NEAR(f.y.low, 65.536, 9) << "the end is at the bottom";
  EXPECT_EQ(f.y.high, 0);
}

TEST(WaterfallPlot, KeepsTheNewestRows) {
  PlotOptions options;
  options.rows = 3;
  Piece piece;
  piece.of = Piece::Of::bins;
  piece.bins = {100, 10, true};
  const auto plot = make_plot(Kind::waterfall, piece, options);
  for (int i = 0; i < 5; ++i) {
    piece.values = {std::vector<float>(8, static_cast<float>(-i))};
    plot->add(piece);
  }
  const Figure f = plot->figure();
  ASSERT_EQ(f.grid.rows, 3);
  EXPECT_NEAR(f.grid.at(0, 0), -2, 1e-3);
  EXPECT_NEAR(f.grid.at(0, 2), -4, 1e-3) << "the newest is at the bottom";
}

float strongest(const Figure& f, int row) {
  float most = f.grid.at(0, row);
  for (int c = 1; c < f.grid.columns; ++c) most = std::max(most, f.grid.at(c, row));
  return most;
}

TEST(WaterfallPlot, TimeHoldsWherePiecesAreMissing) {
  PlotOptions options;
  options.rows = 40;
  Piece piece = tone(100e3, 10'000);
  const auto plot = make_plot(Kind::waterfall, piece, options);
  for (const std::int64_t n : {0, 1, 4, 7, 80, 81, 84, 87, 120, 124, 129}) {  // of 10 ms; a row has 100 ms
    piece.first = 5'000'000 + n * 10'000;
    plot->add(piece);
  }
  const Figure f = plot->figure();
  ASSERT_EQ(f.grid.rows, 13);
  EXPECT_EQ(f.y.high, 0);
  EXPECT_DOUBLE_EQ(f.y.low, 1.3);
  for (const int r : {0, 8, 12}) EXPECT_NEAR(strongest(f, r), -20.5, 0.5) << r;
  for (const int r : {1, 5, 9, 11}) EXPECT_LT(strongest(f, r), -190) << r << ": dark";
  EXPECT_THAT(f.note, HasSubstr("-20.0 dBFS")) << "dark rows do not count";
}

TEST(WaterfallPlot, AStreamThatBeginsAgainOrWasLongGoneIsDrawn) {
  PlotOptions options;
  options.rows = 4;
  Piece piece = tone(100e3, 100'000);
  const auto plot = make_plot(Kind::waterfall, piece, options);
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1} << 50, std::int64_t{0}}) {
    piece.first = first;
    plot->add(piece);
  }
  const Figure f = plot->figure();
  ASSERT_EQ(f.grid.rows, 4);
  EXPECT_LT(strongest(f, 0), -190);
  EXPECT_NEAR(strongest(f, 3), -20.5, 0.5);
  EXPECT_GT(f.y.high, 1e9) << "seconds";
}

}  // namespace
}  // namespace iqd::plot
