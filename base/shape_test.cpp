// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/shape.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

TEST(Shape, IsWrittenAsInTheDocumentation) {
  EXPECT_EQ(to_string(std::vector<Dim>{{"channel", 2}, {"n", 4096}}), "[channel 2][n 4096]");
  EXPECT_EQ(to_string(std::vector<Dim>{}), "[1]");
}

TEST(Shape, BytesFollowTheVaryingDimension) {
  PortFormat format;
  format.element = Element::cf32;
  format.dims = {{"packet", 10}, {"kind", 2}, {"symbol", 100}};
  EXPECT_EQ(format.most(), 1);
  EXPECT_EQ(format.bytes(3), 10 * 2 * 100 * 8);  // none varies
  format.varying = 0;
  EXPECT_EQ(format.most(), 10);
  EXPECT_EQ(format.bytes(3), 3 * 2 * 100 * 8);
  EXPECT_EQ(format.bytes(0), 0);
  format.varying = 2;
  EXPECT_EQ(format.bytes(7), 10 * 2 * 7 * 8);
  format.dims.clear();
  format.varying = -1;
  EXPECT_EQ(format.bytes(1), 8);
}

}  // namespace
}  // namespace iqd
