// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/front_end.hpp"

#include <gtest/gtest.h>

namespace iqd::sim {
namespace {

void receive(FrontEnd& front_end, Format format, std::int64_t first, void* buffer, std::int64_t samples) {
  Stream rx;
  rx.format = format;
  rx.channels = {1};
  rx.next = first;
  front_end.receive(rx, 1e6, &buffer, samples);
}

TEST(SimFrontEnd, ASettingAppliesFromItsPositionOn) {
  FrontEnd front_end(2);
  front_end.set(1, 0, 20, 100e6);
  front_end.set(1, 4, 0, 99.75e6);  // a quarter of a turn for each sample
  std::vector<cf32> x(4, 1);
  receive(front_end, Format::cf32, 2, x.data(), 4);
  const std::vector<cf32> wanted{10, 10, 1, {0, 1}};
  for (std::size_t n = 0; n < x.size(); ++n) EXPECT_LT(std::abs(x[n] - wanted[n]), 1e-5f) << n;
}

TEST(SimFrontEnd, AnotherChannelsSettingDoesNotMatter) {
  FrontEnd front_end(2);
  front_end.set(0, 0, 20, 100e6);
  cf32 x = 0.5f;
  receive(front_end, Format::cf32, 0, &x, 1);
  EXPECT_EQ(x, cf32(0.5f));
}

TEST(SimFrontEnd, IntegersSaturate) {
  FrontEnd front_end(2);
  front_end.set(1, 0, 20, 100e6);
  std::vector<std::int16_t> x{100, -5, 5000, -5000};
  receive(front_end, Format::cs16, 0, x.data(), 2);
  EXPECT_EQ(x, (std::vector<std::int16_t>{1000, -50, 32767, -32768}));
}

}  // namespace
}  // namespace iqd::sim
