// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/metrics.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "base/open_radios.hpp"
#include "tests/support/built_path.hpp"
#include "tests/support/fake_service.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;

Histogram::Snapshot recorded(const std::vector<std::int64_t>& durations) {
  const auto histogram = std::make_unique<Histogram>();
  for (const std::int64_t ns : durations) histogram->record(ns);
  return histogram->snapshot();
}

std::uint64_t at_most(const std::vector<std::int64_t>& durations, double seconds) {
  return static_cast<std::uint64_t>(std::count_if(
      durations.begin(), durations.end(), [&](std::int64_t ns) { return static_cast<double>(ns) / 1e9 <= seconds; }));
}

TEST(Buckets, CountExactlyWhatIsNotLonger) {
  std::vector<std::int64_t> durations{0, 1, 7, 8};
  for (int octave = 3; octave < 33; ++octave)
    for (const std::int64_t by : {-2, -1, 0, 1}) durations.push_back((std::int64_t{1} << octave) + by);
  std::mt19937 random(1);
  std::lognormal_distribution<double> any(12, 4);
  for (int i = 0; i < 20000; ++i) durations.push_back(static_cast<std::int64_t>(any(random)));
  const auto h = buckets_of(recorded(durations));
  EXPECT_EQ(h.sample_count, durations.size());
  ASSERT_EQ(h.bucket.size(), 19u);
  EXPECT_DOUBLE_EQ(h.bucket.front().upper_bound, 2047e-9);
  EXPECT_DOUBLE_EQ(h.bucket.back().upper_bound, 0.536870911);
  for (const auto& bucket : h.bucket)
    EXPECT_EQ(bucket.cumulative_count, at_most(durations, bucket.upper_bound)) << bucket.upper_bound;
  double sum = 0;
  for (const std::int64_t ns : durations) sum += static_cast<double>(ns) / 1e9;
  EXPECT_NEAR(h.sample_sum, sum, 1e-6 * sum);
}

TEST(Buckets, OfNothing) {
  const auto h = buckets_of({});
  EXPECT_EQ(h.sample_count, 0u);
  for (const auto& bucket : h.bucket) EXPECT_EQ(bucket.cumulative_count, 0u);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// With other hosts, and as one of them.
void add_pool(testing::FakeService& service) {
  PoolStatus& pool = service.status[0].pool.emplace();
  pool.connected = true;
  pool.workers = 3;
  pool.waiting = pool.idle_lanes = 0;
  pool.done = 12;
  pool.lost = {1, 2, 3, 4, 5};
  pool.stored = 6;
  pool.round_trip = recorded({3'000'000});
  service.worker = WorkStatus{"w1", 4, 2, {{"band", "nats://n1", "", 7, 8, 9, 10}}};
}

TEST(Metrics, EachLineIsWellFormedAndNoSeriesComesTwice) {
  testing::FakeService service;
  add_pool(service);
  service.status.push_back(service.status[0]);
  service.status[1].name = "odd \"name\"\\ \n";
  service.status[1].steps.push_back(service.status[1].steps[0]);
  service.status[1].endpoints.push_back(service.status[1].endpoints[0]);
  service.status[0].steps[0].time = recorded({5, 5000, 5'000'000, 5'000'000'000});
  const std::regex sample(
      R"(([a-z_]+)(\{[a-z_]+="([^"\\]|\\["\\n])*"(,[a-z_]+="([^"\\]|\\["\\n])*")*\})? (-?[0-9.]+(e[-+][0-9]+)?))");
  const std::regex comment(R"(# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram)))");
  std::set<std::string> series;
  for (const std::string& line : lines_of(metrics_text(service))) {
    EXPECT_TRUE(std::regex_match(line, line.starts_with('#') ? comment : sample)) << line;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' ')) + (line.starts_with('#') ? line : "")).second) << line;
  }
  EXPECT_GT(series.size(), 100u);
}

TEST(Metrics, AreNamedAsPrometheusWantsIt) {
  const testing::FakeService service;
  const live::LiveHub viewers;
  std::set<std::string> names;
  for (const auto& family : collect_metrics(service, &viewers)) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name << " twice";
    EXPECT_EQ(family.name.ends_with("_total"), family.type == prometheus::MetricType::Counter) << family.name;
    EXPECT_TRUE(family.name.starts_with("iqd_") || family.name.starts_with("process_")) << family.name;
    EXPECT_TRUE(family.help.ends_with('.')) << family.name;
  }
}

TEST(Metrics, ShowAPoolAndAWorker) {
  testing::FakeService service;
  add_pool(service);
  const std::string text = metrics_text(service);
  for (const char* line :
       {"iqd_pool_blocks_total{pipeline=\"test\",fate=\"done\"} 12\n",
        "iqd_pool_blocks_total{pipeline=\"test\",fate=\"full\"} 1\n",
        "iqd_pool_blocks_total{pipeline=\"test\",fate=\"lost\"} 4\n",
        "iqd_pool_in_flight{pipeline=\"test\",state=\"stored\"} 6\n", "iqd_pool_workers{pipeline=\"test\"} 3\n",
        "iqd_pool_connected{pipeline=\"test\"} 1\n", "iqd_pool_round_trip_seconds_count{pipeline=\"test\"} 1\n",
        "iqd_work_blocks_total{pool=\"band\",outcome=\"done\"} 7\n",
        "iqd_work_blocks_total{pool=\"band\",outcome=\"failed\"} 10\n", "iqd_work_lanes 4\n",
        "iqd_work_lanes_busy 2\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Metrics, SayWhatTheStatusSays) {
  testing::FakeService service;
  PipelineStatus& s = service.status[0];
  s.received = 1'000'000'000'000'123;
  s.dropped = {1, 2, 3, 4, 5};
  s.lanes_busy = 3;
  s.state = SourceState::stalled;
  s.latency = recorded({1500, 3000});
  s.tallies = {{{"search", "found"}, 7}, {{"meter", "errors", "kind", "zf"}, 8}};
  s.levels = {{{"meter", "lo"}, -27.5}, {{"meter", "lo", "channel", "1"}, -30}, {{"meter", "im3_low"}, std::nan("")}};
  s.channels.push_back({-std::numeric_limits<double>::infinity(), std::nan(""), 0, 0, false});
  service.unready = {"stalled"};
  const std::string text = metrics_text(service);
  for (const char* line :
       {"iqd_samples_received_total{pipeline=\"test\"} 1000000000000123\n",
        "iqd_samples_dropped_total{pipeline=\"test\",reason=\"slots\"} 2\n",
        "iqd_lanes_busy{pipeline=\"test\"} 3\n",
        "iqd_gpu_share_processors{pipeline=\"test\"} 16\n",
        "iqd_source_state{pipeline=\"test\",radio=\"radio\",state=\"stalled\"} 1\n",
        "iqd_source_state{pipeline=\"test\",radio=\"radio\",state=\"streaming\"} 0\n",
        "iqd_ready 0\n",
        "iqd_up 1\n",
        "iqd_stage_events_total{pipeline=\"test\",stage=\"search\",event=\"found\"} 7\n",
        "iqd_stage_events_total{pipeline=\"test\",stage=\"meter\",event=\"errors\",kind=\"zf\"} 8\n",
        "iqd_stage_level{pipeline=\"test\",stage=\"meter\",level=\"lo\"} -27.5\n",
        "iqd_stage_level{pipeline=\"test\",stage=\"meter\",level=\"lo\",channel=\"1\"} -30\n",
        "iqd_radio_late_total{pipeline=\"test\",radio=\"radio\"} 6\n",
        "iqd_radio_frequency_hertz{pipeline=\"test\",radio=\"radio\"} 433000000\n",
        "iqd_radio_time_ahead_seconds{pipeline=\"test\",radio=\"radio\"} -0.0125\n",
        "iqd_radio_clock_drift_ratio{pipeline=\"test\",radio=\"radio\"} 2.5e-06\n",
        "iqd_radio_rms_dbfs{pipeline=\"test\",radio=\"radio\",channel=\"0\"} -20.5\n",
        "iqd_radio_clipped_samples_total{pipeline=\"test\",radio=\"radio\",channel=\"0\"} 9\n",
        "iqd_radio_clipped_samples_total{pipeline=\"test\",radio=\"radio\",channel=\"1\"} 0\n",
        "iqd_transmit_late_total{pipeline=\"test\",port=\"window.out\",topic=\"a\"} 3\n",
        "iqd_endpoint_handshake_failures_total{pipeline=\"test\",endpoint=\"tcp://127.0.0.1:5555\"} 5\n",
        "iqd_endpoint_cut_off_total{pipeline=\"test\",endpoint=\"tcp://127.0.0.1:5555\"} 6\n",
        "iqd_block_latency_seconds_bucket{pipeline=\"test\",le=\"2.047e-06\"} 1\n",
        "iqd_block_latency_seconds_bucket{pipeline=\"test\",le=\"4.095e-06\"} 2\n",
        "iqd_block_latency_seconds_bucket{pipeline=\"test\",le=\"0.536870911\"} 2\n",
        "iqd_block_latency_seconds_bucket{pipeline=\"test\",le=\"+Inf\"} 2\n",
        "iqd_block_latency_seconds_count{pipeline=\"test\"} 2\n",
        "iqd_block_latency_seconds_sum{pipeline=\"test\"} 4.5e-06\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("im3_low"))) << "unmeasured values are not shown";
  EXPECT_THAT(text, Not(HasSubstr("dbfs{pipeline=\"test\",radio=\"radio\",channel=\"1\"}"))) << "nor silence";
}

TEST(Metrics, OfThisProcess) {
  const testing::FakeService service;
  std::set<std::string> told;
  for (const auto& family : collect_metrics(service))
    if (family.name.starts_with("process_") && family.metric[0].gauge.value + family.metric[0].counter.value > 0)
      told.insert(family.name);
  for (const char* name : {"process_resident_memory_bytes", "process_open_fds", "process_threads",
                           "process_start_time_seconds", "process_max_fds"})
    EXPECT_TRUE(told.contains(name)) << name;
}

std::string type_name(prometheus::MetricType type) {
  return type == prometheus::MetricType::Counter ? "counter"
         : type == prometheus::MetricType::Gauge ? "gauge"
                                                 : "histogram";
}

/// docs/metrics.md has exactly one row for each metric.
TEST(Metrics, AreThoseOfThePage) {
  testing::FakeService service;
  add_pool(service);
  service.status[0].tallies = {{{"meter", "errors", "kind", "zf"}, 8}};
  service.status[0].levels = {{{"meter", "lo", "channel", "1"}, -30}};
  const RadioOnList radio({"uhd", "a", {}}, [] { return RadioReadings{{"lo", "", 1, true}, {"temperature", "", 40}}; });
  while (open_radios()[0].readings.empty()) std::this_thread::yield();
  const live::LiveHub viewers;
  std::set<std::string> wanted;
  std::string table;
  for (const auto& family : collect_metrics(service, &viewers)) {
    std::string labels;
    for (const auto& label : family.metric[0].label)
      labels += fmt::format("{}`{}`", labels.empty() ? "" : " ", label.name);
    const std::string row =
        fmt::format("| `{}` | {} | {} | {} |", family.name, type_name(family.type), labels, family.help);
    wanted.insert(row);
    table += row + "\n";
  }
  const std::string page = built_path(IQD_SOURCE_FOLDER, "IQD_SOURCE_FOLDER") + "/docs/metrics.md";
  std::ifstream file(page);
  if (!file && std::getenv("IQD_SOURCE_FOLDER")) GTEST_SKIP() << "NOT COMPARED: a bundle has no " << page;
  ASSERT_TRUE(file) << page;
  std::set<std::string> found;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `")) found.insert(line);
  EXPECT_EQ(found, wanted) << "the table of " << page << " has to be:\n" << table;
}

}  // namespace
}  // namespace iqd
