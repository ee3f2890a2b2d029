// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "gpu/runtime.hpp"

namespace iqd::gpu {

/// A GPU in use, and its first error; later errors are ignored, since they mean nothing.
class Device {
 public:
  /// Throws SetupError.
  explicit Device(int index);

  int index() const noexcept { return index_; }
  const cudaDeviceProp& properties() const noexcept { return properties_; }
  /// Directs the calling thread's CUDA calls to this device. Cheap.
  void use() const noexcept { cudaSetDevice(index_); }

  /// Records an error; returns whether there is none, now or before.
  bool good(cudaError_t error, const char* what) noexcept {
    if (error != cudaSuccess) [[unlikely]]
      fail(error, what);
    return !failed_.load(std::memory_order_acquire);
  }
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  void fail(cudaError_t error, const char* what) noexcept;
  void fail(const std::string& why) noexcept;
  std::string failure() const;

 private:
  int index_;
  cudaDeviceProp properties_{};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string failure_;
};

/// Number of usable devices; if there are none, `why` says what is missing.
int count_devices(std::string& why);

}  // namespace iqd::gpu
