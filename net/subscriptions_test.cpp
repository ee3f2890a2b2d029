// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/subscriptions.hpp"

#include <gtest/gtest.h>

namespace iqd::net {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string subscribe(const std::string& topic) {
  return '\x01' + topic;
}
std::string unsubscribe(const std::string& topic) {
  return std::string(1, '\0') + topic;
}

TEST(Subscriptions, CountsWhatIsHeld) {
  Subscriptions s;
  EXPECT_EQ(s.take(subscribe("abc"), 0), "");
  EXPECT_EQ(s.take(subscribe("abc"), 0), "") << "libzmq stores it once, too";
  EXPECT_EQ(s.take(subscribe("de"), 0), "");
  EXPECT_EQ(s.bytes(), 5u);
  EXPECT_EQ(s.take(unsubscribe("other"), 0), "") << "an unknown subscription frees nothing";
  EXPECT_EQ(s.bytes(), 5u);
  EXPECT_EQ(s.take(unsubscribe("abc"), 0), "");
  EXPECT_EQ(s.bytes(), 2u);
  EXPECT_EQ(s.take("", 0), "");
  EXPECT_EQ(s.take("words that are no subscription", 0), "");
  EXPECT_EQ(s.bytes(), 2u);
}

TEST(Subscriptions, NumberAndBytesAreBounded) {
  Subscriptions many;
  for (std::size_t i = 0; i < Subscriptions::kMost; ++i) ASSERT_EQ(many.take(subscribe(std::to_string(i)), 0), "");
  EXPECT_EQ(many.take(subscribe("one more"), 0), "more than 512 subscriptions");
  Subscriptions large;
  const std::size_t length = 1 << 10;
  for (std::size_t i = 0; i < Subscriptions::kMostBytes / length; ++i)
    ASSERT_EQ(large.take(subscribe(std::string(length, static_cast<char>(i))), 0), "");
  EXPECT_EQ(large.take(subscribe("x"), 0), "subscriptions of more than 8 KiB");
}

TEST(Subscriptions, MessagesASecondAreBounded) {
  Subscriptions s;
  std::int64_t now = 0;
  for (int second = 0; second < 3; ++second, now += 2 * kSecond)
    for (int i = 0; i < Subscriptions::kMessagesASecond; ++i) ASSERT_EQ(s.take("", now), "");
  now -= 2 * kSecond;
  EXPECT_EQ(s.take("", now), "more than 4096 messages a second");
}

}  // namespace
}  // namespace iqd::net
