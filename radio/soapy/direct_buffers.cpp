// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/direct_buffers.hpp"

#include <SoapySDR/Constants.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/log.hpp"

namespace iqd::radio::soapy {

std::unique_ptr<DirectBuffers> DirectBuffers::of(SoapySDR::Device& device, SoapySDR::Stream* stream,
                                                 std::size_t channels, std::size_t sample_bytes) {
  try {
    if (device.getNumDirectAccessBuffers(stream) == 0 || device.getStreamMTU(stream) == 0) return nullptr;
    return std::unique_ptr<DirectBuffers>(new DirectBuffers(device, stream, channels, sample_bytes));
  } catch (...) {
    log::debug("soapy: cannot ask the module for direct buffers");
    return nullptr;
  }
}

DirectBuffers::DirectBuffers(SoapySDR::Device& device, SoapySDR::Stream* stream, std::size_t channels,
                             std::size_t sample_bytes)
    : device_(device),
      stream_(stream),
      sample_bytes_(sample_bytes),
      most_(device.getStreamMTU(stream)),
      buffers_(channels) {}

DirectBuffers::~DirectBuffers() {
  try {
    release();
  } catch (...) {
    log::debug("soapy: cannot release a direct buffer");
  }
}

int DirectBuffers::read(std::span<void* const> into, std::size_t most, int& flags, long long& time_ns,
                        long timeout_us) {
  flags = 0;
  if (!held_)
    if (const int code = acquire(flags, time_ns, timeout_us); code <= 0) return code;
  const bool begins = at_ == 0;
  const std::size_t n = std::min(most, end_ - at_);
  for (std::size_t c = 0; c < into.size(); ++c)
    std::memcpy(into[c], static_cast<const char*>(buffers_[c]) + at_ * sample_bytes_, n * sample_bytes_);
  at_ += n;
  flags = begins ? flags_ & ~SOAPY_SDR_END_BURST : 0;
  if (at_ == end_) {
    flags |= flags_ & SOAPY_SDR_END_BURST;
    release();
  }
  return static_cast<int>(n);
}

int DirectBuffers::acquire(int& flags, long long& time_ns, long timeout_us) {
  std::fill(buffers_.begin(), buffers_.end(), nullptr);
  const int count = device_.acquireReadBuffer(stream_, handle_, buffers_.data(), flags, time_ns, timeout_us);
  if (count < 0) return count;
  held_ = true;
  flags_ = flags;
  if (static_cast<std::size_t>(count) > most_)
    throw std::runtime_error(fmt::format("the module reports that a buffer of {} samples holds {}", most_, count));
  if (count > 0 && std::find(buffers_.begin(), buffers_.end(), nullptr) != buffers_.end())
    throw std::runtime_error("the module returned a buffer without an address");
  at_ = 0;
  end_ = static_cast<std::size_t>(count);
  if (count == 0) release();
  return count;
}

void DirectBuffers::release() {
  if (!std::exchange(held_, false)) return;
  device_.releaseReadBuffer(stream_, handle_);
}

}  // namespace iqd::radio::soapy
