// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/played_part.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace iqd::radio {
namespace {

Recording of_length(std::int64_t samples) {
  Recording recording;
  recording.path = "r";
  recording.rate_hz = 1000;
  recording.segments = {{.samples = samples / 2}, {.samples = samples - samples / 2 - 7, .lost = 7}};
  return recording;
}

PlayedPart part_of(const PartKeys& keys, std::int64_t length) {
  return played_part(keys, of_length(length),
                     [](std::string_view key, const std::string& what) { ADD_FAILURE() << key << ": " << what; });
}

TEST(PlayedPart, WindowsLieSideBySideAndBeginWhereBlocksDo) {
  std::mt19937 random(3);
  const auto any = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int i = 0; i < 200; ++i) {
    const int length = any(100, 10'000), start = any(0, length - 1), block = any(1, 700), count = any(1, 60);
    SampleIndex end = start;
    for (int w = 0; w < count; ++w) {
      const PlayedPart part =
          part_of({.start = std::to_string(start), .window = fmt::format("{}/{}", w, count)}, length);
      const Excerpt cut = part.cut(block);
      EXPECT_EQ(cut.first, end);
      EXPECT_EQ(cut.at, cut.first);
      EXPECT_TRUE(cut.first == start || cut.first % block == 0 || cut.first == length) << cut.first;
      end = cut.end;
    }
    EXPECT_EQ(end, length);
  }
}

TEST(PlayedPart, AWarmStartBeginsWhereABlockDoes) {
  EXPECT_EQ(part_of({.start = "1230", .warm = "0.2 s"}, 5000).cut(100).at, 1000);
  EXPECT_EQ(part_of({.start = "1230", .warm = "9 s"}, 5000).cut(100).at, 0);
  EXPECT_EQ(part_of({.start = "1230", .warm = "30"}, 5000).cut(100).warm, 30);
  EXPECT_EQ(part_of({.start = "1230"}, 5000).cut(100).at, 1230);
}

TEST(PlayedPart, EdgesAreThoseWithinTheRecording) {
  EXPECT_EQ(part_of({}, 5000).edges, 0);
  EXPECT_EQ(part_of({.start = "300", .samples = "150"}, 5000).edges, 150);
  EXPECT_EQ(part_of({.start = "300", .samples = "5000"}, 5000).edges, 300);
  EXPECT_EQ(part_of({.window = "1/3"}, 5000).edges, 0);
}

TEST(PlayedPart, WindowsThatAreNone) {
  for (const char* const text : {"3/3", "-1/3", "3", "/", "", "1/2/3", "0/0", "0/1000001", "1.5/3", "a/b"})
    EXPECT_FALSE(window_in(text)) << text;
  EXPECT_EQ(window_in("2/3"), std::pair(std::int64_t{2}, std::int64_t{3}));
}

}  // namespace
}  // namespace iqd::radio
