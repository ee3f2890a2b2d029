// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/call/monitor_address.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace iqd {
namespace {

TEST(MonitorAddress, IsReadAsPeopleWriteIt) {
  const std::pair<const char*, const char*> cases[] = {{"127.0.0.1:9464", "127.0.0.1:9464"},
                                                       {"basestation", "basestation:9464"},
                                                       {"basestation.lab:80", "basestation.lab:80"},
                                                       {"9500", "127.0.0.1:9500"},
                                                       {":9500", "127.0.0.1:9500"},
                                                       {"[::1]:9500", "[::1]:9500"},
                                                       {"[::1]", "[::1]:9464"},
                                                       {"::1", "[::1]:9464"},
                                                       {"fe80::1:2", "[fe80::1:2]:9464"},
                                                       {"http://10.0.0.7:9464/", "10.0.0.7:9464"}};
  for (const auto& [written, text] : cases) EXPECT_EQ(parse_monitor_address(written).text(), text) << written;
}

TEST(MonitorAddress, OthersAreRefused) {
  for (const char* text : {"", "/", "host:", "host:0", "host:65536", "host:x", "host:-1", "[::1", "[::1]9464", "a b",
                           "https://host", "host/path", "user@host", "70000"})
    EXPECT_THROW(parse_monitor_address(text), UsageError) << text;
}

TEST(MonitorAddress, IsThatOfTheEnvironmentUnlessGiven) {
  ::unsetenv("IQD_MONITOR");
  EXPECT_EQ(monitor_address("").text(), "127.0.0.1:9464");
  ::setenv("IQD_MONITOR", "basestation:9500", 1);
  EXPECT_EQ(monitor_address("").text(), "basestation:9500");
  EXPECT_EQ(monitor_address("other").text(), "other:9464");
  ::unsetenv("IQD_MONITOR");
}

}  // namespace
}  // namespace iqd
