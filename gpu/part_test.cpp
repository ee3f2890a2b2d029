// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// On a GPU: kernels run where their part is.
#include "gpu/part.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "gpu/compiler.hpp"
#include "gpu/cuda_backend.hpp"
#include "gpu/queue.hpp"

namespace iqd::gpu {
namespace {

using ::testing::HasSubstr;

/// Each thread block notes its multiprocessor, and stays there long enough for the others to need another one.
constexpr const char* kNote = R"(
extern "C" __global__ void note(unsigned* seen, long long cycles) {
  unsigned here;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(here));
  const long long began = clock64();
  while (clock64() - began < cycles) {}
  seen[here] = 1;
}
)";
constexpr int kMost = 1024;  // more than any device has
constexpr std::int64_t kCycles = 20'000;

using Processors = std::set<int>;

bool are_disjoint(const Processors& a, const Processors& b) {
  return std::ranges::none_of(a, [&](int p) { return b.contains(p); });
}

class Part : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (count_devices(why) == 0) GTEST_SKIP() << "NO PART OF A GPU WAS TESTED: " << why;
    device_ = std::make_unique<Device>(0);
    try {
      take({.pipeline = "a", .parts = {{"a", {.processors = 1}}}});
    } catch (const SetupError& e) {
      GTEST_SKIP() << "NO PART OF A GPU WAS TESTED: " << e.what();
    }
    module_ = std::make_unique<CompiledModule>(compile(kNote, "note.cu"));
    check(cudaMallocManaged(reinterpret_cast<void**>(&seen_), kMost * sizeof(unsigned)), "cudaMallocManaged");
  }
  void TearDown() override { cudaFree(seen_); }

  std::shared_ptr<const DevicePart> take(const DeviceShare& share) const { return take_part(*device_, share); }
  std::shared_ptr<const DevicePart> take(const std::string& pipeline, int a, int b) const {
    return take({pipeline, {{"a", {.processors = a}}, {"b", {.processors = b}}}});
  }
  int all() const { return device_->properties().multiProcessorCount; }

  void note(StreamView stream, std::int64_t cycles = kCycles) const {
    const auto groups = static_cast<unsigned>(8 * all());
    check(module_->kernel("note").launch(groups, 128, 0, stream, seen_, static_cast<long long>(cycles)), "note");
  }
  /// Where a kernel runs that `launch` starts, which returns when it is done.
  template <class Launch> Processors noted(Launch launch) const {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    std::fill_n(seen_, kMost, 0u);
    launch();
    Processors found;
    for (int p = 0; p < kMost; ++p)
      if (seen_[p]) found.insert(p);
    return found;
  }
  Processors noted_in(const DevicePart& part) const {
    const Stream stream = make_stream(part, 0);
    return noted([&] {
      note(view_of(stream.get()));
      check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    });
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<CompiledModule> module_;
  unsigned* seen_ = nullptr;
};

TEST_F(Part, KernelsStayInIt) {
  const auto part = take("a", 16, 16);
  EXPECT_GE(part->processors(), 16);
  EXPECT_EQ(part->all(), all());
  EXPECT_EQ(std::ssize(noted_in(*part)), part->processors());
  const Stream whole = make_stream(0);
  EXPECT_EQ(std::ssize(noted([&] {
              note(view_of(whole.get()));
              check(cudaStreamSynchronize(whole.get()), "cudaStreamSynchronize");
            })),
            all());
}

TEST_F(Part, PartsAndTheRestAreDisjoint) {
  const auto a = take("a", 16, 24), b = take("b", 16, 24), rest = take("c", 16, 24);
  const Processors of_a = noted_in(*a), of_b = noted_in(*b), of_rest = noted_in(*rest);
  EXPECT_TRUE(are_disjoint(of_a, of_b));
  EXPECT_TRUE(are_disjoint(of_a, of_rest));
  EXPECT_TRUE(are_disjoint(of_b, of_rest));
  EXPECT_EQ(std::ssize(of_a) + std::ssize(of_b) + std::ssize(of_rest), all());
}

TEST_F(Part, StaysWhereItIsWhileAnotherGrows) {
  const auto a = take("a", 16, 16), b = take("b", 16, 16);
  a->settle();
  b->settle();
  const auto a_next = take("a", 32, 16), b_next = take("b", 32, 16);
  EXPECT_EQ(noted_in(*b), noted_in(*b_next));
  EXPECT_TRUE(are_disjoint(noted_in(*a_next), noted_in(*b)));
  EXPECT_FALSE(are_disjoint(noted_in(*a_next), noted_in(*a))) << "it may reuse its own";
}

/// Even if somebody still holds its parts.
TEST_F(Part, ARefusedChangeMovesNothing) {
  const auto b = take("b", 16, 16);
  b->settle();
  const Processors of_b = noted_in(*b);
  const auto refused = take("b", 16, 48);
  EXPECT_NE(noted_in(*refused), of_b);
  EXPECT_EQ(noted_in(*take("b", 16, 16)), of_b);
  EXPECT_TRUE(are_disjoint(noted_in(*take("a", 16, 16)), of_b));
}

TEST_F(Part, TooLargeSharesAreRefusedWithTheSum) {
  const auto refusal = [&](const std::string& pipeline, int a, int b) -> std::string {
    try {
      take(pipeline, a, b);
    } catch (const SetupError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(refusal("a", 16, all()), "") << "it fits";
  EXPECT_THAT(refusal("b", 16, all()), HasSubstr("shares of 16 SM, "));
  EXPECT_THAT(refusal("b", 16, all()), HasSubstr(" of cuda:0, in groups of "));
  EXPECT_THAT(refusal("c", all() / 2, all() - all() / 2), HasSubstr("nothing is left"));
}

/// Notes where it runs.
class Note final : public Work {
 public:
  explicit Note(std::function<void(StreamView)> launch) : launch_(std::move(launch)) { mark_pending(); }
  void enqueue(StreamView stream, StepClock* clock) noexcept override {
    if (clock) clock->mark(0, stream);
    launch_(stream);
    if (clock) clock->mark(1, stream);
  }
  std::uint64_t capture_key() const noexcept override { return 1; }
  std::size_t timed_steps() const noexcept override { return 1; }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override { ns = steps_ns[0]; }
  void finished(bool good) noexcept override { mark_done(good); }

  std::int64_t ns = 0;

 private:
  std::function<void(StreamView)> launch_;
};

TEST_F(Part, QueuesAndTheirGraphsStayInIt) {
  const auto part = take("a", 16, 16);
  for (const Wait wait : {Wait::spin, Wait::block, Wait::resident})
    for (const int time_every : {0, 1}) {
      QueueOptions options;
      options.wait = wait;
      options.time_every = time_every;
      options.timed_steps = 1;
      options.urgency = 2;
      options.part = part;
      CudaQueue queue(*device_, options);
      Note work([this](StreamView stream) { note(stream); });
      queue.rehearse(work);
      const Processors found = noted([&] {
        queue.submit(work);
        queue.wait(work);
      });
      EXPECT_TRUE(work.good()) << device_->failure();
      EXPECT_EQ(std::ssize(found), part->processors()) << (time_every ? "step by step" : "as a graph");
      EXPECT_EQ(work.ns > 0, time_every > 0);
    }
}

/// It is the stream that captures which decides.
TEST_F(Part, AGraphStaysWhereItWasCaptured) {
  const auto part = take("a", 16, 16);
  const Stream inside = make_stream(*part, 0), outside = make_stream(0);
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(inside.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  note(view_of(inside.get()));
  check(cudaStreamEndCapture(inside.get(), &captured), "cudaStreamEndCapture");
  const Graph graph(captured);
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
  const GraphExec exec(made);
  const Processors found = noted([&] {
    check(cudaGraphLaunch(exec.get(), outside.get()), "cudaGraphLaunch");
    check(cudaStreamSynchronize(outside.get()), "cudaStreamSynchronize");
  });
  EXPECT_EQ(std::ssize(found), part->processors());
}

TEST_F(Part, UrgencyIsThePriorityOfTheStream) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  const auto part = take("a", 16, 16);
  for (const int urgency : {0, 1, 99}) {
    const Stream stream = make_stream(*part, -urgency);
    int priority = 0;
    check(cudaStreamGetPriority(stream.get(), &priority), "cudaStreamGetPriority");
    EXPECT_EQ(priority, std::max(least - urgency, greatest));
  }
}

TEST_F(Part, QueuesCostNoMemory) {
  const auto part = take("a", 16, 16);
  const auto free = [] {
    std::size_t bytes = 0, total = 0;
    check(cudaMemGetInfo(&bytes, &total), "cudaMemGetInfo");
    return bytes;
  };
  const auto use_queues = [&](int n) {
    for (int i = 0; i < n; ++i) {
      QueueOptions options;
      options.part = take("a", 16, 16);
      CudaQueue queue(*device_, options);
      Note work([this](StreamView stream) { note(stream, 0); });
      queue.submit(work);
      queue.wait(work);
    }
  };
  use_queues(10);
  const std::size_t before = free();
  use_queues(1000);
  EXPECT_EQ(free(), before);
}

TEST_F(Part, WaitingForTheDeviceWaitsForItsParts) {
  const auto backend = make_backend(0);
  const auto part = backend->take_part({"a", {{"a", {.processors = 16}}}});
  const Stream stream = make_stream(*part, 0);
  note(view_of(stream.get()), 10'000'000);
  backend->wait_for({});
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaSuccess);
}

}  // namespace
}  // namespace iqd::gpu
