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

/// What a queue carries out for one block.
class Work {
 public:
  virtual ~Work() = default;
  /// Puts the block's steps on the stream: on the CPU this is the computation itself, on a device it returns at once.
  /// Neither allocates nor waits, so it can be captured.
  virtual void enqueue(StreamView stream) noexcept = 0;
  /// Works with equal keys enqueue the same operations at the same addresses, so a captured graph serves them all;
  /// 0 is never captured.
  virtual std::uint64_t capture_key() const noexcept { return 0; }
  /// Called once when the work is done, by the thread that learns it. After `mark_done` the work may be reused.
  virtual void finished() noexcept = 0;

  bool done() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
  void wait_done() const noexcept { done_.wait(0, std::memory_order_acquire); }

 protected:
  void mark_done() noexcept {
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }
  void mark_pending() noexcept { done_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint32_t> done_{0};
};

/// A lane's way to its device: carries out one Work at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void submit(Work& work) noexcept = 0;
  /// Returns when this work is done, `finished` called. Called by one thread, in the order of submission.
  virtual void wait(Work& work) noexcept = 0;
  /// Whether `finished` is called without anybody waiting.
  virtual bool announces() const noexcept = 0;
};

struct QueueOptions {
  std::string name;       // of the thread, where the queue is one
  int priority = 0;       // real-time priority, 0 for none
  std::vector<int> cpus;  // where it may run; empty: anywhere
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

  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual Buffer allocate_shared(std::size_t bytes) = 0;
  virtual void share(std::span<std::byte> memory) = 0;
  virtual void unshare(std::span<std::byte> memory) noexcept = 0;
  /// Copies rows between host and device, in the order of the stream.
  virtual void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                    std::size_t rows, StreamView stream) noexcept = 0;

  virtual std::unique_ptr<Queue> make_queue(const QueueOptions& options) = 0;
  /// The stage's half of this backend, by the stage's name; null where it has none. Its type is the stage's own.
  virtual const void* stage_table(std::string_view /*stage*/) const { return nullptr; }
  /// Why the device can do no more; empty while it can. Sticky.
  virtual std::string failure() const { return {}; }
};

/// What a backend's shared object exports under the name `iqd_backend_module`.
struct BackendModule {
  static constexpr std::uint32_t kVersion = 1;
  std::uint32_t version;
  int (*devices)();
  /// Throws SetupError.
  std::unique_ptr<Backend> (*make)(int device);
};

}  // namespace iqd
