// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/disk_format.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "radio/file/sample_conversion.hpp"

namespace iqd::radio {
namespace {

using ::testing::ElementsAre;

template <class To> std::vector<To> read(const char* name, const std::vector<unsigned char>& bytes) {
  const DiskFormat& format = *find_raw_format(name);
  std::vector<To> to(bytes.size() / static_cast<std::size_t>(format.bytes));
  read_samples(format, reinterpret_cast<const std::byte*>(bytes.data()), format.bytes, std::ssize(to),
               reinterpret_cast<std::byte*>(to.data()));
  return to;
}

TEST(DiskFormat, HasManyNames) {
  for (const char* name : {"ci16_le", "ci16", "cs16", "CS16", "sc16", "c16", "cs16_le"})
    EXPECT_EQ(find_raw_format(name)->name, "ci16_le") << name;
  for (const char* name : {"cu8", "complex16u", "uc8"}) EXPECT_EQ(find_raw_format(name)->name, "cu8") << name;
  for (const char* name : {"f32", "rf32_le", "float32"}) EXPECT_EQ(find_raw_format(name)->name, "rf32_le") << name;
  EXPECT_EQ(find_raw_format("fc64_be")->name, "cf64_be");
  EXPECT_EQ(find_raw_format("s16_be")->name, "ri16_be");
  for (const char* name : {"", "_be", "cs17", "wav8", "c wav8", "raw", "le", "ci16_xe"})
    EXPECT_EQ(find_raw_format(name), nullptr) << name;
  EXPECT_EQ(find_disk_format("cu16_be")->bytes, 4);
  EXPECT_EQ(find_disk_format("cs16"), nullptr) << "not SigMF";
}

TEST(DiskFormat, IsExactInTheElementOfMemory) {
  EXPECT_THAT(read<sc16>("cu8", {0, 255, 127, 128}), ElementsAre(sc16{-32640, 32640}, sc16{-128, 128}));
  EXPECT_THAT(read<sc16>("cs8", {0x80, 0x7f, 0, 0xff}), ElementsAre(sc16{-32768, 32512}, sc16{0, -256}));
  EXPECT_THAT(read<sc16>("cs16_be", {0x12, 0x34, 0xff, 0xfe}), ElementsAre(sc16{0x1234, -2}));
  EXPECT_THAT(read<float>("s24", {0, 0, 0x80, 1, 0, 0}), ElementsAre(-1.0f, 1.0f / 8388608));
  EXPECT_THAT(read<float>("u16", {0xff, 0xff, 0, 0}), ElementsAre(65535.0f / 65536, -65535.0f / 65536));
  EXPECT_THAT(read<float>("f64_be", {0x3f, 0xe0, 0, 0, 0, 0, 0, 0}), ElementsAre(0.5f));
}

TEST(DiskFormat, KnowsTheLargestPart) {
  EXPECT_EQ(find_raw_format("cu8")->full_scale - 1, 32640);
  EXPECT_EQ(find_raw_format("cs8")->full_scale - 1, 32512);
  EXPECT_EQ(find_raw_format("cs16")->full_scale - 1, 32767);
  EXPECT_EQ(find_raw_format("cf32")->full_scale, 0) << "unknown";
}

/// What is read is written back to the byte.
TEST(DiskFormat, WritesWhatItReads) {
  for (const char* name : {"cu8", "cs8", "cs16", "cs16_be", "cu16", "cu16_be", "cs24", "cf32", "cf32_be", "u8", "s8",
                           "s16", "u16_be", "s24_be", "f32", "f32_be"}) {
    const DiskFormat& format = *find_raw_format(name);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(format.bytes) * 256);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 37 + i / 256);
    if (format.number == Number::f32)  // no NaN, whose bits may change
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] &= 0x3f;
    std::vector<std::byte> memory(256 * size_of(format.element));
    read_samples(format, reinterpret_cast<const std::byte*>(bytes.data()), format.bytes, 256, memory.data());
    std::vector<unsigned char> again(bytes.size());
    EXPECT_EQ(write_samples(format, format.element, memory.data(), 256, reinterpret_cast<std::byte*>(again.data()),
                            format.bytes),
              0)
        << name;
    EXPECT_EQ(again, bytes) << name;
  }
}

TEST(DiskFormat, CountsWhatItClips) {
  const std::vector<float> x{1.5f, -1.5f, std::numeric_limits<float>::quiet_NaN(), INFINITY, 0.996f, -1, 0};
  std::vector<std::uint8_t> u(x.size());
  std::vector<std::int8_t> s(x.size());
  const auto write = [&](const char* name, auto& to) {
    return write_samples(*find_raw_format(name), Element::f32, reinterpret_cast<const std::byte*>(x.data()),
                         std::ssize(x), reinterpret_cast<std::byte*>(to.data()), 1);
  };
  EXPECT_EQ(write("u8", u), 4);
  EXPECT_THAT(u, ElementsAre(255, 0, 128, 255, 255, 0, 128));
  EXPECT_EQ(write("s8", s), 4);
  EXPECT_THAT(s, ElementsAre(127, -128, 0, 127, 127, -128, 0));
}

TEST(DiskFormat, TakesAChannelOutOfFrames) {
  const DiskFormat& format = *find_raw_format("cs8");
  const std::vector<std::int8_t> frames{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<sc16> second(2);
  read_samples(format, reinterpret_cast<const std::byte*>(frames.data()) + 2, 6, 2,
               reinterpret_cast<std::byte*>(second.data()));
  EXPECT_THAT(second, ElementsAre(sc16{768, 1024}, sc16{2304, 2560}));
}

}  // namespace
}  // namespace iqd::radio
