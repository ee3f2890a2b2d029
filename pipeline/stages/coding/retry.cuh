// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/coding/retry.hpp"

namespace iqd::coding {

inline constexpr int kRetryThreads = 256;

/// For all threads of a thread block: how many of the first `frames` frames have a word that failed.
__device__ inline std::int64_t count_failed(const FailedWords& failed, std::int64_t frames) {
  __shared__ unsigned found;
  __syncthreads();
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  unsigned mine = 0;
  for (std::int64_t f = threadIdx.x; f < frames; f += blockDim.x) mine += failed.any(f);
  if (mine > 0) atomicAdd(&found, mine);
  __syncthreads();
  return found;
}
/// Copies by all threads of a thread block.
template <class T> __device__ void copy_items(const T* from, T* to, std::int64_t count) {
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

}  // namespace iqd::coding
