// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/random.hpp"
#include "radio/soapy-modules/sim/device/device.hpp"

namespace iqd::sim {
namespace {

using std::chrono::microseconds;
using std::this_thread::sleep_for;
using std::this_thread::sleep_until;

constexpr double kPacket = 1e-3;  // seconds of signal that a paced read waits for

}  // namespace

void hang() {
  for (;;) sleep_for(std::chrono::hours(1));
}

/// Lets happen what is due at the next sample. Returns an error code of Soapy's, or 0: samples may be read.
int Device::suffer(Stream& rx, long timeout_us) {
  for (;;) {
    if (unplugged_) return SOAPY_SDR_STREAM_ERROR;
    if (SampleClock::Steady::now() < stalled_until_) {
      sleep_for(microseconds(timeout_us));
      return SOAPY_SDR_TIMEOUT;
    }
    const Fault fault = faults_->take(rx.next);
    switch (fault.kind) {
      case Fault::Kind::none: return 0;
      case Fault::Kind::overflow: rx.next += fault.lost; return SOAPY_SDR_OVERFLOW;
      case Fault::Kind::late: rx.next += fault.lost; return SOAPY_SDR_TIME_ERROR;
      case Fault::Kind::loss: rx.next += fault.lost; break;
      case Fault::Kind::hang_close: hangs_when_closed_ = true; break;
      case Fault::Kind::jump: clock_.jump(fault.seconds); break;
      case Fault::Kind::disconnect: unplugged_ = true; break;
      case Fault::Kind::hang: hang();
      case Fault::Kind::stall:
        stalled_until_ = SampleClock::Steady::now() + microseconds(static_cast<std::int64_t>(fault.seconds * 1e6));
        break;
    }
  }
}

/// Waits until a packet's worth has come, then cuts `samples` to what is there. 0, or an error code.
int Device::wait_for_samples(Stream& rx, std::int64_t wanted, long timeout_us, std::int64_t& samples) {
  const auto deadline = SampleClock::Steady::now() + microseconds(timeout_us);
  const auto due = clock_.when(rx.next + wanted);
  sleep_until(std::min(due, deadline));
  std::int64_t available = clock_.position() - rx.next;
  if (available <= 0 || (available < wanted && due > deadline)) return SOAPY_SDR_TIMEOUT;
  if (static_cast<double>(available) > buffer_s_ * rate_hz_) {
    rx.next += available;
    return SOAPY_SDR_OVERFLOW;
  }
  samples = std::min(samples, available);
  return 0;
}

void Device::render(Stream& rx, void* const* buffers, std::int64_t samples) {
  for (std::size_t c = 0; c < rx.channels.size(); ++c) {
    const int channel = static_cast<int>(rx.channels[c]);
    if (rx.format == Format::cf32) {
      scenario_->render(channel, rx.next, {static_cast<cf32*>(buffers[c]), static_cast<std::size_t>(samples)});
      continue;
    }
    auto* out = static_cast<std::int16_t*>(buffers[c]);
    if (scenario_->render_cs16(channel, rx.next, samples, out)) continue;
    const auto piece = static_cast<std::int64_t>(rx.scratch.size());
    for (std::int64_t done = 0; done < samples; done += piece) {
      const std::span<cf32> part(rx.scratch.data(), static_cast<std::size_t>(std::min(piece, samples - done)));
      scenario_->render(channel, rx.next + done, part);
      to_cs16(part, out + 2 * done);
    }
  }
}

int Device::readStream(SoapySDR::Stream* handle, void* const* buffers, std::size_t most, int& flags, long long& time_ns,
                       long timeout_us) {
  Stream& rx = *reinterpret_cast<Stream*>(handle);
  flags = 0;
  if (!rx.active) {
    sleep_for(microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  if (const int error = suffer(rx, timeout_us)) return error;
  std::int64_t samples = static_cast<std::int64_t>(std::min(most, getStreamMTU(handle)));
  samples = std::min(samples, faults_->clear_until(rx.next));
  if (short_reads_ && samples > 1)
    samples =
        1 + static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(rx.next)) % static_cast<std::uint64_t>(samples));
  if (paced_) {
    const std::int64_t packet = std::clamp<std::int64_t>(static_cast<std::int64_t>(rate_hz_ * kPacket), 1, samples);
    if (const int error = wait_for_samples(rx, packet, timeout_us, samples)) return error;
  }
  render(rx, buffers, samples);
  if (has_front_end_) pass_front_end(rx, buffers, samples);
  if (time_stamps_) {
    flags |= SOAPY_SDR_HAS_TIME;
    time_ns = clock_.time_ns(rx.next);
  }
  rx.next += samples;
  return static_cast<int>(samples);
}

}  // namespace iqd::sim
