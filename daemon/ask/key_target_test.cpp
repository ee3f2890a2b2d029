// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/key_target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace iqd {
namespace {

using nlohmann::json;

std::string parsed(std::string_view text) {
  const KeyTarget t = parse_key_target(text, "lab");
  return t.pipeline + "|" + t.stage + "|" + t.key;
}

TEST(KeyTarget, StageAndKey) {
  EXPECT_EQ(parsed("source"), "lab|source|");
  EXPECT_EQ(parsed("source.gain"), "lab|source|gain");
  EXPECT_EQ(parsed("fir.design.type"), "lab|fir|design.type");
  EXPECT_EQ(parsed("send/fir.taps"), "send|fir|taps");
  EXPECT_EQ(parsed("publish.0"), "lab|publish.0|");
  EXPECT_EQ(parsed("sinks.12.path"), "lab|sinks.12|path");
  EXPECT_EQ(parsed("publish[0].topic"), "lab|publish[0]|topic");
  EXPECT_EQ(parsed("publish.topic"), "lab|publish|topic") << "a stage of this name";
  EXPECT_EQ(parsed("publish.0x"), "lab|publish|0x");
}

TEST(KeyTarget, WithoutNamesItIsRefused) {
  for (const char* text : {"", ".gain", "source.", "lab/", "publish.0."})
    EXPECT_THROW(parse_key_target(text, ""), UsageError) << text;
}

TEST(KeyValue, IsReadAsInAFile) {
  EXPECT_EQ(parse_key_value("30.5 dB"), "30.5 dB");
  EXPECT_EQ(parse_key_value("-3"), "-3");
  EXPECT_EQ(parse_key_value("[1, [0, 2]]"), json::array({"1", {"0", "2"}}));
  EXPECT_EQ(parse_key_value("{LNA: 20 dB}"), json({{"LNA", "20 dB"}}));
  EXPECT_EQ(parse_key_value("'RX2'"), "RX2");
  EXPECT_EQ(parse_key_value(""), "");
  EXPECT_EQ(parse_key_value("@taps.npy"), "@taps.npy") << "no YAML";
  EXPECT_EQ(parse_key_value("driver=iqdsim,serial=1"), "driver=iqdsim,serial=1");
}

TEST(KeyNames, UnknownOnesListTheKeys) {
  const json keys = {
      {"gain", {{"value", 1}}}, {"gains", {{"value", json::object()}}}, {"design.type", {{"value", "x"}}}};
  for (const char* known : {"gain", "gains", "gains.LNA", "design", "design.type"})
    EXPECT_NO_THROW(require_key(keys, "source", known)) << known;
  for (const char* unknown : {"gian", "gain.x", "design.typ", ""})
    EXPECT_THROW(require_key(keys, "source", unknown), SetupError) << unknown;
  try {
    require_key(keys, "source", "gian");
  } catch (const SetupError& e) {
    EXPECT_STREQ(e.what(), "source has no key 'gian' (did you mean 'gain'?); it has: design.type, gain, gains");
  }
}

}  // namespace
}  // namespace iqd
