// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/burst_stream.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "radio/transmit_watch.hpp"

namespace iqd::radio::usrp {
namespace {

constexpr double kSendTimeoutSeconds = 0.1;

}  // namespace

void BurstStream::end_before(const Message& message) {
  const double sample_ns = 1e9 / rate_hz_;
  const bool jumps = static_cast<double>(std::abs(timing_.leaves_ns(message) - next_ns_)) > sample_ns / 2;
  if (in_burst_ && (bursts_ == Bursts::message || (timing_.timed && jumps))) end();
}

void BurstStream::begin(const std::optional<uhd::time_spec_t>& at) {
  metadata_.start_of_burst = true;
  metadata_.end_of_burst = bursts_ == Bursts::message;
  metadata_.has_time_spec = at.has_value();
  if (at) metadata_.time_spec = *at;
  in_burst_ = true;
}

bool BurstStream::write(const Message& message, const std::atomic<bool>& interrupted) {
  auto left = static_cast<std::size_t>(rows_.start(message));
  next_ns_ = timing_.leaves_ns(message) + std::llround(static_cast<double>(left) / rate_hz_ * 1e9);
  std::int64_t deadline = steady_ns() + TransmitWatch::kPatienceNs;
  while (left > 0 && !interrupted) {
    const std::size_t taken = stream_->send(rows_.pointers(), left, metadata_, kSendTimeoutSeconds);
    if (taken == 0 && steady_ns() > deadline) return false;
    if (taken == 0) continue;
    rows_.advance(static_cast<std::int64_t>(taken));
    left -= taken;
    metadata_.start_of_burst = metadata_.has_time_spec = false;
    deadline = steady_ns() + TransmitWatch::kPatienceNs;
  }
  if (left == 0 && metadata_.end_of_burst) ended();
  return left == 0;
}

void BurstStream::end() {
  metadata_.start_of_burst = metadata_.has_time_spec = false;
  metadata_.end_of_burst = true;
  stream_->send(rows_.pointers(), 0, metadata_, kSendTimeoutSeconds);
  ended();
}

void BurstStream::ended() {
  in_burst_ = false;
  ++unacknowledged_;
  const std::int64_t ahead = timing_.timed ? std::max<std::int64_t>(0, next_ns_ - wall_ns()) : 0;
  on_air_until_ns_ = steady_ns() + ahead + TransmitWatch::kPatienceNs;
}

bool BurstStream::is_on_air() const noexcept {
  return in_burst_ || (unacknowledged_ > 0 && steady_ns() < on_air_until_ns_);
}

}  // namespace iqd::radio::usrp
