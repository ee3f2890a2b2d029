// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/backend.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "pipeline/plan/fusion/element_program.hpp"
#include "tests/support/fake_stream.hpp"

/// A device without hardware. Operations put on its streams run later, in a thread of the queue; rehearsed operations
/// are replayed as recorded, like a graph. It checks which memory they access.
namespace iqd::testing {

class FakeDevice final : public Backend {
 public:
  explicit FakeDevice(int index = 0) : index_(index) {}

  // Set by a test before it runs.
  MappedLimits limits{};
  MemoryBudget budget{1u << 30, 1u << 30};
  int processors = 132;  // a part has 16 of them; 0: it cannot be divided
  bool has_peers = true;
  std::uint32_t jitter_us = 0;  // each work is delayed by up to this
  /// Called by a queue's thread before a work: the queue's number, and how many works it has done before.
  std::function<void(int queue, std::int64_t work)> before_work;
  std::function<void(int queue, std::int64_t work)> after_work;
  /// The submission, counted from 1, at which the device fails: when it is put on the stream, or halfway through.
  enum class Fails : std::uint8_t { at_launch, while_running };
  std::int64_t fail_at = 0;
  Fails fails = Fails::while_running;

  void fail() noexcept {
    const std::lock_guard lock(mutex_);
    failed_.store(true, std::memory_order_release);
    changed_.notify_all();
  }

  std::int64_t submits() const noexcept { return submits_; }
  std::int64_t hits() const noexcept { return hits_; }
  std::int64_t misses() const noexcept { return misses_; }
  std::int64_t copies() const noexcept { return copies_; }
  /// Of the queues that were made, in that order.
  const std::vector<QueueOptions>& queues() const noexcept { return queue_options_; }
  /// Copied from the host.
  std::size_t bytes_in() const noexcept { return bytes_in_; }
  /// Copied from other devices.
  std::size_t bytes_across() const noexcept { return bytes_across_; }
  std::int64_t fence_waits() const noexcept { return fence_waits_; }
  std::int64_t turns() const noexcept { return turns_; }
  std::vector<std::uint64_t> keys() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

  BackendKind kind() const noexcept override { return BackendKind::cuda; }
  std::string name() const override { return fmt::format("cuda:{}", index_); }
  std::string device() const override { return "a test device"; }
  MemoryBudget memory() const override { return budget; }
  void use() override { in_use() = this; }
  /// The device that the calling thread chose.
  static const FakeDevice*& in_use() {
    thread_local const FakeDevice* device = nullptr;
    return device;
  }
  MappedLimits mapped_limits() const override { return limits; }

  Buffer allocate(std::size_t bytes) override { return FakeMemory::give_out(bytes, this); }
  Buffer allocate_shared(std::size_t bytes) override { return FakeMemory::give_out(bytes, nullptr); }
  void share(std::span<std::byte> memory) override { FakeMemory::all().add(memory, nullptr); }
  void unshare(std::span<std::byte> memory) noexcept override { FakeMemory::all().remove(memory.data()); }
  void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
            std::size_t rows, StreamView stream) noexcept override {
    FakeStream::of(stream).put({{bits_of(to), to_pitch, bits_of(from), from_pitch, row_bytes, rows}, [=, this] {
                                  ++copies_;
                                  const FakeMemory& memory = FakeMemory::all();
                                  if (memory.is_of(this, to) && !memory.is_of(this, from))
                                    (memory.is_of(nullptr, from) ? bytes_in_ : bytes_across_) += row_bytes * rows;
                                  for (std::size_t r = 0; r < rows; ++r)
                                    copy_row(static_cast<std::byte*>(to) + r * to_pitch,
                                             static_cast<const std::byte*>(from) + r * from_pitch, row_bytes);
                                }});
  }
  bool reaches(const Backend& other) override {
    if (has_peers) reached_.push_back(&other);
    return has_peers || &other == this;
  }
  void upload(std::byte* to, std::span<const std::byte> from) override { std::copy(from.begin(), from.end(), to); }
  std::shared_ptr<const DevicePart> take_part(const DeviceShare&) override {
    if (processors == 0) throw SetupError(name() + " cannot be divided");
    return std::make_shared<DevicePart>(16, processors);
  }
  std::unique_ptr<Queue> make_queue(const QueueOptions& options) override;
  std::unique_ptr<Fence> make_fence() override;
  std::unique_ptr<Turns> make_turns() override;
  const void* stage_half(std::string_view stage) const override { return stage == "fused" ? &fused_half() : nullptr; }
  /// Computes a fused step like the CPU, with intermediate results in its own memory.
  static const fusion::CudaHalf& fused_half();
  std::string failure() const override {
    return failed() ? fmt::format("{}: it was set to fail", name()) : std::string();
  }

 private:
  class Clock;
  class LaneQueue;
  class OrderFence;
  class NumberTurns;

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) const {
    const FakeMemory& memory = FakeMemory::all();
    EXPECT_TRUE(memory.device_may(this, to, bytes)) << "a copy to memory that the device does not know";
    const bool is_peers =
        std::ranges::any_of(reached_, [&](const Backend* peer) { return memory.device_may(peer, from, bytes); });
    EXPECT_TRUE(is_peers || memory.device_may(this, from, bytes)) << "a copy of memory that the device does not know";
    std::memcpy(to, from, bytes);
  }
  int index_;
  std::vector<QueueOptions> queue_options_;
  std::atomic<std::int64_t> submits_{0}, hits_{0}, misses_{0}, copies_{0}, fence_waits_{0}, turns_{0};
  std::atomic<std::size_t> bytes_in_{0}, bytes_across_{0};
  std::vector<const Backend*> reached_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // guards the members below, and all queues and fences
  std::condition_variable changed_;
  std::vector<std::uint64_t> keys_;
};

inline const fusion::CudaHalf& FakeDevice::fused_half() {
  static constexpr fusion::CudaHalf half{
      [] { return std::string(); },
      [](const fusion::ElementProgram& program, const fusion::KernelText&) {
        return fake_run(*in_use(), [run = std::shared_ptr(fusion::make_cpu_run(program)),
                                    bytes = fusion::cpu_scratch_bytes(program)](StageIo io) noexcept {
          std::vector<std::byte> between(bytes);
          io.scratch = between.data();
          run->enqueue(io, {});
        });
      }};
  return half;
}

/// The times at which steps begin, by the queue's thread.
class FakeDevice::Clock final : public StepClock {
 public:
  explicit Clock(std::size_t most_steps) : times_(most_steps + 1), steps_ns_(most_steps) {}
  void mark(std::size_t step, StreamView stream) noexcept override {
    EXPECT_LT(step, times_.size()) << "more steps are marked than were announced";
    if (step < times_.size()) FakeStream::of(stream).put({{}, [this, step] { times_[step] = steady_ns(); }});
  }
  std::span<const std::int64_t> steps_ns(std::size_t steps) {
    EXPECT_LE(steps, steps_ns_.size()) << "more steps are requested than were announced";
    steps = std::min(steps, steps_ns_.size());
    for (std::size_t s = 0; s < steps; ++s) steps_ns_[s] = times_[s + 1] - times_[s];
    return {steps_ns_.data(), steps};
  }

 private:
  std::vector<std::int64_t> times_, steps_ns_;
};

/// A wait holds its stream until everything signalled before it was put there has been done.
class FakeDevice::OrderFence final : public Fence {
 public:
  explicit OrderFence(FakeDevice& device) : device_(device) {}
  void signal(StreamView stream) noexcept override {
    const std::int64_t n = ++signalled_;
    FakeStream::of(stream).put({{}, [this, n] {
                                  const std::lock_guard lock(device_.mutex_);
                                  reached_ = std::max(reached_, n);
                                  device_.changed_.notify_all();
                                }});
  }
  void wait(StreamView stream) noexcept override {
    const std::int64_t n = signalled_;
    FakeStream::of(stream).put({{}, [this, n] {
                                  std::unique_lock lock(device_.mutex_);
                                  device_.changed_.wait(lock, [&] { return reached_ >= n || device_.failed(); });
                                  ++device_.fence_waits_;
                                }});
  }

 private:
  FakeDevice& device_;
  std::atomic<std::int64_t> signalled_{0};
  std::int64_t reached_ = 0;
};

class FakeDevice::NumberTurns final : public Turns {
 public:
  explicit NumberTurns(FakeDevice& device) : device_(device) {}
  void wait(const std::int64_t* turn, StreamView stream) noexcept override {
    FakeStream::of(stream).put({{bits_of(turn)}, [this, turn] {
                                  std::unique_lock lock(device_.mutex_);
                                  device_.changed_.wait(lock, [&] { return passed_ >= *turn || device_.failed(); });
                                }});
  }
  void pass(const std::int64_t* turn, StreamView stream) noexcept override {
    FakeStream::of(stream).put({{bits_of(turn), 1}, [this, turn] {
                                  const std::lock_guard lock(device_.mutex_);
                                  EXPECT_EQ(passed_, *turn) << "turns are passed in their order";
                                  passed_ = *turn + 1;
                                  ++device_.turns_;
                                  device_.changed_.notify_all();
                                }});
  }

 private:
  FakeDevice& device_;
  std::int64_t passed_ = 0;
};

class FakeDevice::LaneQueue final : public Queue {
 public:
  LaneQueue(FakeDevice& device, const QueueOptions& options, int number)
      : device_(device),
        options_(options),
        number_(number),
        stream_(&device),
        clock_(options.timed_steps),
        thread_([this] { run(); }) {}
  ~LaneQueue() override {
    {
      const std::lock_guard lock(device_.mutex_);
      stop_ = true;
      device_.changed_.notify_all();
    }
    thread_.join();
  }

  void rehearse(Work& work) override {
    const std::uint64_t key = work.capture_key();
    if (key == 0 || graphs_.contains(key)) return;
    work.enqueue(stream_.view());
    graphs_[key] = stream_.take();
    const std::lock_guard lock(device_.mutex_);
    device_.keys_.push_back(key);
  }
  std::size_t rehearsed() const noexcept override { return graphs_.size(); }
  StreamView begin() noexcept override {
    if (device_.failed()) return {};
    has_begun_ = true;
    timed_ = times_next();
    if (timed_) clock_.mark(0, stream_.view());
    return stream_.view();
  }
  void submit(Work& work) noexcept override {
    if (device_.failed()) return;
    const std::int64_t number = ++device_.submits_;
    const bool its_turn = number == device_.fail_at;
    const std::vector<FakeOp>& ops = launch(work);
    if (its_turn && device_.fails == Fails::at_launch) return device_.fail();
    const std::lock_guard lock(device_.mutex_);
    EXPECT_EQ(ops_, nullptr) << "a second work before the first was waited for";
    ops_ = &ops;
    fails_ = its_turn;
    device_.changed_.notify_all();
  }
  void wait(Work& work) noexcept override {
    {
      std::unique_lock lock(device_.mutex_);
      device_.changed_.wait(lock, [this] { return ops_ == nullptr; });
    }
    const bool good = !device_.failed();
    if (good && timed_) work.timed(clock_.steps_ns(work.timed_steps()));
    work.finished(good);
  }
  bool announces() const noexcept override { return false; }

 private:
  bool times_next() noexcept { return options_.time_every > 0 && ++works_ % options_.time_every == 0; }
  /// The operations of the work, or the recorded graph for it, which must be the same; before them, those put on the
  /// stream since `begin`.
  const std::vector<FakeOp>& launch(Work& work) {
    if (!std::exchange(has_begun_, false)) timed_ = work.timed_steps() > 0 && times_next();
    before_ = stream_.take();
    work.enqueue(stream_.view(), timed_ ? &clock_ : nullptr);
    fresh_ = stream_.take();
    const auto graph = timed_ ? graphs_.end() : graphs_.find(work.capture_key());
    if (graph == graphs_.end()) {
      device_.misses_ += timed_ ? 0 : 1;
      return fresh_;
    }
    ++device_.hits_;
    const bool same = std::equal(fresh_.begin(), fresh_.end(), graph->second.begin(), graph->second.end(),
                                 [](const FakeOp& a, const FakeOp& b) { return a.what == b.what; });
    EXPECT_TRUE(same) << "works with equal keys put different operations on the stream";
    return graph->second;
  }
  void run() {
    for (std::int64_t work = 0;; ++work) {
      const std::vector<FakeOp>* ops = nullptr;
      {
        std::unique_lock lock(device_.mutex_);
        device_.changed_.wait(lock, [this] { return ops_ || stop_; });
        if (!ops_) return;
        ops = ops_;
      }
      for (const FakeOp& op : before_)
        if (!device_.failed()) op.run();
      if (device_.before_work) device_.before_work(number_, work);
      if (const std::uint32_t jitter = device_.jitter_us)
        std::this_thread::sleep_for(
            std::chrono::microseconds((static_cast<std::uint32_t>(work * 7 + number_) * 2654435761u >> 8) % jitter));
      carry_out(*ops);
      if (device_.after_work) device_.after_work(number_, work);
      const std::lock_guard lock(device_.mutex_);
      ops_ = nullptr;
      device_.changed_.notify_all();
    }
  }
  void carry_out(const std::vector<FakeOp>& ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (fails_ && i >= ops.size() / 2) device_.fail();
      if (device_.failed()) return;
      ops[i].run();
    }
    if (fails_) device_.fail();
  }

  FakeDevice& device_;
  QueueOptions options_;
  int number_;
  FakeStream stream_;
  Clock clock_;
  std::unordered_map<std::uint64_t, std::vector<FakeOp>> graphs_;
  std::vector<FakeOp> before_;
  std::vector<FakeOp> fresh_;
  const std::vector<FakeOp>* ops_ = nullptr;  // at work
  bool fails_ = false;
  bool timed_ = false;
  bool has_begun_ = false;
  bool stop_ = false;
  std::int64_t works_ = 0;
  std::thread thread_;
};

inline std::unique_ptr<Queue> FakeDevice::make_queue(const QueueOptions& options) {
  queue_options_.push_back(options);
  return std::make_unique<LaneQueue>(*this, options, static_cast<int>(queue_options_.size()) - 1);
}
inline std::unique_ptr<Fence> FakeDevice::make_fence() {
  return std::make_unique<OrderFence>(*this);
}
inline std::unique_ptr<Turns> FakeDevice::make_turns() {
  return std::make_unique<NumberTurns>(*this);
}

}  // namespace iqd::testing
