// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/values.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "config/differences.hpp"
#include "config/reader.hpp"
#include "config/test_options.hpp"

namespace iqd {
namespace {

using nlohmann::json;

std::map<std::string, KeyCopy> copied(TestOptions& options) {
  std::map<std::string, KeyCopy> all;
  for (KeyCopy& copy : values_of([&](FieldVisitor& v) { options.fields(v); })) all.emplace(copy.key, copy);
  return all;
}

TEST(Values, OfEveryKind) {
  TestOptions options;
  options.rate = 20.625e6;
  options.weight = {0.5, -2};
  options.taps = {{1, 0}, {0, 3}};
  options.gains = {1.5, 3};
  options.args = {{"driver", "x"}, {"serial", "7"}};
  options.method = Method::fft;
  const auto all = copied(options);
  const auto json_of = [&](const char* key) { return value_json(all.at(key).value); };
  const auto text_of = [&](const char* key) { return value_text(all.at(key).value, all.at(key).info.unit); };
  EXPECT_EQ(json_of("refine"), json(true));
  EXPECT_EQ(json_of("rate").dump(), "20625000") << "no fraction";
  EXPECT_EQ(text_of("rate"), "20.625 MS/s");
  EXPECT_EQ(json_of("wait"), json(250e-6));
  EXPECT_EQ(json_of("weight"), json({0.5, -2}));
  EXPECT_EQ(json_of("clip"), json());
  EXPECT_EQ(text_of("clip"), "none");
  EXPECT_EQ(json_of("taps"), json::array({1, json::array({0, 3})}));
  EXPECT_EQ(text_of("gains"), "[1.5 dB, 3 dB]");
  EXPECT_EQ(json_of("args"), json({{"driver", "x"}, {"serial", "7"}}));
  EXPECT_EQ(text_of("args"), "{driver: x, serial: 7}");
  EXPECT_EQ(json_of("method"), json("fft"));
  EXPECT_EQ(all.at("method").choices.size(), 3u);
  EXPECT_TRUE(all.at("cma").is_group);
  EXPECT_EQ(json_of("cma.iterations"), json(12));
  EXPECT_TRUE(all.at("wait").info.live);
}

TEST(Values, NumbersWithoutAnExactIntegerStayAsTheyAre) {
  EXPECT_EQ(number_json(1e300), json(1e300));
  EXPECT_EQ(number_json(-0.5), json(-0.5));
  EXPECT_EQ(number_json(std::numeric_limits<double>::quiet_NaN()).dump(), "null");
  EXPECT_EQ(number_json(std::numeric_limits<double>::infinity()).dump(), "null");
}

/// What is shown can be set again.
TEST(Values, AreReadBackAsTheSame) {
  TestOptions options, again;
  options.weight = again.weight = {};
  options.scale = 1.0 / 3;
  options.clip = 0.7;
  options.weight = {0.1, -1e-9};
  options.taps = {{1, 0}, {0.25, 3}};
  options.channels = {3, 1};
  options.args = {{"driver", "x"}};
  options.method = Method::direct;
  options.step = 0.125;
  json keys = json::object();
  for (const auto& [name, copy] : copied(options))
    if (!copy.is_group) keys[name] = value_json(copy.value);
  Problems problems;
  const Node node = with_groups(parse_document(keys.dump(), "keys", problems).root);
  read_fields(
      node, [&](FieldVisitor& v) { again.fields(v); }, problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  for (const Difference& d :
       differences([&](FieldVisitor& v) { options.fields(v); }, [&](FieldVisitor& v) { again.fields(v); }))
    EXPECT_EQ(d.key, "cma") << "given now";
}

}  // namespace
}  // namespace iqd
