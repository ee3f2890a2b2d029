// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/keys_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/fake_service.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class KeysViewed : public ::testing::Test {
 protected:
  json keys_of(std::string_view part, std::string_view pipeline = "") {
    const HttpAnswer answer = keys_answer(service_, pipeline, part);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body)["keys"];
  }
  Override request(const std::string& stage, const std::string& text) {
    return {"test", stage, parse_document(text, "request", service_.problems).root};
  }
  testing::FakeService service_;
};

TEST_F(KeysViewed, HaveValueUnitRangeDefaultAndOrigin) {
  service_.origins.start("test", 1'700'000'000'500'000'000);
  const json keys = keys_of("source");
  EXPECT_EQ(keys["rate"], json({{"value", 1000000},
                                {"unit", "S/s"},
                                {"range", {1, nullptr}},
                                {"default", keys["rate"]["default"]},
                                {"live", false},
                                {"by", "file"},
                                {"since", 1'700'000'000.5}}));
  EXPECT_EQ(keys["gain"]["live"], true);
  EXPECT_EQ(keys["channels"]["range"], json({1, 8}));
  service_.origins.set(request("source", "{gain: 1}"), SetBy::patch, 1'800'000'000'000'000'000);
  EXPECT_EQ(keys_of("source", "test")["gain"]["by"], "patch");
  EXPECT_EQ(keys_of("source")["gain"]["since"], 1'800'000'000.0);
}

TEST_F(KeysViewed, OfStagesAndOutlets) {
  EXPECT_EQ(keys_of("window")["past"]["value"], 100);
  EXPECT_EQ(keys_of("publish.0")["port"]["value"], "window");
  EXPECT_EQ(keys_of("publish[0]"), keys_of("publish.0"));
  EXPECT_FALSE(keys_of("publish.0")["port"].contains("default")) << "it is required";
  const json list = json::parse(parts_answer(service_, "").body)["stages"];
  std::vector<std::string> names;
  for (const json& part : list)
    names.push_back(part["name"].get<std::string>() + " " + part["kind"].get<std::string>());
  EXPECT_THAT(names, ::testing::ElementsAre("source source", "window stage", "publish.0 publish"));
  EXPECT_EQ(list[0]["type"], "radio");
  EXPECT_EQ(list, json::parse(parts_answer(service_, "test").body)["stages"]);
}

TEST_F(KeysViewed, OfAnOpenRadioAreTheDevicesOwn) {
  service_.device = {{"gain", 30.0, {{0, 60, 0.5}}},
                     {"rate", 1e6, {{5e5, 5e5, 0}, {1e6, 1e6, 0}, {2e6, 2e6, 0}}},
                     {"args", std::string("RX2"), {}, {"RX2", "TX/RX"}},
                     {"channels", {}, {{0, 0, 0}}},
                     {"gains.LNA", 12.0, {{0, 30, 0}, {40, 45, 0}}}};
  const json keys = keys_of("source");
  EXPECT_EQ(keys["gain"]["value"], 30);
  EXPECT_EQ(keys["gain"]["range"], json({0, 60}));
  EXPECT_EQ(keys["gain"]["step"], 0.5);
  EXPECT_EQ(keys["rate"]["choices"], json({500000, 1000000, 2000000}));
  EXPECT_EQ(keys["rate"]["range"], json({500000, 2000000}));
  EXPECT_FALSE(keys["rate"].contains("asked"));
  EXPECT_EQ(keys["args"]["value"], "RX2");
  EXPECT_EQ(keys["args"]["choices"], json({"RX2", "TX/RX"}));
  EXPECT_EQ(keys["channels"]["range"], json({1, 8})) << "the device does not know it";
  EXPECT_EQ(keys["gains.LNA"]["value"], 12);
  EXPECT_EQ(keys["gains.LNA"]["range"], json({0, 45}));
  EXPECT_EQ(keys["gains.LNA"]["ranges"], json::array({{0, 30}, {40, 45}}));
  service_.device = {{"rate", 999'999.5}};
  EXPECT_EQ(keys_of("source")["rate"]["value"], 999'999.5);
  EXPECT_EQ(keys_of("source")["rate"]["asked"], 1000000) << "what the file asks for";
}

TEST_F(KeysViewed, WhatTheSourceHasNoKeyForIsLeftOut) {
  service_.device = {{"frequency", 915e6}, {"gain", 3.0}};
  EXPECT_FALSE(keys_of("source").contains("frequency"));
  EXPECT_EQ(keys_of("source")["gain"]["value"], 3);
}

TEST_F(KeysViewed, UnknownNamesListTheKnownOnes) {
  const HttpAnswer stage = keys_answer(service_, "", "windw");
  EXPECT_EQ(stage.status, 404);
  EXPECT_THAT(stage.body, HasSubstr("test has no stage 'windw' (did you mean 'window'?); there are: source, window"));
  const HttpAnswer pipeline = keys_answer(service_, "other", "window");
  EXPECT_EQ(pipeline.status, 404);
  EXPECT_THAT(pipeline.body, HasSubstr("there is no pipeline 'other'; there are: test"));
  EXPECT_EQ(parts_answer(service_, "other").status, 404);
  service_.status.push_back(service_.status.front());
  service_.status.back().name = "second";
  EXPECT_THAT(keys_answer(service_, "", "window").body, HasSubstr("name one of test, second"));
  EXPECT_EQ(keys_answer(service_, "test", "window").status, 200);
}

}  // namespace
}  // namespace iqd
