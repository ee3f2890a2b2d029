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

constexpr auto kPoll = microseconds(500);

}  // namespace

void Device::report(int code, std::int64_t position) {
  const std::lock_guard lock(mutex_);
  reports_.add({code, SOAPY_SDR_HAS_TIME, clock_.time_ns(position)});
}

/// Decides where the next samples go. Returns 0 or an error code.
int Device::place(Stream& tx, int flags, long long time_ns) {
  const std::int64_t hardware = now();
  if (flags & SOAPY_SDR_HAS_TIME) {
    const std::int64_t wanted = clock_.at(time_ns);
    if (wanted < hardware || wanted < tx.next) {
      report(SOAPY_SDR_TIME_ERROR, wanted);
      return SOAPY_SDR_TIME_ERROR;
    }
    tx.next = wanted;
  } else if (tx.next < hardware) {
    if (tx.in_burst) report(SOAPY_SDR_UNDERFLOW, tx.next);
    tx.next = hardware;
  }
  return 0;
}

bool Device::wait_for_room(const Stream& tx, long timeout_us) const {
  const auto deadline = SampleClock::Steady::now() + microseconds(timeout_us);
  while (tx.next - now() >= pacing_.transmit_buffer(rate_hz_)) {
    if (SampleClock::Steady::now() >= deadline) return false;
    sleep_for(kPoll);
  }
  return true;
}

int Device::writeStream(SoapySDR::Stream* handle, const void* const* buffers, std::size_t most, int& flags,
                        long long time_ns, long timeout_us) {
  Stream& tx = *reinterpret_cast<Stream*>(handle);
  if (faults_.is_unplugged()) return SOAPY_SDR_STREAM_ERROR;
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
    medium_->transmit(tx, buffers, samples);
    tx.next += samples;
    tx.in_burst = true;
  }
  if ((flags & SOAPY_SDR_END_BURST) && static_cast<std::size_t>(samples) == most) {
    const std::lock_guard lock(mutex_);
    tx.in_burst = false;
    reports_.burst_ends_at(tx.next);
  }
  return static_cast<int>(samples);
}

std::optional<Status> Device::take_report() {
  const std::lock_guard lock(mutex_);
  return reports_.take(clock_, pacing_.is_paced());
}

int Device::readStreamStatus(SoapySDR::Stream* handle, std::size_t& channels, int& flags, long long& time_ns,
                             long timeout_us) {
  const Stream& stream = *reinterpret_cast<Stream*>(handle);
  if (stream.direction == SOAPY_SDR_RX) return SOAPY_SDR_NOT_SUPPORTED;
  const auto deadline = SampleClock::Steady::now() + microseconds(timeout_us);
  std::optional<Status> status;
  while (!(status = take_report())) {
    if (SampleClock::Steady::now() >= deadline) return SOAPY_SDR_TIMEOUT;
    sleep_for(kPoll);
  }
  channels = (std::size_t{1} << stream.channels.size()) - 1;
  flags = status->flags;
  time_ns = status->time_ns;
  return status->code;
}

}  // namespace iqd::sim
