// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/sink_outlet.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pipeline/backend/prepare_thread.hpp"
#include "pipeline/intake/thrown_text.hpp"

namespace iqd {

SinkOutlet::SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, SinkHold hold, Open reopen,
                       std::int64_t backoff_ns)
    : sink_(name, std::move(sink)),
      lossless_(lossless),
      held_(std::move(name), {hold.messages, lossless ? 0 : hold.copied_bytes}),
      losses_(2 * held_.capacity()),
      reopen_(std::move(reopen)),
      backoff_ns_(backoff_ns),
      thread_([this] { run(); }) {}

SinkOutlet::~SinkOutlet() {
  interrupt();
  finish();
}

std::size_t SinkOutlet::queue_bytes(bool lossless, std::size_t copied_bytes) noexcept {
  return HeldMessages::bytes(lossless ? 0 : copied_bytes);
}

bool SinkOutlet::send(const Message& message, Lease lease, bool) {
  if (lossless_) bell_.wait_until([&] { return held_.may_keep_slot() || failed_ || interrupted_; });
  if (failed_ || interrupted_ || !held_.put(message, std::move(lease))) return false;
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
  sink_.interrupt();
  bell_.ring();
}

SinkCounts SinkOutlet::counts() const noexcept {
  return sink_.counts();
}

std::int64_t SinkOutlet::in_radio_ns() const noexcept {
  return reopen_ ? sink_.in_call_ns() : 0;
}

std::optional<LostMessage> SinkOutlet::lost_after_all() {
  return losses_.fetch();
}

void SinkOutlet::run() {
  prepare_thread({"iqd-sink", 0, {}});
  for (;;) {
    HeldMessage held;
    bool some = false;
    bell_.wait_until([&] {
      some = held_.take(held);
      return some || closing_;
    });
    if (!some) break;
    bell_.ring();
    if (failed_ || interrupted_)
      losses_.add(held.message);
    else
      pass_on(held);
  }
  if (!failed_) sink_.close();
}

void SinkOutlet::pass_on(HeldMessage& held) {
  try {
    if (!deliver(held.message)) losses_.add(held.message);
  } catch (...) {
    losses_.add(held.message);
    log::error("{}: {}; {}", sink_.name(), thrown_text(), reopen_ ? "reopening" : "it stays closed");
    failed_ = true;
    held = {};
    sink_.close();
    if (reopen_) reopen();
  }
}

/// Lost messages become part of the gap before this one.
bool SinkOutlet::deliver(Message message) {
  losses_.report(message);
  if (!sink_.send(message)) return false;
  losses_.reported();
  return true;
}

/// Tries until the sink is open again or the outlet ends, waiting longer each time.
void SinkOutlet::reopen() {
  for (std::int64_t backoff = backoff_ns_; pause(backoff); backoff = std::min(2 * backoff, 8 * backoff_ns_)) {
    try {
      sink_.open(reopen_);
      failed_ = false;
    } catch (...) {
      log::warn("{}: cannot be opened again yet: {}", sink_.name(), thrown_text());
      continue;
    }
    log::info("{}: open again", sink_.name());
    return;
  }
}

/// Waits, unless the outlet ends; messages that come meanwhile are lost.
bool SinkOutlet::pause(std::int64_t ns) {
  for (const std::int64_t until = steady_ns() + ns; steady_ns() < until && !is_ending();) {
    lose_held();
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::int64_t>(20'000'000, ns)));
  }
  lose_held();
  return !is_ending();
}

void SinkOutlet::lose_held() {
  for (HeldMessage held; held_.take(held); held = {}) losses_.add(held.message);
  bell_.ring();
}

}  // namespace iqd
