// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>

#include "gpu/runtime.hpp"

namespace iqd::gpu {

/// Constants of a stage on the device: taps, windows, tables. Made during set-up; throws SetupError.
template <class T> class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::span<const T> values) : size_(values.size()) {
    if (values.empty()) return;
    const Quiet quiet;
    check(cudaMalloc(reinterpret_cast<void**>(&data_), values.size_bytes()), "memory for constants");
    check(cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice), "copying constants");
    settle();
  }
  DeviceArray(DeviceArray&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~DeviceArray() {
    if (!data_) return;
    const Quiet quiet;
    cudaFree(data_);
  }

  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace iqd::gpu
