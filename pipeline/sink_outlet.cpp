// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sink_outlet.hpp"

#include "base/log.hpp"
#include "base/slot_mask.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {

SinkOutlet::SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, std::size_t most_held)
    : sink_(std::move(sink)),
      lossless_(lossless),
      queue_(SlotMask::kMost),
      most_held_(most_held),
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
  return sink_ ? sink_->counts() : last_counts_;
}

/// Whoever shares its device can only open that again when it is closed here.
void SinkOutlet::close_sink(const std::string& name) noexcept {
  try {
    sink_->finish();
  } catch (const std::exception& e) {
    log::error("{}: {}", name, e.what());
  }
  const std::lock_guard lock(sink_mutex_);
  last_counts_ = sink_->counts();
  sink_.reset();
}

std::int64_t SinkOutlet::lost_after_all() {
  return refused_.exchange(0);
}

/// Gives the sink a message. What it refuses is part of the gap before the next.
bool SinkOutlet::deliver(Message message) {
  if (hole_) message.gap = message.sample - *hole_;
  if (sink_->send(message)) {
    hole_.reset();
    return true;
  }
  if (!hole_) hole_ = message.sample - message.gap;
  return false;
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
    if (failed_ || interrupted_) continue;
    try {
      if (!deliver(item.message)) refused_.fetch_add(1);
    } catch (const std::exception& e) {
      log::error("{}: {}; nothing more goes there", name, e.what());
      failed_ = true;
      close_sink(name);
    }
  }
  if (!failed_) close_sink(name);
}

}  // namespace iqd
