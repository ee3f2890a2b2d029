// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Processes of a stage: calls, failures, and what is left of them.
#include "pipeline/stages/math/python/crew.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "pipeline/stages/math/python/keeper.hpp"
#include "pipeline/stages/math/python/worker_script.hpp"

namespace iqd::python {
namespace {

constexpr std::int64_t kSamples = 100;
const std::string kSetup =
    R"({"in": [{"dtype": "<f4", "before": [1], "after": []}], "out": {"dtype": "<f4", "before": [1], "after": [],
       "axis": "given", "text": "f32 [n]"}, "params": {}, "rate": 1, "frequency": 0, "channels": ["0"]})";

Job job_of(const std::string& text) {
  Job job;
  job.program.name = "test.py";
  job.program.folder = "/";
  job.program.text = text;
  job.function = "f";
  job.interpreter = "/usr/bin/python3";
  job.script = find_worker_script();
  job.label = "test";
  job.memory = std::size_t{1} << 30;
  job.limit_s = 3;
  return job;
}

/// A crew, and a block of the numbers 0, 1, 2 …
struct Rig {
  explicit Rig(const std::string& text, int workers = 1) : crew(with(job_of(text), workers), {kPage, kPage}) {
    const Refusal refusal = crew.wait_until_ready();
    EXPECT_EQ(refusal.what, "");
  }
  static Job with(Job job, int workers) {
    job.workers = workers;
    return job;
  }
  /// Nothing if no process is free.
  std::optional<Ending> call() {
    Crew::Place* const place = crew.take();
    if (!place) return std::nullopt;
    Worker& worker = place->worker();
    id = worker.id();
    std::memcpy(worker.setup(), kSetup.data(), kSetup.size());
    Request& r = worker.request();
    r.setup = 1;
    r.setup_bytes = std::ssize(kSetup);
    r.length[0] = r.most = r.fresh_positions = kSamples;
    r.offset[0] = kInputsAt;
    for (int n = 0; n < kSamples; ++n) reinterpret_cast<float*>(worker.inputs())[n] = static_cast<float>(n);
    std::int64_t count = 0;
    const Ending ending = crew.call(*place, count);
    if (ending == Ending::good)
      result.assign(reinterpret_cast<const float*>(worker.results()),
                    reinterpret_cast<const float*>(worker.results()) + count);
    crew.give_back(*place, ending);
    return ending;
  }

  Crew crew;
  std::vector<float> result;
  pid_t id = 0;  // of the process that was called last
};

TEST(PythonCrew, AProcessAnswers) {
  Rig rig("def f(x, meta): return 2 * x");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(rig.call(), Ending::good);
    ASSERT_EQ(std::ssize(rig.result), kSamples);
    ASSERT_EQ(rig.result[99], 198.0f);
  }
  EXPECT_EQ(rig.crew.take_restarts(), 0);
}

TEST(PythonCrew, ExceptionsAndOtherResultsAreEndings) {
  Rig rig(
      "def f(x, meta):\n  f.n = getattr(f, 'n', 0) + 1\n  return [None, x[:, 1:], x + 1j, x][f.n % 4] if f.n % 5 else "
      "1 / 0");
  std::map<Ending, int> endings;
  for (int i = 0; i < 20; ++i) ++endings[rig.call().value()];
  EXPECT_THAT(endings, ::testing::ElementsAre(::testing::Pair(Ending::good, 4), ::testing::Pair(Ending::raised, 4),
                                              ::testing::Pair(Ending::unfit, 12)));
}

TEST(PythonCrew, AProcessThatHangsIsKilledAndReplaced) {
  Rig rig("import time\ndef f(x, meta):\n  f.n = getattr(f, 'n', 0) + 1\n  if f.n == 3: time.sleep(100)\n  return x");
  EXPECT_EQ(rig.call(), Ending::good);
  EXPECT_EQ(rig.call(), Ending::good);
  const pid_t first = rig.id;
  const std::int64_t began = steady_ns();
  EXPECT_EQ(rig.call(), Ending::late);
  EXPECT_LT(steady_ns() - began, 4'500'000'000);
  EXPECT_EQ(rig.call(), Ending::good);
  EXPECT_NE(rig.id, first);
  EXPECT_NE(::kill(first, 0), 0) << "it still runs";
  EXPECT_EQ(rig.crew.take_restarts(), 1);
  EXPECT_EQ(rig.crew.take_restarts(), 0);
}

TEST(PythonCrew, AKilledProcessIsReplacedWhetherItComputesOrNot) {
  Rig rig("def f(x, meta): return x");
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(rig.call(), Ending::good);
    ::kill(rig.id, SIGKILL);
    const pid_t killed = rig.id;
    std::optional<Ending> ending = rig.call();  // it may not be noticed yet
    if (ending == Ending::died) ending = rig.call();
    for (int waits = 0; !ending && waits < 10; ++waits) ending = rig.call();  // a busy machine starts it slowly
    ASSERT_EQ(ending, Ending::good);
    ASSERT_NE(rig.id, killed);
  }
}

TEST(PythonCrew, SeveralLanesShareSeveralProcesses) {
  Rig rig("import time\ndef f(x, meta):\n  time.sleep(0.1)\n  return x", 3);
  std::atomic<int> good{0};
  const std::int64_t began = steady_ns();
  std::vector<std::thread> lanes;
  for (int l = 0; l < 6; ++l)
    lanes.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        Crew::Place* const place = rig.crew.take();
        if (!place) continue;
        std::memcpy(place->worker().setup(), kSetup.data(), kSetup.size());
        Request& r = place->worker().request();
        r.setup = 1;
        r.setup_bytes = std::ssize(kSetup);
        r.length[0] = r.most = kSamples;
        r.offset[0] = kInputsAt;
        std::int64_t count = 0;
        const Ending ending = rig.crew.call(*place, count);
        good += ending == Ending::good;
        rig.crew.give_back(*place, ending);
      }
    });
  for (std::thread& lane : lanes) lane.join();
  EXPECT_EQ(good, 30);
  EXPECT_LT(steady_ns() - began, 2'300'000'000) << "30 calls of 0.1 s by three processes";
}

/// Each failed before its first answer, so blocks do not wait for the next attempts.
TEST(PythonCrew, AFunctionThatAlwaysCrashesIsGivenARest) {
  Rig rig("import os\ndef f(x, meta): os._exit(1)");
  int calls = 0;
  while (rig.call().has_value() && calls < 20) ++calls;
  EXPECT_GE(calls, 3);
  EXPECT_LT(calls, 20);
  const std::int64_t began = steady_ns();
  EXPECT_EQ(rig.call(), std::nullopt);
  EXPECT_LT(steady_ns() - began, 1'000'000'000);
}

TEST(PythonCrew, ATextThatIsWrongIsRefused) {
  Crew crew(job_of("x = 1\ndef f(x, meta): return )"), {kPage, kPage});
  const Refusal refusal = crew.wait_until_ready();
  EXPECT_EQ(refusal.file, "test.py");
  EXPECT_EQ(refusal.line, 2);
  EXPECT_THAT(refusal.what, ::testing::HasSubstr("SyntaxError"));
  EXPECT_FALSE(crew.can_take({1, 1}));
}

TEST(PythonCrew, LoadingMayNotTakeForever) {
  Job job = job_of("while True: pass");
  job.start_s = 0.4;
  Crew crew(job, {kPage, kPage});
  EXPECT_EQ(crew.wait_until_ready().what, "is not loaded within 0.4 s: its process is killed");
}

TEST(PythonCrew, TheSameJobSharesProcesses) {
  const Job job = job_of("def f(x, meta): return x");
  const auto crew = Keeper::instance().crew_for(job, {kPage, kPage});
  EXPECT_EQ(Keeper::instance().crew_for(job, {100, 100}), crew);
  EXPECT_NE(Keeper::instance().crew_for(job, {2 * kPage, kPage}), crew) << "needs more memory";
  EXPECT_NE(Keeper::instance().crew_for(job_of("def f(x, meta): return 2"), {kPage, kPage}), crew);
}

/// Changed functions leave no descriptor, thread or memory.
TEST(PythonCrew, NothingIsLeft) {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  { Rig rig("def f(x, meta): return x"); }
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // until those of other tests are gone
  const auto files = entries("/proc/self/fd"), threads = entries("/proc/self/task"),
             maps = entries("/proc/self/map_files");
  for (int i = 0; i < 20; ++i) {
    Rig rig(fmt::format("def f(x, meta): return {} * x", i));
    EXPECT_EQ(rig.call(), Ending::good);
  }
  EXPECT_EQ(entries("/proc/self/fd"), files);
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_LE(entries("/proc/self/map_files"), maps + 5);
}

}  // namespace
}  // namespace iqd::python
