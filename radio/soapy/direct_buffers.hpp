// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Device.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace iqd::radio::soapy {

/// Reads a stream from the module's own buffers, so that the copy from there is the only one. One thread.
class DirectBuffers {
 public:
  /// Null where the module has none for this stream. Before the stream is active.
  static std::unique_ptr<DirectBuffers> of(SoapySDR::Device& device, SoapySDR::Stream* stream, std::size_t channels,
                                           std::size_t sample_bytes);
  /// Gives a buffer back that is still held. Before the stream is closed.
  ~DirectBuffers();
  DirectBuffers(const DirectBuffers&) = delete;
  DirectBuffers& operator=(const DirectBuffers&) = delete;

  /// As Device::readStream does: samples that were written, or an error code. Of a buffer that is longer than `most`
  /// the rest comes with the next calls, without a time stamp; with the last of it comes the end of a burst. Throws
  /// what the module throws, and where it breaks its word.
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
