// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/direct_buffers.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace iqd::sim {
namespace {

TEST(SimDirectBuffers, AHeldBufferIsNotFreeUntilItIsReleased) {
  DirectBuffers buffers;
  buffers.resize(2);
  buffers.allocate(3, 16);
  EXPECT_EQ(buffers.free(), 0u);
  buffers.hold(0);
  EXPECT_EQ(buffers.free(), 1u);
  buffers.hold(1);
  EXPECT_EQ(buffers.free(), std::nullopt);
  buffers.release(0);
  EXPECT_EQ(buffers.free(), 0u);
  EXPECT_THROW(buffers.release(2), std::out_of_range);
}

TEST(SimDirectBuffers, NewMemoryHasAnAddressForEachChannelAndIsFree) {
  DirectBuffers buffers;
  buffers.resize(1);
  buffers.hold(0);
  buffers.allocate(3, 16);
  EXPECT_EQ(buffers.free(), 0u);
  const auto addresses = buffers.addresses(0);
  ASSERT_EQ(addresses.size(), 3u);
  EXPECT_NE(addresses[0], addresses[1]);
  EXPECT_EQ(buffers.addresses(0), addresses);
}

}  // namespace
}  // namespace iqd::sim
