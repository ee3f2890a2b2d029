// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "radio/soapy-modules/sim/device/device.hpp"

namespace iqd::sim {

std::size_t Device::getNumDirectAccessBuffers(SoapySDR::Stream* handle) {
  return reinterpret_cast<Stream*>(handle)->direction == SOAPY_SDR_RX ? direct_.size() : 0;
}

int Device::getDirectAccessBufferAddrs(SoapySDR::Stream* stream, std::size_t handle, void** buffers) {
  if (handle >= getNumDirectAccessBuffers(stream)) return SOAPY_SDR_NOT_SUPPORTED;
  std::ranges::copy(direct_.addresses(handle), buffers);
  return 0;
}

/// Works like a driver: while the caller holds all buffers, new samples have no place and are lost.
int Device::acquireReadBuffer(SoapySDR::Stream* stream, std::size_t& handle, const void** buffers, int& flags,
                              long long& time_ns, long timeout_us) {
  if (getNumDirectAccessBuffers(stream) == 0) return SOAPY_SDR_NOT_SUPPORTED;
  const std::optional<std::size_t> free = direct_.free();
  if (!free) {
    std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  handle = *free;
  const std::vector<void*> into = direct_.addresses(handle);
  const int count = readStream(stream, into.data(), getStreamMTU(stream), flags, time_ns, timeout_us);
  if (count <= 0) return count;
  std::ranges::copy(into, buffers);
  direct_.hold(handle);
  return count;
}

void Device::releaseReadBuffer(SoapySDR::Stream*, std::size_t handle) {
  direct_.release(handle);
}

}  // namespace iqd::sim
