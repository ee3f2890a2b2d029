// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/pacing.hpp"

#include <SoapySDR/Errors.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace iqd::sim {
namespace {

constexpr double kPacket = 1e-3;                                // seconds of signal that a paced read waits for
constexpr double kTransmitBuffer = 0.1;                         // seconds
constexpr std::int64_t kUnpacedBuffer = std::int64_t{1} << 20;  // samples

}  // namespace

std::int64_t Pacing::transmit_buffer(double rate_hz) const noexcept {
  return paced_ ? static_cast<std::int64_t>(rate_hz * kTransmitBuffer) + 1 : kUnpacedBuffer;
}

int Pacing::wait_for_samples(Stream& rx, const SampleClock& clock, double rate_hz, long timeout_us,
                             std::int64_t& samples) const {
  if (!paced_) return 0;
  const std::int64_t wanted = std::clamp<std::int64_t>(static_cast<std::int64_t>(rate_hz * kPacket), 1, samples);
  const auto deadline = SampleClock::Steady::now() + std::chrono::microseconds(timeout_us);
  const auto due = clock.when(rx.next + wanted);
  std::this_thread::sleep_until(std::min(due, deadline));
  std::int64_t available = clock.position() - rx.next;
  if (available <= 0 || (available < wanted && due > deadline)) return SOAPY_SDR_TIMEOUT;
  if (static_cast<double>(available) > buffer_s_ * rate_hz) {
    rx.next += available;
    return SOAPY_SDR_OVERFLOW;
  }
  samples = std::min(samples, available);
  return 0;
}

}  // namespace iqd::sim
