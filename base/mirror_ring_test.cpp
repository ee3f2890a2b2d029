// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/mirror_ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.hpp"

namespace iqd {
namespace {

TEST(MirrorRing, WindowsGoOnOverTheEnd) {
  const std::size_t bytes = 2 * MirrorRing::page_bytes();
  const MirrorRing ring(3, bytes);
  std::mt19937 random(1);
  std::vector<std::vector<unsigned char>> rows(3, std::vector<unsigned char>(bytes));
  for (int i = 0; i < 500; ++i) {
    const std::size_t row = random() % 3;
    const std::size_t offset = random() % (5 * bytes);
    const std::size_t length = 1 + random() % bytes;
    std::vector<unsigned char> window(length);
    for (auto& x : window) x = static_cast<unsigned char>(random());
    std::memcpy(ring.at(row, offset), window.data(), length);
    for (std::size_t k = 0; k < length; ++k) rows[row][(offset + k) % bytes] = window[k];
    for (std::size_t r = 0; r < 3; ++r) {
      const std::size_t start = random() % bytes;
      for (std::size_t k = 0; k < bytes; ++k)
        ASSERT_EQ(static_cast<unsigned char>(ring.at(r, start)[k]), rows[r][(start + k) % bytes]);
    }
  }
}

TEST(MirrorRing, RowsAreEquallyFarApart) {
  const std::size_t bytes = MirrorRing::page_bytes();
  const MirrorRing ring(4, bytes);
  EXPECT_EQ(ring.rows(), 4u);
  EXPECT_EQ(ring.row_bytes(), bytes);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(ring.at(r, 100) - ring.at(0, 100), static_cast<std::ptrdiff_t>(r * ring.row_pitch()));
    EXPECT_EQ(ring.at(r, bytes + 7), ring.at(r, 7));
  }
  EXPECT_EQ(ring.mapped().data(), ring.at(0, 0));
  EXPECT_EQ(ring.mapped().size(), 4 * ring.row_pitch());
  EXPECT_EQ(ring.mapped().back(), std::byte{0});
}

TEST(MirrorRing, WhatDoesNotFitIsAnErrorThatSaysHowMuch) {
  const std::size_t bytes = (std::size_t{1} << 46) / MirrorRing::page_bytes() * MirrorRing::page_bytes();
  try {
    const MirrorRing ring(2, bytes);
    FAIL() << "128 TB were mapped twice";
  } catch (const SetupError& e) {
    EXPECT_NE(std::string(e.what()).find("MB failed"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace iqd
