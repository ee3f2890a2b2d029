// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/printable.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

using namespace std::string_view_literals;

TEST(Printable, KeepsEveryCharacterOfUtf8) {
  EXPECT_EQ(printable("a \u00e4 \u20ac \U0001f4e1 ~"), "a \u00e4 \u20ac \U0001f4e1 ~");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\t\x7f\0c"sv), "a?[2Jb????c");
}

/// Each byte that cannot begin a character is one `?`.
TEST(Printable, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\x81 x"), "?? x");
  EXPECT_EQ(printable("\xc0\xaf"), "??");            // a slash in two bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // half a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // above U+10FFFF
  EXPECT_EQ(printable("\xe2\x82"), "??");            // an end within a character
}

TEST(Utf8Start, CutsNoCharacter) {
  EXPECT_EQ(utf8_start("a\u20acb", 0), "");
  EXPECT_EQ(utf8_start("a\u20acb", 1), "a");
  EXPECT_EQ(utf8_start("a\u20acb", 3), "a");
  EXPECT_EQ(utf8_start("a\u20acb", 4), "a\u20ac");
  EXPECT_EQ(utf8_start("a\u20acb", 9), "a\u20acb");
}

}  // namespace
}  // namespace iqd
