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

/// Names an ordered queue of device work without saying whose: a CUDA stream, or nothing on the CPU.
struct StreamView {
  void* handle = nullptr;
};

/// Memory of a backend; given back by its destructor.
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

/// Takes the time between the steps of a work, in the order of the stream.
class StepClock {
 public:
  virtual ~StepClock() = default;
  /// The step with this number begins here, or, one behind the last, all is done.
  virtual void mark(std::size_t step, StreamView stream) noexcept = 0;
};

/// What a queue carries out for one block.
class Work {
 public:
  virtual ~Work() = default;
  /// Puts the block's steps on the stream: on the CPU this is the computation itself, on a device it returns at once.
  /// Neither allocates nor waits, so it can be captured. Marks the beginning of each step where a clock is given.
  virtual void enqueue(StreamView stream, StepClock* clock = nullptr) noexcept = 0;
  /// Works with equal keys enqueue the same operations at the same addresses, so a captured graph serves them all;
  /// 0 is never captured.
  virtual std::uint64_t capture_key() const noexcept { return 0; }
  /// Steps that a clock marks; of works that want their times taken, now and then.
  virtual std::size_t timed_steps() const noexcept { return 0; }
  /// How long each took, in nanoseconds; called before `finished`.
  virtual void timed(std::span<const std::int64_t> /*steps_ns*/) noexcept {}
  /// Called once when the work is done, by the thread that learns it, or when it never will be since the device
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

/// A lane's way to its device: carries out one Work at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Gets ready for works like this one, which is not carried out. Before samples flow: it may allocate and take long.
  virtual void rehearse(Work& /*work*/) {}
  /// Kinds of works that it is ready for.
  virtual std::size_t rehearsed() const noexcept { return 0; }
  virtual void submit(Work& work) noexcept = 0;
  /// Returns when this work is done, `finished` called. Called by one thread, in the order of submission.
  virtual void wait(Work& work) noexcept = 0;
  /// Whether `finished` is called without anybody waiting.
  virtual bool announces() const noexcept = 0;
};

/// How a thread waits for a device.
enum class Wait : std::uint8_t {
  spin,   // looks all the time: quickest, and takes a processor
  block,  // sleeps until the device calls
};
inline std::span<const std::string_view> enum_names(Wait) {
  static constexpr std::string_view names[] = {"spin", "block"};
  return names;
}

struct QueueOptions {
  std::string name;       // of the thread, where the queue is one
  int priority = 0;       // real-time priority, 0 for none
  std::vector<int> cpus;  // where it may run; empty: anywhere
  Wait wait = Wait::block;
  int time_every = 0;           // of so many works the steps of one are timed; 0: never
  std::size_t timed_steps = 0;  // the most that a work has
};

/// Puts what one stream does before what another does, without a thread that waits.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual void signal(StreamView stream) noexcept = 0;
  /// What follows in this stream runs after the last signal; the first wait passes.
  virtual void wait(StreamView stream) noexcept = 0;
};

/// Up to how many bytes a device reads and writes the host's memory in place; more are copied by its engines.
struct MappedLimits {
  std::size_t in = 0;
  std::size_t out = 0;
};

struct MemoryBudget {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// A device that lanes run on. Memory from `allocate` belongs to the device; memory from `allocate_shared`, or made
/// known by `share`, is read and written by both sides at one address.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendKind kind() const noexcept = 0;
  /// As in YAML: `cpu`, `cuda:0`.
  virtual std::string name() const = 0;
  /// The product's own name.
  virtual std::string device() const = 0;
  virtual MemoryBudget memory() const = 0;
  /// What the calling thread sets up from here on belongs to this device.
  virtual void use() {}
  virtual MappedLimits mapped_limits() const { return {}; }

  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual Buffer allocate_shared(std::size_t bytes) = 0;
  virtual void share(std::span<std::byte> memory) = 0;
  virtual void unshare(std::span<std::byte> memory) noexcept = 0;
  /// Copies rows between host and device, in the order of the stream.
  virtual void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                    std::size_t rows, StreamView stream) noexcept = 0;

  /// From the host's memory into any of this backend's, while nothing else goes on.
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;

  virtual std::unique_ptr<Queue> make_queue(const QueueOptions& options) = 0;
  /// Null where the order in which threads enqueue is the order of the work.
  virtual std::unique_ptr<Fence> make_fence() { return nullptr; }
  /// The stage's half of this backend, by the stage's name; null where it has none. Its type is the stage's own.
  virtual const void* stage_half(std::string_view /*stage*/) const { return nullptr; }
  /// What a device has besides; null on the processor.
  virtual const ConvolutionTable* convolution() const { return nullptr; }
  virtual const DeviceFactsTable* device_facts() const { return nullptr; }
  /// What an operator should know of the device: driver, clocks, link; a line each, `driver 580.159`.
  virtual std::vector<std::string> details() const { return {}; }
  /// Why the device can do no more; empty while it can. Sticky.
  virtual std::string failure() const { return {}; }
};

/// What a backend's shared object exports under the name `iqd_backend_module`.
struct BackendModule {
  static constexpr std::uint32_t kVersion = 1;
  std::uint32_t version;
  /// How many there are; where there are none, `why` says what is missing.
  int (*devices)(std::string& why);
  /// Throws SetupError.
  std::unique_ptr<Backend> (*make)(int device);
};

}  // namespace iqd
