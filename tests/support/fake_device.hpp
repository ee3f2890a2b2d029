// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/backend.hpp"
#include "base/clock.hpp"
#include "pipeline/fusion/element_program.hpp"
#include "pipeline/stage.hpp"

/// A device without hardware. What is put on its streams is kept and done later, by a thread of the queue; what was
/// rehearsed is done again as it was put there then, as a graph is. It watches who touches whose memory.
namespace iqd::testing {

/// Whose the memory is that devices gave out or were told of.
class FakeMemory {
 public:
  static FakeMemory& all() {
    static FakeMemory instance;
    return instance;
  }
  /// Without a device: shared.
  void add(std::span<const std::byte> memory, const void* device) {
    const std::lock_guard lock(mutex_);
    ranges_[memory.data()] = {memory.data() + memory.size(), device};
    of_devices_ += device ? 1 : 0;
  }
  void remove(const std::byte* begin) {
    const std::lock_guard lock(mutex_);
    const auto at = ranges_.find(begin);
    if (at == ranges_.end()) return;
    of_devices_ -= at->second.device ? 1 : 0;
    ranges_.erase(at);
  }
  /// Without a lock, so that tests without devices do not notice.
  bool none_of_devices() const noexcept { return of_devices_.load(std::memory_order_relaxed) == 0; }
  bool device_may(const void* device, const void* begin, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto* at = static_cast<const std::byte*>(begin);
    const Range* range = range_at(at);
    return range && at + bytes <= range->end && (!range->device || range->device == device);
  }
  bool host_may(const void* begin, std::size_t bytes) const {
    if (none_of_devices()) return true;
    const std::lock_guard lock(mutex_);
    const auto* at = static_cast<const std::byte*>(begin);
    auto next = ranges_.lower_bound(at + bytes);
    for (; next != ranges_.begin(); --next) {
      const Range& range = std::prev(next)->second;
      if (range.end <= at) return true;
      if (range.device) return false;
    }
    return true;
  }

 private:
  struct Range {
    const std::byte* end;
    const void* device;
  };
  const Range* range_at(const std::byte* at) const {
    const auto behind = ranges_.upper_bound(at);
    if (behind == ranges_.begin()) return nullptr;
    const Range& range = std::prev(behind)->second;
    return at < range.end ? &range : nullptr;
  }
  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;
  std::atomic<int> of_devices_{0};
};

/// What was put on a stream: operations with equal `what` are the same.
struct FakeOp {
  std::vector<std::uint64_t> what;
  std::function<void()> run;
};

class FakeStream {
 public:
  explicit FakeStream(const void* of_device) : device(of_device) {}
  static FakeStream& of(StreamView view) { return *static_cast<FakeStream*>(view.handle); }
  StreamView view() noexcept { return {this}; }
  void put(FakeOp op) { ops_.push_back(std::move(op)); }
  std::vector<FakeOp> take() { return std::exchange(ops_, {}); }

  const void* const device;

 private:
  std::vector<FakeOp> ops_;
};

inline std::uint64_t bits_of(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}
inline std::uint64_t bits_of(std::int64_t n) {
  return static_cast<std::uint64_t>(n);
}

/// A stage's step as it was put on the stream; run with the positions that memory tells by then.
class FakeCall {
 public:
  FakeCall(const StageIo& io, const void* device)
      : in_(io.in.begin(), io.in.end()), out_(io.out.begin(), io.out.end()), io_(io), device_(device) {}
  std::vector<std::uint64_t> what() const {
    std::vector<std::uint64_t> words{bits_of(io_.carry), bits_of(io_.device_scratch), bits_of(io_.block)};
    for (const auto* ports : {&in_, &out_})
      for (const PortIo& p : *ports)
        words.insert(words.end(), {bits_of(p.data), bits_of(p.length), bits_of(p.pitch), bits_of(p.rows),
                                   bits_of(p.item), bits_of(p.count), bits_of(p.first_at)});
    if (!in_.empty())
      words.insert(words.end(), {bits_of(io_.first_new - in_[0].first), bits_of(io_.end_new - in_[0].first)});
    return words;
  }
  template <class F> void run(const F& f) const {
    std::vector<PortIo> in = in_, out = out_;
    StageIo io = io_;
    for (PortIo& p : in) look(p);
    for (PortIo& p : out) look(p);
    if (io.carry) expect_own(io.carry, 4);
    const std::int64_t moved = in.empty() ? 0 : in[0].first - in_[0].first;
    io.in = in;
    io.out = out;
    io.first_new += moved;
    io.end_new += moved;
    expect_own(io.block, sizeof *io.block);
    f(io);
  }

 private:
  void expect_own(const void* p, std::size_t bytes) const {
    if (!FakeMemory::all().device_may(device_, p, bytes))
      ADD_FAILURE() << "a device's step touches memory that is not its own";
  }
  void look(PortIo& p) const {
    if (!p.data) return;
    for (std::int64_t row = 0; row < p.rows && p.length > 0; ++row)
      expect_own(p.data + row * p.pitch, static_cast<std::size_t>(p.length * p.item) * 4);
    expect_own(p.first_at, sizeof *p.first_at);
    expect_own(p.count, sizeof *p.count);
    p.first = *p.first_at;
  }
  std::vector<PortIo> in_, out_;
  StageIo io_;
  const void* device_;
};

/// The code of a stage for such a device: the same as for the host, put on the stream.
template <class F> std::unique_ptr<StageRun> fake_run(const Backend& backend, F f) {
  class Run final : public StageRun {
   public:
    Run(const void* device, F f) : device_(device), f_(std::move(f)) {}
    void enqueue(const StageIo& io, StreamView view) const noexcept override {
      FakeStream& stream = FakeStream::of(view);
      EXPECT_EQ(stream.device, device_) << "a step of one device on the stream of another";
      const auto call = std::make_shared<const FakeCall>(io, device_);
      stream.put({call->what(), [this, call] { call->run(f_); }});
    }

   private:
    const void* device_;
    F f_;
  };
  return std::make_unique<Run>(&backend, std::move(f));
}

/// A step on the host beside devices: their memory is out of its reach.
inline void expect_on_host(const StageIo& io) {
  if (FakeMemory::all().none_of_devices()) return;
  for (const auto ports : {io.in, io.out})
    for (const PortIo& p : ports)
      for (std::int64_t row = 0; p.data && row < p.rows && p.length > 0; ++row)
        EXPECT_TRUE(FakeMemory::all().host_may(p.data + row * p.pitch, static_cast<std::size_t>(p.length * p.item) * 4))
            << "a step on the host touches a device's memory";
}

class FakeDevice final : public Backend {
 public:
  explicit FakeDevice(int index = 0) : index_(index) {}

  // What a test sets before it runs.
  MappedLimits limits{};
  MemoryBudget budget{1u << 30, 1u << 30};
  std::uint32_t jitter_us = 0;  // each work begins so much later, at most
  /// Called by a queue's thread before it does a work: the queue's number and how many works it did before.
  std::function<void(int queue, std::int64_t work)> before_work;
  std::function<void(int queue, std::int64_t work)> after_work;
  /// The submission, counted from 1, at which the device fails: when it is put on the stream, or half through it.
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
  std::int64_t fence_waits() const noexcept { return fence_waits_; }
  std::vector<std::uint64_t> keys() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

  BackendKind kind() const noexcept override { return BackendKind::cuda; }
  std::string name() const override { return fmt::format("cuda:{}", index_); }
  std::string device() const override { return "a device of tests"; }
  MemoryBudget memory() const override { return budget; }
  void use() override { in_use() = this; }
  /// The device that the calling thread chose.
  static const FakeDevice*& in_use() {
    thread_local const FakeDevice* device = nullptr;
    return device;
  }
  MappedLimits mapped_limits() const override { return limits; }

  Buffer allocate(std::size_t bytes) override { return make_buffer(bytes, this); }
  Buffer allocate_shared(std::size_t bytes) override { return make_buffer(bytes, nullptr); }
  void share(std::span<std::byte> memory) override { FakeMemory::all().add(memory, nullptr); }
  void unshare(std::span<std::byte> memory) noexcept override { FakeMemory::all().remove(memory.data()); }
  void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
            std::size_t rows, StreamView stream) noexcept override {
    FakeStream::of(stream).put({{bits_of(to), to_pitch, bits_of(from), from_pitch, row_bytes, rows}, [=, this] {
                                  ++copies_;
                                  for (std::size_t r = 0; r < rows; ++r)
                                    copy_row(static_cast<std::byte*>(to) + r * to_pitch,
                                             static_cast<const std::byte*>(from) + r * from_pitch, row_bytes);
                                }});
  }
  void upload(std::byte* to, std::span<const std::byte> from) override { std::copy(from.begin(), from.end(), to); }
  std::unique_ptr<Queue> make_queue(const QueueOptions& options) override;
  std::unique_ptr<Fence> make_fence() override;
  const void* stage_table(std::string_view stage) const override { return stage == "fused" ? &fused_half() : nullptr; }
  /// Computes a fused step as the processor does, with what lies between in memory of its own.
  static const fusion::CudaHalf& fused_half();
  std::string failure() const override {
    return failed() ? fmt::format("{}: it was told to fail", name()) : std::string();
  }

 private:
  class Clock;
  class LaneQueue;
  class OrderFence;
  static constexpr std::size_t kGuard = 128;
  static constexpr std::byte kGuardByte{0xa5};

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) const {
    EXPECT_TRUE(FakeMemory::all().device_may(this, to, bytes)) << "a copy to memory that the device does not know";
    EXPECT_TRUE(FakeMemory::all().device_may(this, from, bytes)) << "a copy of memory that the device does not know";
    std::memcpy(to, from, bytes);
  }
  /// Not zero, and with room on both sides that stays as it is.
  static Buffer make_buffer(std::size_t bytes, const void* device) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    const std::size_t whole = (size + kGuard - 1) / kGuard * kGuard + 2 * kGuard;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kGuard, whole));
    std::memset(memory, static_cast<int>(kGuardByte), whole);
    FakeMemory::all().add({memory + kGuard, size}, device);
    const auto free = [](void*, std::span<std::byte> m) noexcept {
      for (std::size_t i = 0; i < kGuard; ++i)
        if (*(m.data() - 1 - i) != kGuardByte || *(m.data() + m.size() + i) != kGuardByte) {
          ADD_FAILURE() << "somebody wrote beside memory of " << m.size() << " bytes";
          break;
        }
      FakeMemory::all().remove(m.data());
      std::free(m.data() - kGuard);
    };
    return Buffer({memory + kGuard, size}, free, nullptr);
  }

  int index_;
  int queues_ = 0;
  std::atomic<std::int64_t> submits_{0}, hits_{0}, misses_{0}, copies_{0}, fence_waits_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // of what follows, and of all queues and fences
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
    EXPECT_LE(steps, steps_ns_.size()) << "more steps are asked for than were announced";
    steps = std::min(steps, steps_ns_.size());
    for (std::size_t s = 0; s < steps; ++s) steps_ns_[s] = times_[s + 1] - times_[s];
    return {steps_ns_.data(), steps};
  }

 private:
  std::vector<std::int64_t> times_, steps_ns_;
};

/// What waits is held until what was signalled before it was put on its stream has been done.
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
  /// What the work puts on the stream, or the graph that stands for it, which has to be the same.
  const std::vector<FakeOp>& launch(Work& work) {
    timed_ = options_.time_every > 0 && work.timed_steps() > 0 && ++works_ % options_.time_every == 0;
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
  std::vector<FakeOp> fresh_;
  const std::vector<FakeOp>* ops_ = nullptr;  // at work
  bool fails_ = false;
  bool timed_ = false;
  bool stop_ = false;
  std::int64_t works_ = 0;
  std::thread thread_;
};

inline std::unique_ptr<Queue> FakeDevice::make_queue(const QueueOptions& options) {
  return std::make_unique<LaneQueue>(*this, options, queues_++);
}
inline std::unique_ptr<Fence> FakeDevice::make_fence() {
  return std::make_unique<OrderFence>(*this);
}

}  // namespace iqd::testing
