// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines(const std::string& header, std::string_view bytes, std::string_view dtype = "<u1") {
  std::string why;
  const std::string head = "t {\"dtype\":\"" + std::string(dtype) + "\"," + header + "}";
  const auto message = read_message(head, std::as_bytes(std::span(bytes)), why);
  EXPECT_TRUE(message) << why;
  return message ? text_lines(*message) : std::vector<std::string>();
}

TEST(MessageText, ALineForEachItemAsLongAsItsFactSays) {
  const std::string header = R"("shape":[2,5],"dims":["packet","byte"],"packets":[{"length":2},{"length":4}])";
  using namespace std::string_view_literals;
  EXPECT_THAT(lines(header, "hello1234\0"sv), ElementsAre("he", "1234"));
}

TEST(MessageText, WithoutAFactZerosAtTheEndAreLeftOut) {
  using namespace std::string_view_literals;
  EXPECT_THAT(lines(R"("shape":[2,4])", "ab\0\0a\0c\0"sv), ElementsAre("ab", "a?c"));
  EXPECT_THAT(lines(R"("shape":[3])", "abc"), ElementsAre("abc"));
  EXPECT_THAT(lines(R"("shape":[1,2],"dims":["packet","byte"],"packets":[{"length":-1}])", "\0\0"sv), ElementsAre(""));
  EXPECT_THAT(lines(R"("shape":[1,2],"dims":["packet","byte"],"packets":[{"length":9}])", "ab"), ElementsAre("ab"));
  EXPECT_THAT(lines(R"("shape":[1,2],"dims":[7],"packets":7)", "ab"), ElementsAre("ab"));
  EXPECT_THAT(lines(R"("shape":[1,2,2],"dims":["packet","user","byte"],"packets":[{"length":1}])", "abcd"),
              ElementsAre("a", "c"));
}

TEST(MessageText, WhatWouldMoveTheCursorIsShownAsSuch) {
  EXPECT_THAT(lines(R"("shape":[1,6])", "a\n\x1b[2J"), ElementsAre("a??[2J"));
  EXPECT_THAT(lines(R"("shape":[1,2])", "\xc3\xa9"), ElementsAre("\xc3\xa9"));
}

TEST(MessageText, OfOtherElementsThereIsNone) {
  EXPECT_THAT(lines(R"("shape":[2])", "abcdefgh", "<f4"), IsEmpty());
  EXPECT_THAT(lines(R"("shape":[0,4])", ""), IsEmpty());
}

}  // namespace
}  // namespace iqd
