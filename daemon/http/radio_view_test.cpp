// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/radio_view.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"

namespace iqd {
namespace {

std::vector<OpenRadio> two_radios() {
  OpenRadio array{"uhd", "addr0=a,addr1=b", {{"product", "n310"}, {"serial", "7, 8"}, {"mpm", "4.3"}}};
  array.readings = {{"reference", "board 0", 1, true},
                    {"reference", "board 1", 0, true},
                    {"temperature", "board 0", 41.5, false},
                    {"rssi", "rx 0", std::numeric_limits<double>::quiet_NaN(), false}};
  array.read_ns = steady_ns() - 3'000'000'000;
  return {array, {"soapy", "driver=x", {}}};
}

/// `name{label=value,…}` of every metric, without driver and args.
std::map<std::string, double> told(const std::vector<OpenRadio>& radios) {
  std::map<std::string, double> all;
  for (const auto& family : radio_metrics(radios))
    for (const auto& metric : family.metric) {
      std::string text = family.name;
      for (const auto& label : metric.label) text += " " + label.value;
      EXPECT_TRUE(all.emplace(text, metric.gauge.value).second) << text << " twice";
    }
  return all;
}

TEST(RadioView, MetricsHaveWhatIsKnown) {
  const std::map<std::string, double> wanted{{"iqd_radio_info uhd addr0=a,addr1=b n310 7, 8  ", 1},
                                             {"iqd_radio_info soapy driver=x    ", 1},
                                             {"iqd_radio_lock uhd addr0=a,addr1=b reference board 0", 1},
                                             {"iqd_radio_lock uhd addr0=a,addr1=b reference board 1", 0},
                                             {"iqd_radio_reading uhd addr0=a,addr1=b temperature board 0", 41.5}};
  EXPECT_EQ(told(two_radios()), wanted);
}

TEST(RadioView, WithoutARadioThereIsNoMetricAndTwoAlikeAreOne) {
  EXPECT_TRUE(radio_metrics({}).empty());
  auto radios = two_radios();
  radios.push_back(radios[0]);
  EXPECT_EQ(told(radios), told(two_radios()));
}

TEST(RadioView, StatusTellsLocksFromReadingsAndHowOldTheyAre) {
  const nlohmann::json j = radios_json(two_radios());
  ASSERT_EQ(j.size(), 2u);
  EXPECT_EQ(j[0]["facts"]["mpm"], "4.3");
  EXPECT_EQ(j[0]["locks"][1], (nlohmann::json{{"lock", "reference"}, {"of", "board 1"}, {"locked", false}}));
  EXPECT_EQ(j[0]["readings"].size(), 2u);
  EXPECT_GE(j[0]["age_s"].get<double>(), 3);
  EXPECT_TRUE(j[1]["age_s"].is_null()) << "nothing was read yet";
}

}  // namespace
}  // namespace iqd
