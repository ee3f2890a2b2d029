// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stage/stage.hpp"

namespace iqd::dsp {

/// An output for kernels: its items, and where their number is written. `data` is null if the output is left out.
template <class T> struct Items {
  Items() = default;
  Items(const PortIo& port) : data(port.row<T>()), count(port.count), most(port.length) {}

  __device__ T& operator[](std::int64_t i) const { return data[i]; }

  T* data;
  std::int32_t* count;
  std::int64_t most;  // items that there is room for
};

/// For all threads of a thread block: a number that only one thread reads, as it may be in host memory.
template <class T> __device__ T read_once(const T* number) {
  __shared__ T value;
  if (threadIdx.x == 0) value = *number;
  __syncthreads();
  return value;
}

}  // namespace iqd::dsp
