// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/event_file.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "base/error.hpp"
#include "tests/support/few_descriptors.hpp"

namespace iqd {
namespace {

TEST(EventFile, IsReadableFromSetToTake) {
  const EventFile event;
  pollfd file{event.file(), POLLIN, 0};
  EXPECT_EQ(::poll(&file, 1, 0), 0);
  EXPECT_FALSE(event.take());
  event.set();
  event.set();
  EXPECT_EQ(::poll(&file, 1, 0), 1);
  EXPECT_TRUE(event.take());
  EXPECT_EQ(::poll(&file, 1, 0), 0);
}

TEST(EventFile, WithoutADescriptorThereIsNone) {
  const FewDescriptors none;
  EXPECT_THROW(EventFile(), SetupError);
}

}  // namespace
}  // namespace iqd
