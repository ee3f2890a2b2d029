// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/receive/capture_pieces.hpp"

#include <gtest/gtest.h>

namespace iqd::warp {
namespace {

const std::vector<Chain> kChains{{nullptr, 0}, {nullptr, 2}};

TEST(WarpCapturePieces, ACaptureConsistsOfPiecesOf16384Samples) {
  CapturePieces pieces(2, 20'000);
  pieces.begin(kChains);
  EXPECT_EQ(pieces[1].buffer, 4u);
  EXPECT_EQ(pieces[1].coverage.first_missing(), 0u);
  EXPECT_EQ(pieces[1].coverage.end(), 16'384u);
  EXPECT_EQ(pieces.available(), 0u);
  EXPECT_TRUE(pieces.at_start());
  pieces.finish();
  EXPECT_EQ(pieces.available(), 16'384u);
  EXPECT_FALSE(pieces.at_start() || pieces.at_end());
  pieces.take(16'384);
  pieces.begin(kChains);
  EXPECT_EQ(pieces[0].coverage.first_missing(), 16'384u);
  EXPECT_EQ(pieces[0].coverage.end(), 20'000u);
  pieces.finish();
  EXPECT_EQ(pieces.available(), 3616u);
  EXPECT_EQ(pieces.first(), 16'384u);
  EXPECT_TRUE(pieces.at_end());
  pieces.rewind();
  EXPECT_TRUE(pieces.at_start());
}

TEST(WarpCapturePieces, SamplesAreTakenInPortions) {
  CapturePieces pieces(2, 100);
  pieces.begin(kChains);
  for (std::size_t i = 0; i < 200; ++i) pieces[1].iq[i] = static_cast<std::int16_t>(i);
  pieces.finish();
  pieces.take(30);
  EXPECT_EQ(pieces.available(), 70u);
  EXPECT_EQ(pieces.first(), 30u);
  EXPECT_EQ(*pieces.iq(1), 60);
  pieces.drop();
  EXPECT_EQ(pieces.available(), 0u);
}

}  // namespace
}  // namespace iqd::warp
