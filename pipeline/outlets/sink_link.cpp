// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/sink_link.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "pipeline/intake/thrown_text.hpp"

namespace iqd {
namespace {

/// Stores when a call began, until it ends.
class Watch {
 public:
  explicit Watch(std::atomic<std::int64_t>& began_ns) : began_ns_(began_ns) { began_ns_.store(steady_ns()); }
  ~Watch() { began_ns_.store(0); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::atomic<std::int64_t>& began_ns_;
};

SinkCounts sum(const SinkCounts& a, const SinkCounts& b) {
  return {a.underflows + b.underflows, a.late + b.late, a.sequence_errors + b.sequence_errors};
}

}  // namespace

bool SinkLink::send(const Message& message) {
  const Watch watch(call_began_ns_);
  return sink_->send(message);
}

/// A sink that shares the device can only reopen it after this one is closed.
/// The sink's destructor may never return; no other thread waits for it.
void SinkLink::close() noexcept {
  const Watch watch(call_began_ns_);
  try {
    sink_->finish();
  } catch (...) {
    log::error("{}: {}", name_, thrown_text());
  }
  std::unique_ptr<Sink> closing;
  {
    const std::lock_guard lock(mutex_);
    before_ = sum(before_, sink_->counts());
    closing = std::move(sink_);
  }
}

void SinkLink::open(const Open& open) {
  const Watch watch(call_began_ns_);
  std::unique_ptr<Sink> opened = open();
  const std::lock_guard lock(mutex_);
  sink_ = std::move(opened);
}

void SinkLink::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  if (sink_) sink_->interrupt();
}

SinkCounts SinkLink::counts() const noexcept {
  const std::lock_guard lock(mutex_);
  return sink_ ? sum(before_, sink_->counts()) : before_;
}

std::int64_t SinkLink::in_call_ns() const noexcept {
  const std::int64_t began = call_began_ns_.load(std::memory_order_acquire);
  return began ? steady_ns() - began : 0;
}

}  // namespace iqd
