// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/sink_link.hpp"

#include "base/log.hpp"
#include "pipeline/intake/thrown_text.hpp"

namespace iqd {
namespace {

SinkCounts sum(const SinkCounts& a, const SinkCounts& b) {
  return {a.underflows + b.underflows, a.late + b.late, a.sequence_errors + b.sequence_errors};
}

}  // namespace

bool SinkLink::send(const Message& message) {
  return calls_.call([&] { return sink_->send(message); });
}

/// A sink that shares the device can only reopen it after this one is closed.
/// The sink's destructor may never return; no other thread waits for it.
void SinkLink::close() noexcept {
  calls_.call([this] {
    try {
      sink_->finish();
    } catch (...) {
      log::error("{}: {}", name_, thrown_text());
    }
    std::unique_ptr<Sink> closing;
    const std::lock_guard lock(mutex_);
    before_ = sum(before_, sink_->counts());
    closing = std::move(sink_);
  });
}

void SinkLink::open(const Open& open) {
  std::unique_ptr<Sink> opened = calls_.call([&] { return open(); });
  const std::lock_guard lock(mutex_);
  sink_ = std::move(opened);
}

void SinkLink::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  if (sink_) sink_->interrupt();
}

DeviceKeys SinkLink::device_keys() const {
  const std::lock_guard lock(mutex_);
  return sink_ ? sink_->device_keys() : DeviceKeys();
}

SinkCounts SinkLink::counts() const noexcept {
  const std::lock_guard lock(mutex_);
  return sink_ ? sum(before_, sink_->counts()) : before_;
}

}  // namespace iqd
