// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/backend.hpp"
#include "pipeline/stage/stage.hpp"

/// The work of a test device (fake_device.hpp): operations on a stream, and the memory that they may access.
namespace iqd::testing {

/// The owners of memory that devices have allocated or registered.
class FakeMemory {
 public:
  static FakeMemory& all() {
    static FakeMemory instance;
    return instance;
  }
  /// Filled with nonzero bytes, with guard areas on both sides that must not change.
  static Buffer give_out(std::size_t bytes, const void* device) {
    const std::size_t size = std::max<std::size_t>(bytes, 1);
    const std::size_t whole = (size + kGuard - 1) / kGuard * kGuard + 2 * kGuard;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kGuard, whole));
    std::memset(memory, static_cast<int>(kGuardByte), whole);
    all().add({memory + kGuard, size}, device);
    const auto free = [](void*, std::span<std::byte> m) noexcept {
      for (std::size_t i = 0; i < kGuard; ++i)
        if (*(m.data() - 1 - i) != kGuardByte || *(m.data() + m.size() + i) != kGuardByte) {
          ADD_FAILURE() << "write outside of memory of " << m.size() << " bytes";
          break;
        }
      all().remove(m.data());
      std::free(m.data() - kGuard);
    };
    return Buffer({memory + kGuard, size}, free, nullptr);
  }
  /// No device: shared memory.
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
  /// Without a lock, so that it costs nothing in tests without devices.
  bool none_of_devices() const noexcept { return of_devices_.load(std::memory_order_relaxed) == 0; }
  bool device_may(const void* device, const void* begin, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto* at = static_cast<const std::byte*>(begin);
    const Range* range = range_at(at);
    return range && at + bytes <= range->end && (!range->device || range->device == device);
  }
  bool is_of(const void* device, const void* at) const {
    const std::lock_guard lock(mutex_);
    const Range* range = range_at(static_cast<const std::byte*>(at));
    return range && range->device == device;
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
  static constexpr std::size_t kGuard = 128;
  static constexpr std::byte kGuardByte{0xa5};
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

/// An operation on a stream; operations with equal `what` are the same.
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

/// A stage's step on the stream; runs with the positions that are in memory by then.
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
      ADD_FAILURE() << "a device's step accesses memory that is not its own";
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

/// A stage's code for such a device: the host's code, put on the stream.
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

/// A step on the host next to devices: it must not access their memory.
inline void expect_on_host(const StageIo& io) {
  if (FakeMemory::all().none_of_devices()) return;
  for (const auto ports : {io.in, io.out})
    for (const PortIo& p : ports)
      for (std::int64_t row = 0; p.data && row < p.rows && p.length > 0; ++row)
        EXPECT_TRUE(FakeMemory::all().host_may(p.data + row * p.pitch, static_cast<std::size_t>(p.length * p.item) * 4))
            << "a step on the host accesses a device's memory";
}

}  // namespace iqd::testing
