// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/winners.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace iqd {
namespace {

BenchRow row(const char* name, const char* variant, const char* backend, std::int64_t size, double us) {
  BenchRow r{name, variant, backend, "", fmt::format("{}", size)};
  r.p50_us = us;
  return r;
}

TEST(Winners, TheDeviceIsQuickerFromTheSizeOnAfterItsLastDefeat) {
  Winners w;
  // Faster at 1024 by chance, then not, then always; the largest comes first.
  const double device[] = {4, 6, 7, 8}, processor[] = {5, 5, 10, 20};
  for (int i = 3; i >= 0; --i) {
    w.add(row("add", "alone", "cuda:0", 1024 << i, device[i]));
    w.add(row("add", "alone", "cpu", 1024 << i, processor[i]));
  }
  const auto all = w.all();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].from, 4096);
  EXPECT_EQ(all[0].of, 4);
  EXPECT_NE(winner_text(all[0]).find("cuda:0 is faster from 4096 on"), std::string::npos);
}

TEST(Winners, WhoIsAsSlowIsNotQuicker) {
  Winners w;
  w.add(row("add", "alone", "cpu", 64, 5));
  w.add(row("add", "alone", "cuda:0", 64, 5));
  ASSERT_EQ(w.all().size(), 1u);
  EXPECT_EQ(w.all()[0].from, std::nullopt);
  EXPECT_TRUE(nlohmann::json::parse(winner_json(w.all()[0]))["from"].is_null());
}

TEST(Winners, InAChainWhatTheBlockAddsCounts) {
  Winners w;
  BenchRow device = row("add", "in a chain", "cuda:0", 64, 9);
  device.further = {{"checked", 1}, {"marginal_us", 0.5}};
  BenchRow processor = row("add", "in a chain", "cpu", 64, 3);
  processor.further = {{"marginal_us", 1.5}};
  w.add(device);
  w.add(processor);
  ASSERT_EQ(w.all().size(), 1u);
  EXPECT_EQ(w.all()[0].from, 64);
}

TEST(Winners, OnlySizesAndVariantsOfBothAreCompared) {
  Winners w;
  w.add(row("add", "alone", "cpu", 64, 1));
  w.add(row("add", "alone", "cpu", 128, 9));
  w.add(row("add", "alone", "cuda:0", 128, 2));
  w.add(row("add", "alone", "cuda:0", 256, 2));
  w.add(row("add", "resident", "cuda:0", 64, 1));
  w.add(row("agc", "alone", "cpu", 64, 1));
  ASSERT_EQ(w.all().size(), 1u);
  EXPECT_EQ(w.all()[0].of, 1);
  EXPECT_EQ(w.all()[0].from, 128);
}

}  // namespace
}  // namespace iqd
