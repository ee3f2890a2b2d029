// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// On a GPU: graphs that the device launches, and what must not wait for the kernel that does so.
#include "gpu/scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gpu/compiler.hpp"
#include "gpu/cuda_backend.hpp"
#include "gpu/part.hpp"
#include "gpu/queue.hpp"

namespace iqd::gpu {
namespace {

constexpr const char* kSteps = R"(
extern "C" __global__ void add(unsigned* sum, const unsigned* one) { *sum += *one; }
extern "C" __global__ void note_processor(unsigned* seen, unsigned* sum) {
  unsigned here;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
  const long long began = clock64();
  while (clock64() - began < 20000) {}
  seen[here] = 1;
  if (blockIdx.x == 0 && threadIdx.x == 0) *sum += 1;
}
extern "C" __global__ void touch(unsigned* nowhere) { *nowhere = 1; }
extern "C" __global__ void stay(volatile unsigned* until) { while (*until == 0) {} }
)";

struct Sums {
  unsigned sum = 0;
  unsigned one = 1;
  unsigned until = 0;
  unsigned seen[1024] = {};
};

/// Runs one kernel; each work has its own key.
class Step final : public Work {
 public:
  Step(std::function<void(StreamView)> launch, std::uint64_t key = 1) : launch_(std::move(launch)), key_(key) {}
  void enqueue(StreamView stream, StepClock*) noexcept override { launch_(stream); }
  std::uint64_t capture_key() const noexcept override { return key_; }
  void finished(bool good) noexcept override { mark_done(good); }
  void again() noexcept { mark_pending(); }

 private:
  std::function<void(StreamView)> launch_;
  std::uint64_t key_;
};

QueueOptions resident_options(std::shared_ptr<const DevicePart> part = nullptr) {
  QueueOptions options;
  options.wait = Wait::resident;
  options.part = std::move(part);
  return options;
}

int threads_of_process() {
  int n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++n;
  return n;
}

class Resident : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (count_devices(why) == 0) GTEST_SKIP() << "NOTHING RESIDENT ON A GPU WAS TESTED: " << why;
    backend_ = make_backend(0);
    device_ = std::make_unique<Device>(0);
    module_ = std::make_unique<CompiledModule>(compile(kSteps, "steps.cu"));
    for (const char* name : {"add", "note_processor", "touch", "stay"}) module_->kernel(name);
    sums_ = std::make_unique<Pinned<Sums>>();
  }

  Sums& sums() const { return *sums_->get(); }
  auto add() const {
    return [kernel = module_->kernel("add"), s = &sums()](StreamView stream) {
      check(kernel.launch(1, 1, 0, stream, &s->sum, &s->one), "add");
    };
  }
  auto note() const {
    return [this, kernel = module_->kernel("note_processor"), s = &sums()](StreamView stream) {
      check(kernel.launch(4 * static_cast<unsigned>(device_->properties().multiProcessorCount), 128, 0, stream,
                          &s->seen[0], &s->sum),
            "note");
    };
  }
  static bool run(CudaQueue& queue, Step& step) {
    step.again();
    queue.submit(step);
    queue.wait(step);
    return step.good();
  }
  /// Until the device has launched it.
  static bool run_until_scheduled(CudaQueue& queue, Step& step) {
    for (const std::int64_t until = steady_ns() + 2'000'000'000; steady_ns() < until;) {
      if (!run(queue, step)) return false;
      if (queue.scheduled()) return true;
    }
    return false;
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<CompiledModule> module_;
  std::unique_ptr<Pinned<Sums>> sums_;
};

/// The scheduler launches itself again after 118 of them.
TEST_F(Resident, RunsEachWorkOnce) {
  CudaQueue queue(*device_, resident_options());
  Step step(add());
  queue.rehearse(step);
  EXPECT_EQ(queue.resident(), 1u);
  ASSERT_TRUE(run_until_scheduled(queue, step)) << device_->failure();
  int scheduled = 0;
  for (unsigned i = 0; i < 5000; ++i) {
    const unsigned before = sums().sum = 7 * i;
    sums().one = i;
    ASSERT_TRUE(run(queue, step)) << device_->failure();
    ASSERT_EQ(sums().sum, before + i) << "of what the host wrote before";
    scheduled += queue.scheduled() ? 1 : 0;
  }
  EXPECT_EQ(scheduled, 5000);
}

TEST_F(Resident, WorksThatWereNotRehearsedRunInTheirTurn) {
  CudaQueue queue(*device_, resident_options());
  Step known(add()), unknown(add(), 2), never(add(), 0);
  queue.rehearse(known);
  ASSERT_TRUE(run_until_scheduled(queue, known));
  sums().sum = 0;
  for (int i = 0; i < 300; ++i)
    for (Step* const step : {&known, &unknown, &known, &never}) ASSERT_TRUE(run(queue, *step));
  EXPECT_EQ(sums().sum, 1200u);
}

/// What is put on the stream before a work runs before it.
TEST_F(Resident, WhatHasBegunRunsFirst) {
  CudaQueue queue(*device_, resident_options());
  Step step(add());
  queue.rehearse(step);
  ASSERT_TRUE(run_until_scheduled(queue, step));
  sums().sum = 0;
  for (unsigned i = 0; i < 200; ++i) {
    add()(queue.begin());
    ASSERT_TRUE(run(queue, step));
    EXPECT_FALSE(queue.scheduled());
    ASSERT_TRUE(run(queue, step));
    ASSERT_EQ(sums().sum, 3 * (i + 1));
  }
}

TEST_F(Resident, SeveralQueuesAtOnce) {
  std::vector<std::unique_ptr<CudaQueue>> queues;
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<std::unique_ptr<Pinned<Sums>>> own;
  for (int q = 0; q < 8; ++q) {
    own.push_back(std::make_unique<Pinned<Sums>>());
    queues.push_back(std::make_unique<CudaQueue>(*device_, resident_options()));
    steps.push_back(std::make_unique<Step>([kernel = module_->kernel("add"), s = own.back()->get()](StreamView stream) {
      check(kernel.launch(1, 1, 0, stream, &s->sum, &s->one), "add");
    }));
    queues.back()->rehearse(*steps.back());
  }
  for (std::size_t q = 0; q < queues.size(); ++q) ASSERT_TRUE(run_until_scheduled(*queues[q], *steps[q]));
  for (auto& s : own) (*s)->sum = 0;
  for (int i = 0; i < 500; ++i) {
    for (std::size_t q = 0; q < queues.size(); ++q) {
      steps[q]->again();
      queues[q]->submit(*steps[q]);
    }
    for (std::size_t q = 0; q < queues.size(); ++q) {
      queues[q]->wait(*steps[q]);
      ASSERT_TRUE(steps[q]->good()) << device_->failure();
    }
  }
  for (auto& s : own) EXPECT_EQ((*s)->sum, 500u);
}

TEST_F(Resident, StaysInItsPart) {
  const DeviceShare share{"a", {{"a", {.processors = 16}}}};
  std::shared_ptr<const DevicePart> part;
  try {
    part = take_part(*device_, share);
  } catch (const SetupError& e) {
    GTEST_SKIP() << "NOTHING RESIDENT IN A PART WAS TESTED: " << e.what();
  }
  CudaQueue queue(*device_, resident_options(part));
  Step step(note());
  queue.rehearse(step);
  ASSERT_TRUE(run_until_scheduled(queue, step)) << device_->failure();
  std::fill(std::begin(sums().seen), std::end(sums().seen), 0u);
  ASSERT_TRUE(run(queue, step));
  ASSERT_TRUE(queue.scheduled());
  EXPECT_EQ(std::count(std::begin(sums().seen), std::end(sums().seen), 1u), part->processors());
}

/// Calls that wait for the device to have nothing to do come back, though a kernel is resident, and works are still done.
TEST_F(Resident, NothingWaitsForIt) {
  CudaQueue queue(*device_, resident_options());
  Step step(add());
  queue.rehearse(step);
  ASSERT_TRUE(run_until_scheduled(queue, step));
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) {
      const Buffer on_device = backend_->allocate(1 << 20), shared = backend_->allocate_shared(1 << 20);
      const CompiledModule module(compile(kSteps, "steps.cu"));
      module.kernel("add");
      backend_->upload(on_device.data(), {shared.data(), shared.size()});
      backend_->wait_for({});
      CudaQueue another(*device_, resident_options());
      Step once(add(), 7);
      another.rehearse(once);
    }
    over = true;
  });
  sums().sum = 0;
  unsigned works = 0;
  for (const std::int64_t until = steady_ns() + 60'000'000'000; !over && steady_ns() < until; ++works)
    ASSERT_TRUE(run(queue, step)) << device_->failure();
  EXPECT_TRUE(over);
  other.join();
  EXPECT_EQ(sums().sum, works);
  EXPECT_TRUE(run_until_scheduled(queue, step)) << "it is resident again";
}

TEST_F(Resident, QuietEndsItAndLaunchesFromTheHost) {
  CudaQueue queue(*device_, resident_options());
  Step step(add());
  queue.rehearse(step);
  ASSERT_TRUE(run_until_scheduled(queue, step));
  {
    const Quiet quiet;
    const Quiet within;
    ASSERT_TRUE(run(queue, step));
    EXPECT_FALSE(queue.scheduled());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_TRUE(run_until_scheduled(queue, step));
}

/// As when a pipeline is reloaded from `spin` to `resident` and back while the old engine still runs.
TEST_F(Resident, ThousandChangesCostNothing) {
  const auto free = [] {
    std::size_t bytes = 0, total = 0;
    check(cudaMemGetInfo(&bytes, &total), "cudaMemGetInfo");
    return bytes;
  };
  std::unique_ptr<CudaQueue> old;
  const auto change = [&](int n) {
    for (int i = 0; i < n; ++i) {
      QueueOptions options = resident_options();
      options.wait = i % 2 ? Wait::resident : Wait::spin;
      auto next = std::make_unique<CudaQueue>(*device_, options);
      Step step(add());
      next->rehearse(step);
      if (old) {
        ASSERT_TRUE(run(*old, step)) << device_->failure();
      }
      ASSERT_TRUE(run(*next, step)) << device_->failure();
      if (i % 50 == 1) {
        ASSERT_TRUE(run_until_scheduled(*next, step)) << "change " << i;
      }
      old = std::move(next);
    }
  };
  change(20);
  const std::size_t before = free();
  const int threads = threads_of_process();
  change(1000);
  EXPECT_EQ(free(), before);
  EXPECT_EQ(threads_of_process(), threads);
}

/// In a process of its own, since a fault ends all use of the device.
void run_fault(Device& device, Step step, std::unique_ptr<CudaQueue> queue, Step sound, const std::string& expected) {
  queue->rehearse(sound);
  queue->rehearse(step);
  bool resident = false;
  for (int i = 0; i < 1'000'000 && !resident; ++i) {
    sound.again();
    queue->submit(sound);
    queue->wait(sound);
    resident = queue->scheduled();
  }
  step.again();
  queue->submit(step);
  const bool launched = queue->scheduled();
  queue->wait(step);
  const bool named = device.failure().find(expected) != std::string::npos;
  if (!named) std::fprintf(stderr, "%s\n", device.failure().c_str());
  const Quiet quiet;
  queue.reset();
  std::_Exit(launched && !step.good() && named ? 0 : 1);
}

TEST_F(Resident, FaultsInItsGraphsAreFaultsOfTheDevice) {
  EXPECT_EXIT(run_fault(*device_,
                        Step(
                            [kernel = module_->kernel("touch")](StreamView stream) {
                              check(kernel.launch(1, 1, 0, stream, reinterpret_cast<unsigned*>(64)), "touch");
                            },
                            2),
                        std::make_unique<CudaQueue>(*device_, resident_options()), Step(add()), "illegal"),
              ::testing::ExitedWithCode(0), "");
}

TEST_F(Resident, GraphsThatHangAreNoticed) {
  EXPECT_EXIT(run_fault(*device_,
                        Step([kernel = module_->kernel("stay"), s = &sums()](
                                 StreamView stream) { check(kernel.launch(1, 1, 0, stream, &s->until), "stay"); },
                             2),
                        std::make_unique<CudaQueue>(*device_, resident_options()), Step(add()), "within 10 s"),
              ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace iqd::gpu
