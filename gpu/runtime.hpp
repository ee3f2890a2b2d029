// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/backend.hpp"
#include "gpu/quiet.hpp"

namespace iqd::gpu {

inline cudaStream_t stream_of(StreamView stream) noexcept {
  return static_cast<cudaStream_t>(stream.handle);
}
inline StreamView view_of(cudaStream_t stream) noexcept {
  return {stream};
}

/// `cudaMalloc of 12.0 MB: out of memory`
std::string message(cudaError_t error, const std::string& what);
[[noreturn]] void raise(cudaError_t error, const std::string& what);
/// During set-up: throws SetupError with the message.
inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) raise(error, what);
}

/// Waits for work on the default stream, such as cudaMemset and cudaMemcpy; the queues' streams do not wait for it.
/// Throws SetupError.
inline void settle() {
  check(cudaStreamSynchronize(cudaStreamLegacy), "cudaStreamSynchronize");
}

/// Of the current device. Both throw SetupError.
std::int64_t count_multiprocessors();
/// Shared memory that a kernel may request: 64 KiB on the smallest devices.
std::int64_t most_shared_bytes();

/// During set-up: loads a kernel's code and lets it use all shared memory of the device, since the limit belongs to the
/// kernel, and another instance may need more. Returns how much may be dynamic. Throws SetupError with `what`.
template <class... Arguments> std::int64_t allow_shared(void (*kernel)(Arguments...), const char* what) {
  const auto* const code = reinterpret_cast<const void*>(kernel);
  const Quiet quiet;
  cudaFuncAttributes loaded;
  check(cudaFuncGetAttributes(&loaded, code), what);
  const std::int64_t there = most_shared_bytes() - static_cast<std::int64_t>(loaded.sharedSizeBytes);
  check(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(there)), what);
  return there;
}
/// The same; also throws if there are not so many bytes.
template <class... Arguments> void allow_shared(void (*kernel)(Arguments...), std::int64_t bytes, const char* what) {
  if (bytes > allow_shared(kernel, what)) raise(cudaErrorInvalidValue, what);
}
/// The thread blocks of a cluster of a kernel, which is compiled in; 1 if it has none. Throws SetupError with `what`.
template <class... Arguments> unsigned cluster_blocks(void (*kernel)(Arguments...), const char* what) {
  const Quiet quiet;
  cudaFuncAttributes loaded;
  check(cudaFuncGetAttributes(&loaded, reinterpret_cast<const void*>(kernel)), what);
  return static_cast<unsigned>(std::max(loaded.requiredClusterWidth, 1));
}
/// Loads the code of kernels before samples flow. Throws SetupError with `what`.
template <class... Kernels> void load_kernels(const char* what, Kernels... kernels) {
  const Quiet quiet;
  cudaFuncAttributes loaded;  // the query loads the code
  for (const void* const kernel : {reinterpret_cast<const void*>(kernels)...})
    check(cudaFuncGetAttributes(&loaded, kernel), what);
}

/// Thread blocks of `threads` for n threads.
constexpr unsigned groups_of(std::int64_t n, std::int64_t threads) noexcept {
  return static_cast<unsigned>((n + threads - 1) / threads);
}
/// The next multiple of 256, which cudaMalloc aligns to.
constexpr std::size_t round_256(std::size_t bytes) noexcept {
  return (bytes + 255) / 256 * 256;
}

}  // namespace iqd::gpu
