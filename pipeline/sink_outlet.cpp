// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sink_outlet.hpp"

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/slot_mask.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {
namespace {

SinkCounts sum(const SinkCounts& a, const SinkCounts& b) {
  return {a.underflows + b.underflows, a.late + b.late, a.sequence_errors + b.sequence_errors};
}

}  // namespace

SinkOutlet::SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, std::size_t most_held, Open reopen,
                       std::int64_t backoff_ns)
    : sink_(std::move(sink)),
      lossless_(lossless),
      queue_(SlotMask::kMost),
      most_held_(most_held),
      reopen_(std::move(reopen)),
      backoff_ns_(backoff_ns),
      thread_([this, n = std::move(name)] { run(n); }) {}

SinkOutlet::~SinkOutlet() {
  interrupt();
  finish();
}

bool SinkOutlet::send(const Message& message, Lease lease, bool) {
  const auto may_go_on = [this] { return queue_.size() < most_held_ || failed_ || interrupted_; };
  if (lossless_) bell_.wait_until(may_go_on);
  if (failed_ || interrupted_ || !may_go_on()) return false;
  Item item{message, std::move(lease)};
  item.message.facts = {};
  if (!queue_.try_push(std::move(item))) return false;
  bell_.ring();
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
void SinkOutlet::close_sink(const std::string& name) noexcept {
  try {
    sink_->finish();
  } catch (const std::exception& e) {
    log::error("{}: {}", name, e.what());
  }
  const std::lock_guard lock(sink_mutex_);
  before_ = sum(before_, sink_->counts());
  sink_.reset();
}

std::int64_t SinkOutlet::lost_after_all() {
  return refused_.exchange(0);
}

/// Gives the sink a message. What is lost is part of the gap before the next.
bool SinkOutlet::deliver(Message message) {
  if (hole_) message.gap = message.sample - *hole_;
  if (!sink_->send(message)) return false;
  hole_.reset();
  return true;
}

/// It was taken, and is lost after all.
void SinkOutlet::lose(const Message& message) {
  refused_.fetch_add(1);
  if (!hole_) hole_ = message.sample - message.gap;
}

/// Tries until it is open again, waiting longer each time, or until nothing more is to be sent.
void SinkOutlet::reopen(const std::string& name) {
  for (std::int64_t backoff = backoff_ns_; pause(backoff); backoff = std::min(2 * backoff, 8 * backoff_ns_)) {
    try {
      std::unique_ptr<Sink> opened = reopen_();
      const std::lock_guard lock(sink_mutex_);
      sink_ = std::move(opened);
      failed_ = false;
    } catch (const std::exception& e) {
      log::warn("{}: cannot be opened again yet: {}", name, e.what());
      continue;
    }
    log::info("{}: open again", name);
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
  for (Item item; queue_.try_pop(item); item = {}) lose(item.message);
  bell_.ring();
}

void SinkOutlet::run(const std::string& name) {
  prepare_thread({"iqd-sink", 0, {}});
  for (;;) {
    Item item;
    bool some = false;
    bell_.wait_until([&] {
      some = queue_.try_pop(item);
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
    } catch (const std::exception& e) {
      lose(item.message);
      log::error("{}: {}; {}", name, e.what(), reopen_ ? "it is opened again" : "nothing more goes there");
      failed_ = true;
      item = {};
      close_sink(name);
      if (reopen_) reopen(name);
    }
  }
  if (!failed_) close_sink(name);
}

}  // namespace iqd
