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

std::vector<void*> Device::addresses(std::size_t handle) {
  std::vector<void*> all;
  for (auto& channel : direct_.at(handle).channels) all.push_back(channel.data());
  return all;
}

int Device::getDirectAccessBufferAddrs(SoapySDR::Stream* stream, std::size_t handle, void** buffers) {
  if (handle >= getNumDirectAccessBuffers(stream)) return SOAPY_SDR_NOT_SUPPORTED;
  std::ranges::copy(addresses(handle), buffers);
  return 0;
}

/// As a driver fills its buffers: while all of them are held it has none, and loses what comes.
int Device::acquireReadBuffer(SoapySDR::Stream* stream, std::size_t& handle, const void** buffers, int& flags,
                              long long& time_ns, long timeout_us) {
  const auto free = std::ranges::find(direct_, false, &DirectBuffer::held);
  if (getNumDirectAccessBuffers(stream) == 0) return SOAPY_SDR_NOT_SUPPORTED;
  if (free == direct_.end()) {
    std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  handle = static_cast<std::size_t>(free - direct_.begin());
  const std::vector<void*> into = addresses(handle);
  const int count = readStream(stream, into.data(), getStreamMTU(stream), flags, time_ns, timeout_us);
  if (count <= 0) return count;
  std::ranges::copy(into, buffers);
  free->held = true;
  return count;
}

void Device::releaseReadBuffer(SoapySDR::Stream*, std::size_t handle) {
  direct_.at(handle).held = false;
}

}  // namespace iqd::sim
