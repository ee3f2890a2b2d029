// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/fields.hpp"

namespace iqd {
namespace {

using ::testing::ElementsAre;

TEST(Drivers, AreThoseOfTheListInItsOrder) {
  std::vector<std::string_view> names;
  for (const DriverEntry& d : all_drivers()) names.push_back(d.name);
  EXPECT_THAT(names, ElementsAre("soapy", "uhd", "file", "zmq", "nats", "generate", "recall", "trigger"));
  EXPECT_EQ(find_driver("zmq"), &all_drivers()[3]);
  EXPECT_EQ(find_driver("usb"), nullptr);
}

class KeyList final : public FieldVisitor {
 public:
  void visit(std::string_view key, FieldRef, const FieldInfo& info) override {
    EXPECT_FALSE(info.help.empty()) << key;
    EXPECT_TRUE(keys.insert(std::string(key)).second) << key << " is listed twice";
  }
  std::set<std::string> keys;
};

TEST(Drivers, DescribeEveryKeyOnce) {
  for (const DriverEntry& d : all_drivers()) {
    SCOPED_TRACE(d.name);
    EXPECT_FALSE(d.summary.empty());
    EXPECT_TRUE(d.make_source || d.make_sink);
    KeyList source;
    if (d.make_source) d.make_source()->fields(source);
    KeyList sink;
    if (d.make_sink) d.make_sink()->fields(sink);
    EXPECT_GT(source.keys.size() + sink.keys.size(), 0u);
  }
}

}  // namespace
}  // namespace iqd
