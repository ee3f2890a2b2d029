// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/condition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "radio/messages_for_test.hpp"

namespace iqd::radio::trigger {
namespace {

using ::testing::HasSubstr;

TEST(Condition, IsReadFromText) {
  std::string why;
  const auto level = parse_condition("level > -20 dB", why);
  ASSERT_TRUE(level);
  EXPECT_EQ(level->quantity, Condition::Quantity::level);
  EXPECT_EQ(level->value, -20);
  EXPECT_TRUE(level->holds(-19.9));
  EXPECT_FALSE(level->holds(-20));
  EXPECT_TRUE(parse_condition(" peak>=-1.5dB ", why)->holds(-1.5));
  EXPECT_TRUE(parse_condition("value < 1", why)->holds(0));
  EXPECT_FALSE(parse_condition("value<1", why)->holds(1));
  EXPECT_TRUE(parse_condition("value <= +1e3", why)->holds(1000));
  EXPECT_EQ(parse_condition("time > 1970-01-01T00:00:01Z", why)->time_ns, 1'000'000'000);
  EXPECT_EQ(why, "");
  for (const char* wrong :
       {"", "level", "level -20", "loud > 3", "level > ", "level > x", "level > -20 dBm", "value > 1 dB", "level > nan",
        "level > inf", "time > 12", "time < 1970-01-01T00:00:01Z", "level => 1", "level > 1 > 2", "> 1"}) {
    EXPECT_FALSE(parse_condition(wrong, why)) << wrong;
    EXPECT_THAT(why, HasSubstr("expected")) << wrong;
  }
}

TEST(Condition, IsOfPortsThatHaveIt) {
  const auto refusal = [](const char* text, Element element) {
    std::string why;
    return unaskable(*parse_condition(text, why), stream_format(element));
  };
  EXPECT_EQ(refusal("level > 1", Element::sc16), "");
  EXPECT_EQ(refusal("peak > 1", Element::cf32), "");
  EXPECT_THAT(refusal("level > 1", Element::f32), HasSubstr("value"));
  EXPECT_EQ(refusal("value > 1", Element::f32), "");
  EXPECT_THAT(refusal("value > 1", Element::sc16), HasSubstr("level"));
  for (const char* any : {"gap > 0", "items > 0", "time > 1970-01-01T00:00:01Z"})
    EXPECT_EQ(refusal(any, Element::u8), "");
}

}  // namespace
}  // namespace iqd::radio::trigger
