// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/port_names.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

TEST(PortNames, TheFirstOfTwoIsFound) {
  PortNames names;
  names.add_port("source", 0);
  names.add_port("fir.out", 1);
  names.add_port("fir.out", 2);
  names.add_step("fir", 0);
  EXPECT_EQ(names.port("source"), 0u);
  EXPECT_EQ(names.port("fir.out"), 1u);
  EXPECT_EQ(names.step("fir"), 0u);
  EXPECT_EQ(names.port("fir"), kNoPort);
  EXPECT_EQ(names.step("source"), kNoStep);
}

TEST(PortNames, OutputsOfOneNameStayInOrder) {
  PortNames names;
  names.add_port("bits", 0);
  names.add_port("a.bits", 1);
  names.add_port("~a.bits.host.bits", 2);
  names.add_port("b.bits", 3);
  const auto bits = names.outputs_called("bits");
  EXPECT_EQ(std::vector<PortIndex>(bits.begin(), bits.end()), (std::vector<PortIndex>{1, 3}));
  EXPECT_TRUE(names.outputs_called("out").empty());
}

TEST(PortNames, ARenamedPortHasOneName) {
  PortNames names;
  names.add_port("~source.device.out", 1);
  names.rename_port("~source.device.out", "~source.device", 1);
  EXPECT_EQ(names.port("~source.device.out"), kNoPort);
  EXPECT_EQ(names.port("~source.device"), 1u);
}

}  // namespace
}  // namespace iqd
