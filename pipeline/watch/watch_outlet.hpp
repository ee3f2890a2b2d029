// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/outlet.hpp"
#include "pipeline/watch/watch_copy.hpp"
#include "pipeline/watch/watch_grid.hpp"
#include "pipeline/watch/watch_kind.hpp"
#include "pipeline/watch/watch_pace.hpp"

namespace iqd {

/// Copies what the live page shows of a port. Two threads use it: the publishing one sends messages, another one takes
/// copies out of two buffers, which are as large as they will ever be.
///
/// `send` copies only while some trace is wanted and a buffer is free, at most so many times a second. It never waits,
/// releases its lease at once, and refuses nothing.
class WatchOutlet : public Outlet {
 public:
  static constexpr std::int64_t kMostTraces = 64;
  /// Of one buffer. A port with larger traces has fewer of them.
  static constexpr std::int64_t kMostBytes = 4 << 20;

  // Any thread.
  const PortFormat& format() const noexcept { return format_; }
  WatchKind kind() const noexcept { return kind_; }
  /// How many traces it shows; the grid may have more.
  std::int64_t traces() const noexcept { return traces_; }
  const WatchGrid& grid() const noexcept { return grid_; }
  /// The bytes of both buffers.
  std::size_t bytes() const noexcept { return 2 * static_cast<std::size_t>(traces_ * trace_bytes_); }
  /// Where a trace begins in a copy.
  const std::byte* trace_in(const WatchCopy& copy, std::int64_t trace) const noexcept {
    return copy.bytes.get() + trace * trace_bytes_;
  }
  /// Allocates the buffers; before anything else is called.
  void reserve();
  bool is_watched() const noexcept { return wanted_.load(std::memory_order_relaxed) != 0; }

  // The publishing thread. A message without payload reports a gap or a retune, and lets go what was gathered before.
  bool send(const Message& message, Lease lease, bool scarce) override;
  /// These channels have clipped since the previous copy.
  void note_clipped(std::uint64_t channels) noexcept { since_.clipped |= channels; }

  // The thread that takes copies.
  /// From now on these traces (bits) are wanted; 0: nothing.
  void want(std::uint64_t traces) noexcept;
  /// The next copy, or null. It is the caller's until `give_back`.
  const WatchCopy* take() noexcept;
  void give_back() noexcept;

 protected:
  /// `trace_bytes`: capacity of a trace. `gathers`: copies are made of all messages since the previous one.
  WatchOutlet(PortFormat format, WatchKind kind, WatchGrid grid, std::int64_t trace_bytes, double per_second,
              bool gathers);
  /// Copies the traces of `into.traces`, and sets `count`; with `into.messages` > 0 it adds to what was copied before.
  /// False: the message is too short to be shown.
  virtual bool copy(const Message& message, WatchCopy& into) noexcept = 0;
  std::byte* trace_at(WatchCopy& copy, std::int64_t trace) const noexcept {
    return copy.bytes.get() + trace * trace_bytes_;
  }

  const PortFormat format_;

 private:
  bool is_new_watch() noexcept;
  void note(const Message& message) noexcept;
  void hand_over() noexcept;

  const WatchKind kind_;
  const WatchGrid grid_;
  const std::int64_t trace_bytes_;
  const std::int64_t traces_;
  const bool gathers_;

  std::atomic<std::uint64_t> wanted_{0};
  std::atomic<std::uint32_t> watches_{0};  // how often watching began
  std::array<WatchCopy, 2> copies_;
  std::array<std::atomic<bool>, 2> is_full_{};

  // The publishing thread's.
  WatchPace pace_;
  std::uint32_t watch_ = 0;
  std::size_t filling_ = 0;
  struct Since {  // the previous copy
    std::int64_t gap = 0;
    std::uint64_t clipped = 0;
    bool retuned = false;
  } since_;

  std::size_t taking_ = 0;  // the other thread's
};

}  // namespace iqd
