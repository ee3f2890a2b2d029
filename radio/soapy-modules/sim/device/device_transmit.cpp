// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "radio/soapy-modules/sim/device/device.hpp"

namespace iqd::sim {
namespace {

using std::chrono::microseconds;
using std::this_thread::sleep_for;

constexpr std::size_t kMostReports = 64;
constexpr auto kPoll = microseconds(500);

}  // namespace

void Device::report(int code, int flags, std::int64_t position) {
  const std::lock_guard lock(mutex_);
  if (status_.size() < kMostReports) status_.push_back({code, flags, clock_.time_ns(position)});
}

/// Decides where the next samples go. 0, or the error that they meet.
int Device::place(Stream& tx, int flags, long long time_ns) {
  const std::int64_t hardware = now();
  if (flags & SOAPY_SDR_HAS_TIME) {
    const std::int64_t wanted = clock_.at(time_ns);
    if (wanted < hardware || wanted < tx.next) {
      report(SOAPY_SDR_TIME_ERROR, SOAPY_SDR_HAS_TIME, wanted);
      return SOAPY_SDR_TIME_ERROR;
    }
    tx.next = wanted;
  } else if (tx.next < hardware) {
    if (tx.in_burst) report(SOAPY_SDR_UNDERFLOW, SOAPY_SDR_HAS_TIME, tx.next);
    tx.next = hardware;
  }
  return 0;
}

bool Device::wait_for_room(const Stream& tx, long timeout_us) const {
  const auto deadline = SampleClock::Steady::now() + microseconds(timeout_us);
  while (tx.next - now() >= ahead()) {
    if (SampleClock::Steady::now() >= deadline) return false;
    sleep_for(kPoll);
  }
  return true;
}

void Device::send(Stream& tx, const void* const* buffers, std::int64_t samples) {
  for (std::size_t c = 0; c < tx.channels.size(); ++c) {
    const int channel = static_cast<int>(tx.channels[c]);
    if (tx.format == Format::cf32) {
      air_->write(channel, tx.next, {static_cast<const cf32*>(buffers[c]), static_cast<std::size_t>(samples)});
      continue;
    }
    const auto* in = static_cast<const std::int16_t*>(buffers[c]);
    const auto piece = static_cast<std::int64_t>(tx.scratch.size());
    for (std::int64_t done = 0; done < samples; done += piece) {
      const std::span<cf32> part(tx.scratch.data(), static_cast<std::size_t>(std::min(piece, samples - done)));
      from_cs16(in + 2 * done, part);
      air_->write(channel, tx.next + done, part);
    }
  }
}

int Device::writeStream(SoapySDR::Stream* handle, const void* const* buffers, std::size_t most, int& flags,
                        long long time_ns, long timeout_us) {
  Stream& tx = *reinterpret_cast<Stream*>(handle);
  if (unplugged_) return SOAPY_SDR_STREAM_ERROR;
  if (!tx.active) {
    sleep_for(microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  const auto samples = static_cast<std::int64_t>(std::min(most, getStreamMTU(handle)));
  if (samples > 0) {
    const std::int64_t before = tx.next;
    if (const int error = place(tx, flags, time_ns)) return error;
    if (!wait_for_room(tx, timeout_us)) {
      tx.next = before;
      return SOAPY_SDR_TIMEOUT;
    }
    if (scenario_->hears_air()) send(tx, buffers, samples);
    tx.next += samples;
    tx.in_burst = true;
  }
  if ((flags & SOAPY_SDR_END_BURST) && static_cast<std::size_t>(samples) == most) {
    const std::lock_guard lock(mutex_);
    tx.in_burst = false;
    burst_end_ = tx.next;
  }
  return static_cast<int>(samples);
}

bool Device::take_status(Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status_.empty()) {
    status = status_.front();
    status_.pop_front();
    return true;
  }
  // Free-running, nothing paces the transmitter: what was written is sent.
  if (burst_end_ < 0 || (paced_ && clock_.position() < burst_end_)) return false;
  status = {0, SOAPY_SDR_END_BURST | SOAPY_SDR_HAS_TIME, clock_.time_ns(burst_end_)};
  burst_end_ = -1;
  return true;
}

int Device::readStreamStatus(SoapySDR::Stream* handle, std::size_t& channels, int& flags, long long& time_ns,
                             long timeout_us) {
  const Stream& stream = *reinterpret_cast<Stream*>(handle);
  if (stream.direction == SOAPY_SDR_RX) return SOAPY_SDR_NOT_SUPPORTED;
  const auto deadline = SampleClock::Steady::now() + microseconds(timeout_us);
  Status status;
  while (!take_status(status)) {
    if (SampleClock::Steady::now() >= deadline) return SOAPY_SDR_TIMEOUT;
    sleep_for(kPoll);
  }
  channels = (std::size_t{1} << stream.channels.size()) - 1;
  flags = status.flags;
  time_ns = status.time_ns;
  return status.code;
}

}  // namespace iqd::sim
