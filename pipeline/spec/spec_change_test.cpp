// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_change.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

Override keys(const std::string& stage, const std::string& text) {
  Problems problems;
  return {"lab", stage, parse_document(text, "request", problems).root};
}

TEST(AddOverride, KeepsWhatIsNotSaidAgain) {
  std::vector<Override> overrides;
  add_override(overrides, keys("source", "{gain: 1, frequency: 2}"));
  add_override(overrides, keys("fir", "{gain: 1}"));
  for (int n = 0; n < 100; ++n) {
    add_override(overrides, keys("source", "{gain: " + std::to_string(n) + "}"));
    ASSERT_EQ(overrides.size(), 3u);
  }
  EXPECT_EQ(overrides.back().keys["gain"].scalar(), "99");
  add_override(overrides, keys("source", "{frequency: 3}"));
  ASSERT_EQ(overrides.size(), 3u) << "the first is covered by two that came later";
  EXPECT_EQ(overrides.front().stage, "fir");
  add_override(overrides, keys("fir", "{}"));
  EXPECT_EQ(overrides.size(), 3u);
}

TEST(AddOverride, KeysOfAGroupCountOneByOne) {
  std::vector<Override> overrides;
  add_override(overrides, keys("fir", "{design: {cutoff: 1, gain: 2}}"));
  add_override(overrides, keys("fir", "{design: {gain: 3}}"));
  ASSERT_EQ(overrides.size(), 2u) << "the cutoff still applies";
  add_override(overrides, keys("fir", "{design: {cutoff: 4}}"));
  EXPECT_EQ(overrides.size(), 2u);
  add_override(overrides, keys("other", "{design: {gain: 3}}"));
  EXPECT_EQ(overrides.size(), 3u);
}

}  // namespace
}  // namespace iqd
