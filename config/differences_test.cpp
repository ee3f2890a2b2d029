// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/differences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

struct Options {
  double gain = 1;
  std::vector<std::complex<double>> taps{{1, 2}};
  bool has_design = false;
  double cutoff = 0.1;
  std::string name = "a";

  FieldList list() {
    return [this](FieldVisitor& v) {
      v.field("gain", gain, {.help = "", .live = true});
      v.field("taps", taps, {.help = ""});
      v.group("design", has_design, {.help = ""},
              [this](FieldVisitor& g) { g.field("cutoff", cutoff, {.help = "", .live = true}); });
      v.field("name", name, {.help = ""});
    };
  }
};

std::vector<std::string> keys(const std::vector<Difference>& found) {
  std::vector<std::string> all;
  for (const Difference& d : found) all.push_back(d.key + (d.live ? "*" : ""));
  return all;
}

TEST(Differences, NoneBetweenEqualStructs) {
  Options a, b;
  EXPECT_TRUE(differences(a.list(), b.list()).empty());
  EXPECT_TRUE(all_live({}));
}

TEST(Differences, NamesEveryKeyAndWhetherItIsLive) {
  Options a, b;
  b.gain = 2;
  b.cutoff = 0.2;
  EXPECT_THAT(keys(differences(a.list(), b.list())), ::testing::ElementsAre("gain*", "design.cutoff*"));
  EXPECT_TRUE(all_live(differences(a.list(), b.list())));
  b.taps.push_back({0, 0});
  b.has_design = true;
  EXPECT_THAT(keys(differences(a.list(), b.list())),
              ::testing::ElementsAre("gain*", "taps", "design", "design.cutoff*"));
  EXPECT_FALSE(all_live(differences(a.list(), b.list())));
}

}  // namespace
}  // namespace iqd
