// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/live_head.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/live/code_scale.hpp"
#include "tests/support/built_path.hpp"

namespace iqd::live {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

Head head_of(const nlohmann::json& of) {
  Head head;
  head.kind = static_cast<Head::Kind>(of["kind"].get<int>());
  head.trace = of["trace"];
  head.flags = of["flags"];
  head.vectors = of["vectors"];
  head.count = of["count"];
  head.seq = of["seq"];
  head.lost = of["lost"];
  head.time_s = of["time"];
  head.first = of["first"];
  head.span = of["span"];
  head.low_cdb = static_cast<std::int16_t>(std::lround(100 * of["low"].get<double>()));
  head.step_mdb = static_cast<std::uint16_t>(std::lround(1000 * of["step"].get<double>()));
  return head;
}

/// The page's tests read the same file.
TEST(LiveHead, IsByteForByteWhatThePageReads) {
  const std::string path = built_path(IQD_SOURCE_FOLDER, "IQD_SOURCE_FOLDER") + "/tests/support/live_messages.json";
  std::ifstream file(path);
  if (!file && std::getenv("IQD_SOURCE_FOLDER")) GTEST_SKIP() << "NOT COMPARED: a bundle has no " << path;
  ASSERT_TRUE(file) << path;
  const nlohmann::json examples = nlohmann::json::parse(file);
  ASSERT_GE(examples.size(), 4u);
  for (const nlohmann::json& example : examples) {
    const std::string hex = example["hex"];
    EXPECT_EQ(hex_of(message_of(head_of(example["head"]), "")), hex.substr(0, 80)) << example["name"];
    if (!example.contains("db")) continue;
    for (std::size_t k = 0; k < example["db"].size(); ++k) {
      const float db = example["db"][k].is_null() ? NAN : example["db"][k].get<float>();
      EXPECT_EQ(code_of(db, example["head"]["low"], example["head"]["step"]), example["largest"][k]);
    }
  }
}

TEST(LiveHead, ThePayloadFollows) {
  EXPECT_EQ(message_of(Head{}, "abc").substr(40), "abc");
}

TEST(Codes, OfALevel) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Case {
    float db;
    int code;
  };
  for (const auto& [db, code] : {Case{NAN, 0}, Case{-kInfinity, 1}, Case{kInfinity, 255}, Case{-130, 1}, Case{-1e9F, 1},
                                 Case{-129.76F, 1}, Case{-129.74F, 2}, Case{-129.5F, 2}, Case{-3, 255},
                                 Case{-3.26F, 254}, Case{-3.24F, 255}, Case{0, 255}, Case{-66.5F, 128}})
    EXPECT_EQ(code_of(db, -130, 0.5F), code) << db;
}

TEST(Codes, AreRightToHalfAStep) {
  for (float db = -130; db <= -3; db += 0.013F)
    EXPECT_NEAR(-130 + (code_of(db, -130, 0.5F) - 1) * 0.5, db, 0.2501) << db;
}

TEST(CodeScale, BeginsWhereMostTracesLie) {
  CodeScale scale;
  scale.fit(-20);
  Head head;
  scale.describe(head);
  EXPECT_EQ(head.low_cdb, -13000);
  EXPECT_EQ(head.step_mdb, 500);
  EXPECT_EQ(scale.code(-130), 1);
}

TEST(CodeScale, AValueAboveMovesItAtOnceAndItReturnsLater) {
  CodeScale scale;
  scale.fit(-2.5F);
  EXPECT_EQ(scale.low_db(), -120);
  EXPECT_LT(scale.code(-2.5F), 255);
  for (int i = 0; i < 200; ++i) scale.fit(-10);
  EXPECT_EQ(scale.low_db(), -120);
  scale.fit(0);
  for (int i = 0; i < 299; ++i) scale.fit(-10);
  EXPECT_EQ(scale.low_db(), -120);
  scale.fit(-10);
  EXPECT_EQ(scale.low_db(), -130);
}

TEST(CodeScale, FollowsValuesThatLieFarBelow) {
  CodeScale scale;
  for (int i = 0; i < 300; ++i) scale.fit(-125);
  EXPECT_EQ(scale.low_db(), -210);
  scale.fit(-60);
  EXPECT_EQ(scale.low_db(), -130);
  scale.fit(500);
  EXPECT_EQ(scale.low_db(), 200);
  Head head;
  scale.describe(head);
  EXPECT_EQ(head.low_cdb, 20000);
}

TEST(CodeScale, IgnoresWhatIsNoNumber) {
  CodeScale scale;
  for (int i = 0; i < 1000; ++i) {
    scale.fit(NAN);
    scale.fit(-std::numeric_limits<float>::infinity());
    scale.fit(std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(scale.low_db(), -130);
}

}  // namespace
}  // namespace iqd::live
