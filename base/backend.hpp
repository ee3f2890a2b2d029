// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iqd {

struct ConvolutionTable;
struct DeviceFactsTable;

enum class BackendKind : std::uint8_t { cpu, cuda };

/// A handle of an ordered queue of device work, for any backend: a CUDA stream, or nothing on the CPU.
struct StreamView {
  void* handle = nullptr;
};

/// Memory of a backend; freed by the destructor.
class Buffer {
 public:
  using Free = void (*)(void* context, std::span<std::byte> memory) noexcept;
  Buffer() = default;
  Buffer(std::span<std::byte> memory, Free free, void* context) : memory_(memory), free_(free), context_(context) {}
  Buffer(Buffer&& o) noexcept { swap(o); }
  Buffer& operator=(Buffer&& o) noexcept {
    swap(o);
    return *this;
  }
  ~Buffer() {
    if (free_) free_(context_, memory_);
  }
  std::byte* data() const noexcept { return memory_.data(); }
  std::size_t size() const noexcept { return memory_.size(); }

 private:
  void swap(Buffer& o) noexcept {
    std::swap(memory_, o.memory_);
    std::swap(free_, o.free_);
    std::swap(context_, o.context_);
  }
  std::span<std::byte> memory_;
  Free free_ = nullptr;
  void* context_ = nullptr;
};

/// Measures the time between the steps of a work, in stream order.
class StepClock {
 public:
  virtual ~StepClock() = default;
  /// Marks the beginning of a step, or, with the number after the last one, the end.
  virtual void mark(std::size_t step, StreamView stream) noexcept = 0;
};

/// What a queue executes for one block.
class Work {
 public:
  virtual ~Work() = default;
  /// Puts the block's steps on the stream: on the CPU this is the computation itself, on a device it returns at once.
  /// Neither allocates nor waits, so it can be captured. Marks the beginning of each step if a clock is given.
  virtual void enqueue(StreamView stream, StepClock* clock = nullptr) noexcept = 0;
  /// Works with equal keys enqueue the same operations at the same addresses, so a captured graph serves them all;
  /// 0 is never captured.
  virtual std::uint64_t capture_key() const noexcept { return 0; }
  /// Number of steps that a clock marks; 0 if the work's steps are not timed.
  virtual std::size_t timed_steps() const noexcept { return 0; }
  /// Gets each step's nanoseconds; called before `finished`.
  virtual void timed(std::span<const std::int64_t> /*steps_ns*/) noexcept {}
  /// Called once, by the thread that notices it, when the work is done, or when it never will be since the device
  /// failed. After `mark_done` the work may be reused.
  virtual void finished(bool good) noexcept = 0;

  bool done() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
  void wait_done() const noexcept { done_.wait(0, std::memory_order_acquire); }
  /// After `done`: whether the results may be used.
  bool good() const noexcept { return good_; }

 protected:
  void mark_done(bool good) noexcept {
    good_ = good;
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }
  void mark_pending() noexcept { done_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> done_{0};
  bool good_ = true;
};

/// Executes a lane's works on its device, one at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Prepares for works like this one, without executing it. Call it before samples flow: it may allocate and take
  /// long.
  virtual void rehearse(Work& /*work*/) {}
  /// Number of kinds of works that it is prepared for.
  virtual std::size_t rehearsed() const noexcept { return 0; }
  /// How many of these the device launches itself, see Wait::resident.
  virtual std::size_t resident() const noexcept { return 0; }
  /// Operations that are put on this stream run before the next work, and count as its first step if that does nothing
  /// else. Null if the device has failed, or if there is none.
  virtual StreamView begin() noexcept { return {}; }
  virtual void submit(Work& work) noexcept = 0;
  /// Returns when this work is done and `finished` has been called. For one thread, in the order of submission.
  virtual void wait(Work& work) noexcept = 0;
  /// Whether `finished` is called even if nobody waits.
  virtual bool announces() const noexcept = 0;
};

/// How a thread waits for a device.
enum class Wait : std::uint8_t {
  spin,      // polls: fastest, and uses a whole CPU
  block,     // sleeps until the device signals
  resident,  // polls, and the device itself launches rehearsed works
};
inline std::span<const std::string_view> enum_names(Wait) {
  static constexpr std::string_view names[] = {"spin", "block", "resident"};
  return names;
}

/// The size of a part of a device: multiprocessors, or a percentage of all.
struct PartSize {
  int processors = 0;  // 0: `percent` counts
  double percent = 0;
  friend bool operator==(const PartSize&, const PartSize&) = default;
};

/// How pipelines divide a device, and which of them asks.
struct DeviceShare {
  struct Part {
    std::string pipeline;
    PartSize size;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::string pipeline;     // without a part of its own, it gets what the parts leave
  std::vector<Part> parts;  // all pipelines ask with the same list
  friend bool operator==(const DeviceShare&, const DeviceShare&) = default;
};

/// Some multiprocessors of a device, for the queues of one pipeline. They stay assigned while this exists.
class DevicePart {
 public:
  /// The pipeline runs in it from now on, so parts that are made later leave it in place. Until then it may be that of
  /// a change that is refused.
  void settle() const noexcept { settled_.store(true, std::memory_order_release); }
  bool is_settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  DevicePart(int processors, int all) : processors_(processors), all_(all) {}
  virtual ~DevicePart() = default;
  int processors() const noexcept { return processors_; }
  /// Of the device.
  int all() const noexcept { return all_; }

 private:
  int processors_;
  int all_;
  mutable std::atomic<bool> settled_{false};
};

struct QueueOptions {
  std::string name;       // of the thread, if the queue is one
  int priority = 0;       // real-time priority, 0 for none
  std::vector<int> cpus;  // CPUs it may run on; empty: any
  Wait wait = Wait::block;
  int time_every = 0;                        // the steps of one in so many works are timed; 0: never
  std::size_t timed_steps = 0;               // the most steps that a work has
  int urgency = 0;                           // a device prefers the work of a queue with a larger one
  std::shared_ptr<const DevicePart> part{};  // of the device; null: all of it
};

/// Orders the work of two streams without a waiting thread.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual void signal(StreamView stream) noexcept = 0;
  /// Later work on this stream runs after the last signal; without a signal, wait passes.
  virtual void wait(StreamView stream) noexcept = 0;
};

/// Orders works by a number that each has in memory which the device reads when it runs, so that a rehearsed work can
/// contain its place in the order. Numbers begin at 0, and none is left out.
class Turns {
 public:
  virtual ~Turns() = default;
  /// Later work on this stream runs when all turns before `*turn` have passed.
  virtual void wait(const std::int64_t* turn, StreamView stream) noexcept = 0;
  virtual void pass(const std::int64_t* turn, StreamView stream) noexcept = 0;
};

/// Up to this many bytes, a device reads and writes host memory in place; more are copied by its copy engines.
struct MappedLimits {
  std::size_t in = 0;
  std::size_t out = 0;
};

struct MemoryBudget {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// A device that lanes run on. Memory from `allocate` belongs to the device; memory from `allocate_shared`, or
/// registered by `share`, is read and written by both sides at one address.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const noexcept = 0;
  /// As in YAML: `cpu`, `cuda:0`.
  virtual std::string name() const = 0;
  /// The product name.
  virtual std::string device() const = 0;
  virtual MemoryBudget memory() const = 0;
  /// Makes this the current device of the calling thread.
  virtual void use() {}
  virtual MappedLimits mapped_limits() const { return {}; }

  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual Buffer allocate_shared(std::size_t bytes) = 0;
  virtual void share(std::span<std::byte> memory) = 0;
  virtual void unshare(std::span<std::byte> memory) noexcept = 0;
  /// Copies rows between host and device, or from a device that this one reaches, in the order of the stream.
  virtual void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                    std::size_t rows, StreamView stream) noexcept = 0;

  /// Whether this device can copy from the other's memory; then the way is open from now on.
  virtual bool reaches(const Backend& other) { return &other == this; }

  /// Copies between the host's memory and any memory of this backend, while nothing else runs.
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;

  /// Returns when what another library has put on this stream is done; without a stream, on any of the device.
  virtual void wait_for(StreamView /*stream*/) {}

  /// The part of the device that this pipeline gets; it keeps the one that it has if the size is the same. Throws
  /// SetupError if the device cannot be divided, or not so.
  virtual std::shared_ptr<const DevicePart> take_part(const DeviceShare& /*share*/) { return nullptr; }
  virtual std::unique_ptr<Queue> make_queue(const QueueOptions& options) = 0;
  /// Null if work is executed in the order in which threads enqueue it.
  virtual std::unique_ptr<Fence> make_fence() { return nullptr; }
  /// Null likewise.
  virtual std::unique_ptr<Turns> make_turns() { return nullptr; }
  /// This backend's half of a stage, by the stage's name; null if there is none. The stage defines its type.
  virtual const void* stage_half(std::string_view /*stage*/) const { return nullptr; }
  /// Optional features of a backend; null if it lacks them.
  virtual const ConvolutionTable* convolution() const { return nullptr; }
  virtual const DeviceFactsTable* device_facts() const { return nullptr; }
  /// Information about the device for the operator: driver, clocks, link; one line each, such as `driver 580.159`.
  virtual std::vector<std::string> details() const { return {}; }
  /// Why the device has failed; empty while it works. Sticky.
  virtual std::string failure() const { return {}; }
};

/// The object that a backend's shared library exports as `iqd_backend_module`.
struct BackendModule {
  static constexpr std::uint32_t kVersion = 6;
  std::uint32_t version;
  /// Number of devices; if 0, `why` says what is missing.
  int (*devices)(std::string& why);
  /// Throws SetupError.
  std::unique_ptr<Backend> (*make)(int device);
};

}  // namespace iqd
