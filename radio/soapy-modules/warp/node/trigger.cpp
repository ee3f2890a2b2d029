// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/trigger.hpp"

#include <chrono>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/packet.hpp"

namespace iqd::warp {
namespace {

constexpr std::int64_t kMostReadingNs = 1'000'000'000;

std::chrono::steady_clock::time_point when(std::int64_t steady) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(steady));
}

}  // namespace

bool Trigger::begin_capture(std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, when(deadline_ns), [this] { return !burst_; })) return false;
  capture_ = true;
  capture_since_ns_ = steady_ns();
  return true;
}

/// Assumes that the packet left in the middle of the call.
Shot Trigger::fire() {
  const Bytes bytes = encode_trigger({kBroadcast, options_.host, Type::trigger, ++sequence_, 0, options_.id});
  const Shot before{wall_ns(), steady_ns()};
  socket_.send_to(bytes, options_.address);
  const std::int64_t half = (steady_ns() - before.steady_ns) / 2;
  return {before.wall_ns + half, before.steady_ns + half};
}

void Trigger::await_burst() {
  const std::lock_guard lock(mutex_);
  awaited_ = true;
  begun_.reset();
}

std::optional<Shot> Trigger::burst(std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, when(deadline_ns), [this] { return begun_.has_value(); });
  return begun_;
}

void Trigger::end_capture() {
  const std::lock_guard lock(mutex_);
  capture_ = awaited_ = false;
  begun_.reset();
  changed_.notify_all();
}

bool Trigger::begin_burst(std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto free = [this] { return !capture_ || steady_ns() - capture_since_ns_ > kMostReadingNs; };
  if (!changed_.wait_until(lock, when(deadline_ns), free)) return false;
  burst_ = true;
  return true;
}

Shot Trigger::fire_burst(std::optional<std::int64_t> wall_ns) {
  const std::lock_guard lock(mutex_);
  Shot shot = fire();
  if (wall_ns) shot.wall_ns = *wall_ns;
  if (awaited_) {
    begun_ = shot;
    awaited_ = false;
    capture_ = true;
    capture_since_ns_ = shot.steady_ns;
    changed_.notify_all();
  }
  return shot;
}

void Trigger::end_burst() {
  const std::lock_guard lock(mutex_);
  burst_ = false;
  changed_.notify_all();
}

}  // namespace iqd::warp
