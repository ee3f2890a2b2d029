// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/driver_sight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace iqd {
namespace {

using namespace std::chrono_literals;

TEST(DriverSight, ADriverThatAnswers) {
  DriverEntry driver;
  EXPECT_TRUE(look(driver, 10s).devices.empty());  // it has no probe
  driver.probe = [](const std::string& args) {
    return std::vector<FoundDevice>{{"a radio", {{"serial", "7" + args}}}};
  };
  const Sight sight = look(driver, 10s);
  ASSERT_EQ(sight.devices.size(), 1u);
  EXPECT_EQ(sight.devices[0].label, "a radio");
  EXPECT_EQ(trouble_of(sight), "");
  EXPECT_EQ(look(driver, 10s, "!").devices[0].facts[0].second, "7!");
  EXPECT_EQ(sight.error, "");
  EXPECT_FALSE(sight.hangs);
}

TEST(DriverSight, ADriverThatFails) {
  DriverEntry driver;
  driver.probe = [](const std::string&) -> std::vector<FoundDevice> { throw std::runtime_error("no such bus"); };
  EXPECT_EQ(look(driver, 10s).error, "no such bus");
  driver.probe = [](const std::string&) -> std::vector<FoundDevice> { throw 7; };
  EXPECT_THAT(look(driver, 10s).error, ::testing::HasSubstr("not a std::exception"));
}

TEST(DriverSight, WhatWasAskedForHasToBeThere) {
  DriverEntry driver;
  driver.probe = [](const std::string&) { return std::vector<FoundDevice>{}; };
  EXPECT_EQ(trouble_of(look(driver, 10s, "serial=7")), "no device found");
  driver.probe = [](const std::string&) { return std::vector<FoundDevice>{{"a radio", {{"error", "it is busy"}}}}; };
  EXPECT_EQ(trouble_of(look(driver, 10s, "serial=7")), "a radio: it is busy");
  driver.probe = [](const std::string&) -> std::vector<FoundDevice> { throw std::runtime_error("no such bus"); };
  EXPECT_EQ(trouble_of(look(driver, 10s, "serial=7")), "no such bus");
}

std::atomic<bool> goes_on{false};

TEST(DriverSight, ADriverThatDoesNotAnswer) {
  DriverEntry driver;
  driver.probe = [](const std::string&) {
    while (!goes_on) std::this_thread::sleep_for(1ms);
    goes_on = false;
    return std::vector<FoundDevice>{};
  };
  const Sight sight = look(driver, 20ms);
  EXPECT_TRUE(sight.hangs);
  EXPECT_THAT(sight.error, ::testing::HasSubstr("no answer within"));
  goes_on = true;
  while (goes_on) std::this_thread::sleep_for(1ms);  // its thread is about to end
}

}  // namespace
}  // namespace iqd
