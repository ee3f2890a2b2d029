// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/convolution.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace iqd {
namespace {

TEST(ConvolutionShape, IsReadAsItIsWritten) {
  for (const char* text : {"12672x186x3104", "12672x186+21x100", "1x1x1", "7x9x3/1", "7x9+2x3/1"})
    EXPECT_EQ(text_of(convolution_shape(text)), text);
  const ConvolutionShape s = convolution_shape("100x11+5x7");
  EXPECT_EQ(s.all_taps(), 15);
  EXPECT_EQ(s.outputs(), 114);
  EXPECT_EQ(s.filters(), 7);
  EXPECT_EQ(convolution_shape("100x11x7/1").filters(), 1);
}

TEST(ConvolutionShape, AnythingElseIsRefused) {
  for (const char* text : {"", "12", "12x", "12x3", "0x1x1", "1x0x1", "1x1x0", "1x1+0x1", "-1x1x1", "1x1x1/2", "1x1x1 ",
                           "1x1x1x1", "99999999x1x1"})
    EXPECT_THROW(convolution_shape(text), UsageError) << text;
}

TEST(ConvolutionSegments, CoverEachOutputOnce) {
  for (const char* text : {"100x11x1", "100x11+5x1", "128x1x1", "3x60x1", "1000x5x1"}) {
    const ConvolutionShape shape = convolution_shape(text);
    for (const std::int64_t size : {64, 128, 2048}) {
      const Segments s = segments_of(shape, size);
      EXPECT_EQ(s.step, s.size - s.skip);
      EXPECT_GE(s.count * s.step, shape.outputs()) << text << ", " << size;
      EXPECT_LT((s.count - 1) * s.step, shape.outputs()) << text << ", " << size;
      EXPECT_EQ(s.skip, size >= shape.outputs() ? 0 : shape.all_taps() - 1);  // as far as the wrap reaches
    }
  }
}

}  // namespace
}  // namespace iqd
