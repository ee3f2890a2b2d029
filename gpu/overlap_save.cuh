// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/fft_kernel.cuh"

namespace iqd::gpu {

/// A circular convolution of N points by the threads of a frame; all threads of the thread block call it together.
/// load(n) returns point n, store(n, y) takes the result. `response` is the filter's transform with the 1/N that the
/// inverse transform omits. A forward transform with real and imaginary parts swapped at input and output is an inverse
/// one.
///
/// The factors are passed twice: a compiler that knew that they are the same would keep them in registers between the
/// transforms, and spill others (212 bytes per thread for N = 2048, 4 as it is).
template <int N, class Load, class Store>
__device__ __forceinline__ void convolve_frame(const Complex32* response, const Complex32* factors,
                                               const Complex32* factors_back, Complex32* shared, const Load& load,
                                               const Store& store) {
  using Group = FftGroup<N>;
  const int t = Group::thread();
  Complex32 v[Group::kPoints];
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) v[e] = load(t + e * kFftThreads<N>);
  fft_steps<N>(v, shared, factors);
  Group::sync();
  response += t;
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) {
    const Complex32 z = times(v[e], response[e * kFftThreads<N>]);
    v[e] = {z.im, z.re};
  }
  fft_steps<N>(v, shared, factors_back);
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) store(t + e * kFftThreads<N>, Complex32{v[e].im, v[e].re});
}

/// f(std::integral_constant<int, N>) for the N equal to `size`, one of the sizes for convolutions.
template <class F> auto with_overlap_size(std::int64_t size, const F& f) {
  return size == 1024   ? f(std::integral_constant<int, 1024>())
         : size == 2048 ? f(std::integral_constant<int, 2048>())
         : size == 4096 ? f(std::integral_constant<int, 4096>())
                        : f(std::integral_constant<int, 8192>());
}
inline constexpr std::int64_t kOverlapSizes[] = {1024, 2048, 4096, 8192};

}  // namespace iqd::gpu
