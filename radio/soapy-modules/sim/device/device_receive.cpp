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

int Device::readStream(SoapySDR::Stream* handle, void* const* buffers, std::size_t most, int& flags, long long& time_ns,
                       long timeout_us) {
  Stream& rx = *reinterpret_cast<Stream*>(handle);
  flags = 0;
  if (!rx.active) {
    std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  if (const int error = faults_.trigger(rx, clock_, timeout_us)) return error;
  std::int64_t samples = static_cast<std::int64_t>(std::min(most, getStreamMTU(handle)));
  samples = std::min(samples, faults_.clear_until(rx.next));
  if (short_reads_ && samples > 1)
    samples =
        1 + static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(rx.next)) % static_cast<std::uint64_t>(samples));
  if (const int error = pacing_.wait_for_samples(rx, clock_, rate_hz_, timeout_us, samples)) return error;
  medium_->receive(rx, buffers, samples);
  if (front_end_) front_end_->receive(rx, rate_hz_, buffers, samples);
  if (time_stamps_) {
    flags |= SOAPY_SDR_HAS_TIME;
    time_ns = clock_.time_ns(rx.next);
  }
  rx.next += samples;
  return static_cast<int>(samples);
}

}  // namespace iqd::sim
