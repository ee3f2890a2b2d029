// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "tests/support/engine_rig.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

std::unique_ptr<Pipeline> make(const std::string& text, Problems& problems) {
  const Document document = parse_document(text, "x.yaml", problems);
  Spec spec = read_spec(document, test_catalogue(), problems);
  EXPECT_TRUE(problems.empty()) << problems.front().text();
  return std::make_unique<Pipeline>(std::move(spec.pipelines.at(0)), test_catalogue(), problems);
}

constexpr const char* kFile = R"(name: lab
source: {tape: {rate: 1 MS/s}}
block: 64
lanes: 2
backend: cpu
stages:
  - window: {past: 3}
publish:
  - {port: window, topic: a, bind: x}
sinks:
  - {port: source, drain: {path: there}}
)";

TEST(Pipeline, RunsToItsEnd) {
  Theatre theatre;
  theatre.scripts = {{{{.samples = 6400}}}};
  Problems problems;
  const auto pipeline = make(kFile, problems);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(pipeline->status().state, SourceState::opening);
  EXPECT_EQ(pipeline->summary(),
            "lab: tape at 1 MS/s, 1 channel(s), blocks of 64, 2 lane(s) on cpu (as configured), 32 result slots");
  pipeline->start();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  const PipelineStatus s = pipeline->status();
  EXPECT_EQ(s.name, "lab");
  EXPECT_EQ(s.state, SourceState::ended);
  EXPECT_EQ(s.received, 6400u);
  EXPECT_EQ(s.published, 6400u);
  EXPECT_EQ(s.in_flight, 0u);
  EXPECT_EQ(s.blocks, 100u);
  ASSERT_EQ(s.ports.size(), 2u);
  EXPECT_EQ(s.ports[0].port, "window.out");
  EXPECT_EQ(s.ports[0].messages, 100u);
  EXPECT_EQ(s.ports[0].bytes, 100u * 64 * sizeof(Word));
  EXPECT_EQ(s.ports[1].messages, 100u);
  EXPECT_EQ(theatre.sunk, 100);
  EXPECT_EQ(theatre.records.at(0).sent.size(), 100u);
  EXPECT_EQ(pipeline->failure(), "");
}

TEST(Pipeline, StatusIsConservedAtEveryLook) {
  Theatre theatre;
  Script script;
  for (int i = 0; i < 200'000; ++i) script.steps.push_back({.samples = 50 + i % 40});
  script.ends = false;
  theatre.scripts = {std::move(script)};
  Problems problems;
  const auto pipeline = make(kFile, problems);
  pipeline->start();
  for (int i = 0; i < 10'000; ++i) {
    const PipelineStatus s = pipeline->status();
    std::uint64_t left = s.published + s.in_flight;
    for (const std::uint64_t d : s.dropped) left += d;
    ASSERT_EQ(left, s.received);
    ASSERT_LT(s.in_flight, std::uint64_t{1} << 40) << "negative";
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_GT(pipeline->status().published, 0u);
  pipeline->stop();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  EXPECT_EQ(pipeline->status().in_flight, 0u);
}

TEST(Pipeline, DeviceThatGivesAnotherRateIsPlannedFor) {
  Theatre theatre;
  Script script{{{.samples = 64}}};
  script.rate_hz = 2e6;
  theatre.scripts = {script};
  Problems problems;
  const auto pipeline = make(kFile, problems);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(pipeline->status().rate_hz, 2e6);
  pipeline->visit_plan([](const Plan& plan) { EXPECT_EQ(plan.outputs[0].format.rate_hz, 2e6); });
}

TEST(Pipeline, WhatCannotBeOpenedThrows) {
  Theatre theatre;
  Problems problems;
  try {
    make(kFile, problems);
    FAIL() << "there is no device";
  } catch (const SetupError& e) {
    EXPECT_STREQ(e.what(), "no such device");
  }
}

TEST(Pipeline, AShareWithoutAGpuIsAProblem) {
  std::string why;
  if (count_cuda_devices(why) > 0) GTEST_SKIP() << "there is a GPU to share";
  Theatre theatre;
  Problems problems;
  const auto pipeline = make("source: {tape: {}}\nbackend: auto\ngpu: {share: 16 SM}\n", problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].text(), "x.yaml:3:7 gpu.share: there is no GPU to share: " + why);
}

TEST(Pipeline, MayBeThrownAwayAtAnyTime) {
  for (int i = 0; i < 20; ++i) {
    Theatre theatre;
    theatre.scripts = {{{{.samples = 1ll << 40}}}};
    Problems problems;
    const auto pipeline = make(kFile, problems);
    if (i == 0) continue;
    pipeline->start();
    std::this_thread::sleep_for(std::chrono::microseconds(100 * i));
  }
}

TEST(Pipeline, HangIsNoticed) {
  Theatre theatre;
  theatre.scripts = {{{{.samples = 64}, {.what = Step::Do::hang}, {.samples = 64}}}};
  Problems problems;
  const auto pipeline = make(std::string(kFile) + "realtime: {hang: 0.5}\n", problems);
  ASSERT_TRUE(problems.empty());
  pipeline->start();
  EXPECT_EQ(pipeline->hung(), "");
  EXPECT_TRUE(Rig::eventually([&] { return pipeline->hung() == "a call into the radio's driver does not return"; }));
  theatre.view->released = true;
  theatre.view->bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  EXPECT_EQ(pipeline->hung(), "");
  EXPECT_EQ(pipeline->status().published, 128u);
}

TEST(Pipeline, FailureIsTold) {
  Theatre theatre;
  theatre.scripts = {{{{.samples = 64}, {.what = Step::Do::raise}}}};
  Problems problems;
  const auto pipeline = make(kFile, problems);
  pipeline->start();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  EXPECT_EQ(pipeline->failure(), "lab: the source failed and cannot be opened again");
  EXPECT_EQ(pipeline->status().published, 64u);
}

}  // namespace
}  // namespace iqd::testing
