// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace iqd::gpu {

std::string message(cudaError_t error, const std::string& what) {
  return fmt::format("{}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

void raise(cudaError_t error, const std::string& what) {
  cudaGetLastError();
  throw SetupError(message(error, what));
}

namespace {

std::int64_t attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

std::int64_t count_multiprocessors() {
  return attribute(cudaDevAttrMultiProcessorCount);
}

std::int64_t most_shared_bytes() {
  return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

Device::Device(int index) : index_(index) {
  const Quiet quiet;
  check(cudaSetDevice(index), "cudaSetDevice");
  check(cudaGetDeviceProperties(&properties_, index), "cudaGetDeviceProperties");
  int mode = cudaComputeModeDefault;
  check(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index), "cudaDeviceGetAttribute");
  if (mode == cudaComputeModeProhibited)
    throw SetupError(fmt::format("cuda:{} is in compute mode `prohibited`: no process may use it", index));
  if (const cudaError_t error = cudaFree(nullptr); error != cudaSuccess) {
    const bool busy = error == cudaErrorDevicesUnavailable;
    raise(error, fmt::format("cuda:{} ({}) cannot be used{}", index, properties_.name,
                             busy ? ", another process has exclusive use" : ""));
  }
  if (!properties_.unifiedAddressing || !properties_.canMapHostMemory)
    throw SetupError(fmt::format("cuda:{} ({}) cannot access host memory", index, properties_.name));
}

void Device::fail(cudaError_t error, const char* what) noexcept {
  fail(message(error, what));
}

void Device::fail(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  failure_ = fmt::format("cuda:{} failed: {}", index_, why);
  failed_.store(true, std::memory_order_release);
}

std::string Device::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

int count_devices(std::string& why) {
  int devices = 0, driver = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices > 0) return devices;
  cudaGetLastError();
  cudaDriverGetVersion(&driver);
  const auto version = [](int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); };
  if (error == cudaErrorNoDevice || error == cudaSuccess)
    why = "the NVIDIA driver sees no device";
  else if (error != cudaErrorInsufficientDriver)
    why = message(error, "no usable device");
  else if (driver == 0)
    why = "there is no device: no NVIDIA driver is loaded";
  else
    why = fmt::format("the NVIDIA driver is too old: it supports CUDA {}, but {} is needed", version(driver),
                      version(CUDART_VERSION));
  return 0;
}

}  // namespace iqd::gpu
