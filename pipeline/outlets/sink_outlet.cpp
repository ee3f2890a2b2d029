// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/sink_outlet.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/slot_mask.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/intake/thrown_text.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostCopies = 4096;

/// Items that may wait.
std::size_t most_waiting(bool lossless, std::size_t copied_bytes) noexcept {
  return copied_bytes > 0 && !lossless ? kMostCopies : SlotMask::kMost;
}

SinkCounts sum(const SinkCounts& a, const SinkCounts& b) {
  return {a.underflows + b.underflows, a.late + b.late, a.sequence_errors + b.sequence_errors};
}

}  // namespace

SinkOutlet::SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, SinkHold hold, Open reopen,
                       std::int64_t backoff_ns)
    : sink_(std::move(sink)),
      lossless_(lossless),
      name_(std::move(name)),
      queue_(most_waiting(lossless, hold.copied_bytes)),
      most_leased_(hold.messages),
      most_copied_(lossless ? 0 : hold.copied_bytes),
      reopen_(std::move(reopen)),
      backoff_ns_(backoff_ns),
      lost_(2 * queue_.capacity()),
      thread_([this] { run(); }) {}

SinkOutlet::~SinkOutlet() {
  interrupt();
  finish();
}

std::size_t SinkOutlet::queue_bytes(bool lossless, std::size_t copied_bytes) noexcept {
  return most_waiting(lossless, copied_bytes) * sizeof(Item);
}

bool SinkOutlet::send(const Message& message, Lease lease, bool) {
  const auto may_keep_slot = [this] { return leased_ < most_leased_; };
  if (lossless_) bell_.wait_until([&] { return may_keep_slot() || failed_ || interrupted_; });
  if (failed_ || interrupted_ || queue_.size() == queue_.capacity()) return false;
  Item item{message, {}};
  item.message.facts = {};
  if (may_keep_slot()) {
    item.lease = std::move(lease);
    leased_.fetch_add(1);
  } else if (!copy(item)) {
    return false;
  }
  queue_.try_push(std::move(item));
  bell_.ring();
  return true;
}

/// The slot goes back, and the engine may be replaced before the message's turn comes.
bool SinkOutlet::copy(Item& item) {
  Message& m = item.message;
  const std::size_t waiting = copied_ + m.payload.size();
  if (most_copied_ == 0 || waiting > most_copied_) return false;
  item.payload.reset(new (std::nothrow) std::byte[m.payload.size()]);
  if (!item.payload) return false;
  std::memcpy(item.payload.get(), m.payload.data(), m.payload.size());
  m.payload = {item.payload.get(), m.payload.size()};
  if (!copied_format_ || *copied_format_ != *m.format) copied_format_ = std::make_shared<const PortFormat>(*m.format);
  item.format = copied_format_;
  m.format = item.format.get();
  copied_.fetch_add(m.payload.size());
  if (waiting == m.payload.size()) is_behind_ = false;
  if (std::uint64_t more = 0;
      waiting > most_copied_ / 2 && !std::exchange(is_behind_, true) && behind_lines_.allow(more))
    log::warn("{}: is behind: {:.0f} MB wait in memory; what comes when it is {:.0f} MB is lost", name_,
              static_cast<double>(waiting) / 1e6, static_cast<double>(most_copied_) / 1e6);
  return true;
}

/// The oldest that waits; false where none does.
bool SinkOutlet::take(Item& item) noexcept {
  if (!queue_.try_pop(item)) return false;
  if (item.payload)
    copied_.fetch_sub(item.message.payload.size());
  else
    leased_.fetch_sub(1);
  return true;
}

void SinkOutlet::finish() {
  closing_ = true;
  bell_.ring();
  if (thread_.joinable()) thread_.join();
}

void SinkOutlet::interrupt() noexcept {
  interrupted_ = true;
  {
    const std::lock_guard lock(sink_mutex_);
    if (sink_) sink_->interrupt();
  }
  bell_.ring();
}

SinkCounts SinkOutlet::counts() const noexcept {
  const std::lock_guard lock(sink_mutex_);
  return sink_ ? sum(before_, sink_->counts()) : before_;
}

/// Whoever shares its device can only open that again when it is closed here.
/// Its destructor may never return: nobody else waits for that.
void SinkOutlet::close_sink() noexcept {
  const Watch watch(call_began_ns_);
  try {
    sink_->finish();
  } catch (...) {
    log::error("{}: {}", name_, thrown_text());
  }
  std::unique_ptr<Sink> closing;
  {
    const std::lock_guard lock(sink_mutex_);
    before_ = sum(before_, sink_->counts());
    closing = std::move(sink_);
  }
}

std::int64_t SinkOutlet::in_radio_ns() const noexcept {
  const std::int64_t began = call_began_ns_.load(std::memory_order_acquire);
  return began && reopen_ ? steady_ns() - began : 0;
}

std::optional<LostMessage> SinkOutlet::lost_after_all() {
  LostMessage lost;
  return lost_.try_pop(lost) ? std::optional(lost) : std::nullopt;
}

/// Gives the sink a message. What is lost is part of the gap before the next.
bool SinkOutlet::deliver(Message message) {
  if (hole_) message.gap = message.sample - *hole_;
  message.dropped += lost_samples_;
  const Watch watch(call_began_ns_);
  if (!sink_->send(message)) return false;
  hole_.reset();
  return true;
}

/// It was taken, and is lost after all. `send` leaves room for all that it took.
void SinkOutlet::lose(const Message& message) {
  lost_.try_push({message.block, message.samples});
  lost_samples_ += message.samples;
  if (!hole_) hole_ = message.sample - message.gap;
}

/// Tries until it is open again, waiting longer each time, or until nothing more is to be sent.
void SinkOutlet::reopen() {
  for (std::int64_t backoff = backoff_ns_; pause(backoff); backoff = std::min(2 * backoff, 8 * backoff_ns_)) {
    try {
      const Watch watch(call_began_ns_);
      std::unique_ptr<Sink> opened = reopen_();
      const std::lock_guard lock(sink_mutex_);
      sink_ = std::move(opened);
      failed_ = false;
    } catch (...) {
      log::warn("{}: cannot be opened again yet: {}", name_, thrown_text());
      continue;
    }
    log::info("{}: open again", name_);
    return;
  }
}

/// Waits, unless it is to end; what comes meanwhile is lost.
bool SinkOutlet::pause(std::int64_t ns) {
  for (const std::int64_t until = steady_ns() + ns; steady_ns() < until && !closing_ && !interrupted_;) {
    refuse_held();
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::int64_t>(20'000'000, ns)));
  }
  refuse_held();
  return !closing_ && !interrupted_;
}

void SinkOutlet::refuse_held() {
  for (Item item; take(item); item = {}) lose(item.message);
  bell_.ring();
}

void SinkOutlet::run() {
  prepare_thread({"iqd-sink", 0, {}});
  for (;;) {
    Item item;
    bool some = false;
    bell_.wait_until([&] {
      some = take(item);
      return some || closing_;
    });
    if (!some) break;
    bell_.ring();
    if (failed_ || interrupted_) {
      lose(item.message);
      continue;
    }
    try {
      if (!deliver(item.message)) lose(item.message);
    } catch (...) {
      lose(item.message);
      log::error("{}: {}; {}", name_, thrown_text(), reopen_ ? "it is opened again" : "nothing more goes there");
      failed_ = true;
      item = {};
      close_sink();
      if (reopen_) reopen();
    }
  }
  if (!failed_) close_sink();
}

}  // namespace iqd
