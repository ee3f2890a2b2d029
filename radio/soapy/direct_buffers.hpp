// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace iqd::radio::soapy {

/// Reads a stream from the module's own buffers, so that samples are copied only once. One thread.
class DirectBuffers {
 public:
  /// Returns null if the module has no direct buffers for this stream. Call before the stream is active.
  static std::unique_ptr<DirectBuffers> of(SoapySDR::Device& device, SoapySDR::Stream* stream, std::size_t channels,
                                           std::size_t sample_bytes);
  /// Releases a buffer that is still held. Destroy before the stream is closed.
  ~DirectBuffers();
  DirectBuffers(const DirectBuffers&) = delete;
  DirectBuffers& operator=(const DirectBuffers&) = delete;

  /// Like Device::readStream: returns the number of samples, or an error code. If a buffer has more than `most`
  /// samples, the next calls return the rest, without a time stamp; the last part has the end of a burst. Throws the
  /// module's exceptions, and when the module violates the API.
  int read(std::span<void* const> into, std::size_t most, int& flags, long long& time_ns, long timeout_us);

 private:
  DirectBuffers(SoapySDR::Device& device, SoapySDR::Stream* stream, std::size_t channels, std::size_t sample_bytes);
  int acquire(int& flags, long long& time_ns, long timeout_us);
  void release();

  SoapySDR::Device& device_;
  SoapySDR::Stream* stream_;
  std::size_t sample_bytes_;
  std::size_t most_;  // samples of a buffer
  std::vector<const void*> buffers_;
  std::size_t handle_ = 0;
  bool held_ = false;
  int flags_ = 0;  // of the buffer that is held
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace iqd::radio::soapy
