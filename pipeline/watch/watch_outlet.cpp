// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watch_outlet.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace iqd {

WatchOutlet::WatchOutlet(PortFormat format, WatchKind kind, WatchGrid grid, std::int64_t trace_bytes, double per_second,
                         bool gathers)
    : format_(std::move(format)),
      kind_(kind),
      grid_(std::move(grid)),
      trace_bytes_(trace_bytes),
      traces_(std::min({grid_.traces(), kMostTraces, kMostBytes / std::max<std::int64_t>(trace_bytes, 1)})),
      gathers_(gathers),
      pace_(per_second) {}

void WatchOutlet::reserve() {
  for (WatchCopy& copy : copies_) copy.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes() / 2);
}

bool WatchOutlet::send(const Message& message, Lease /*lease*/, bool /*scarce*/) {
  const std::uint64_t wanted = wanted_.load(std::memory_order_relaxed);
  if (wanted == 0) return true;
  WatchCopy* to = &copies_[filling_];
  const bool is_full = is_full_[filling_].load(std::memory_order_acquire);
  if (is_new_watch()) {
    since_ = {};
    if (!is_full) to->messages = 0;
  }
  if (is_full) return note(message), true;
  // What is on both sides of a gap or a retune is not one row.
  if (to->messages > 0 && (message.gap > 0 || message.frequency_hz() != to->frequency_hz)) hand_over();
  note(message);
  to = &copies_[filling_];
  // A block within which the radio was retuned shows both settings. Each of its items has one.
  if (message.tuned > message.sample && kind_ != WatchKind::items) return true;
  if (is_full_[filling_].load(std::memory_order_acquire)) return true;
  const bool is_due = pace_.is_due(steady_ns());
  if (message.payload.empty()) {
    if (is_due && to->messages > 0) hand_over();
    return true;
  }
  if (!is_due && !gathers_) return true;
  if (to->messages == 0) {
    to->traces = wanted;
    to->time_ns = message.time_ns;
    to->frequency_hz = message.frequency_hz();
  }
  if (!copy(message, *to)) return true;
  ++to->messages;
  if (is_due) hand_over();
  return true;
}

/// Watching has begun since the previous message: what was noted earlier is old.
bool WatchOutlet::is_new_watch() noexcept {
  const std::uint32_t watches = watches_.load(std::memory_order_relaxed);
  return std::exchange(watch_, watches) != watches;
}

void WatchOutlet::note(const Message& message) noexcept {
  since_.gap += message.gap;
  since_.retuned = since_.retuned || message.tuned >= 0;
}

void WatchOutlet::hand_over() noexcept {
  WatchCopy& full = copies_[filling_];
  const Since since = std::exchange(since_, {});
  full.gap = since.gap;
  full.retuned = since.retuned;
  full.clipped = since.clipped;
  pace_.took();
  is_full_[filling_].store(true, std::memory_order_release);
  filling_ ^= 1;
}

void WatchOutlet::want(std::uint64_t traces) noexcept {
  if (traces != 0 && !is_watched()) {
    // What is left from an earlier time is old.
    while (take()) give_back();
    watches_.fetch_add(1, std::memory_order_relaxed);
  }
  wanted_.store(traces, std::memory_order_relaxed);
}

const WatchCopy* WatchOutlet::take() noexcept {
  return is_full_[taking_].load(std::memory_order_acquire) ? &copies_[taking_] : nullptr;
}

void WatchOutlet::give_back() noexcept {
  copies_[taking_].messages = 0;
  is_full_[taking_].store(false, std::memory_order_release);
  taking_ ^= 1;
}

}  // namespace iqd
