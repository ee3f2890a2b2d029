// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "gpu/fft_radix.hpp"
#include "gpu/runtime.hpp"

/// Transforms of 2 … 8192 points, a power of two, that read and write device memory once. A thread holds up to 16
/// points; a thread block holds one transform of 4096 or 8192 points, or several smaller ones.
namespace iqd::gpu {

/// How a thread block shares transforms of N points.
template <int N> struct FftGroup {
  static constexpr int kThreads = kFftThreads<N> > 256 ? kFftThreads<N> : 256;
  static constexpr int kFrames = kThreads / kFftThreads<N>;
  static constexpr int kPoints = kFftPoints<N>;                           // per thread
  static constexpr int kBytes = padded(kFrames * N) * sizeof(Complex32);  // of shared memory
  /// A frame's threads are in one warp, which alone has to synchronise.
  static constexpr bool kInWarp = kFftThreads<N> <= 32;
  /// A frame's threads would read less than 64 contiguous bytes: the points go through shared memory.
  static constexpr bool kStaged = kFftThreads<N> < 8;

  /// Least thread blocks per multiprocessor: as many as leave the registers that a thread needs.
  static constexpr int kAtOnce = (kStaged ? 768 : 1024) / kThreads;

  static __device__ int thread() { return static_cast<int>(threadIdx.x) % kFftThreads<N>; }
  /// Which of the thread block's frames this thread works on.
  static __device__ int frame() { return static_cast<int>(threadIdx.x) / kFftThreads<N>; }
  /// Where that frame begins in shared memory.
  static __device__ int base() { return padded(frame() * N); }
  /// Point j of this thread among those of its warp in memory order, counted in the thread block.
  static __device__ int staged(int j) {
    const int t = static_cast<int>(threadIdx.x);
    return t / 32 * 32 * kPoints + t % 32 + 32 * j;
  }
  static __device__ int staged_at(int j) { return padded(staged(0)) + padded(32) * j; }
  static __device__ void sync() {
    if constexpr (kInWarp)
      __syncwarp();
    else
      __syncthreads();
  }
};

/// Exchange between two steps: the threads of a transform exchange points through `memory`, padded(N) places, and
/// sync() synchronises them. Other threads must have finished with that memory.
template <int N, int P, class Sync> __device__ __forceinline__ void fft_exchange(Complex32 (&v)[kFftPoints<N>],
                                                                                 Complex32* memory, int t,
                                                                                 const Sync& sync) {
#pragma unroll
  for (int e = 0; e < kFftPoints<N>; ++e) memory[write_at<P>(0, t, e)] = v[e];
  sync();
#pragma unroll
  for (int e = 0; e < kFftPoints<N>; ++e) v[e] = memory[read_at<N>(0, t, e)];
}

/// From point t + e N/points in v(e) to bin t + e N/points in v(e), for the steps after P points are covered. All
/// threads of the transform take part. If P is 1, other threads must have finished with `memory`.
template <int N, int P, class Sync>
__device__ __forceinline__ void fft_steps(Complex32 (&v)[kFftPoints<N>], Complex32* memory, const Complex32* factors,
                                          int t, const Sync& sync) {
  fft_step<N, P>(v, factors, t);
  if constexpr (P * kFftRadix<N, P> < N) {
    if constexpr (P > 1) sync();
    fft_exchange<N, P>(v, memory, t, sync);
    fft_steps<N, 16 * P>(v, memory, factors, t, sync);
  }
}

/// The same by all threads of a thread block.
template <int N>
__device__ __forceinline__ void fft_steps(Complex32 (&v)[kFftPoints<N>], Complex32* shared, const Complex32* factors) {
  using Group = FftGroup<N>;
  fft_steps<N, 1>(v, shared + Group::base(), factors, Group::thread(), [] { Group::sync(); });
}

/// A point of a frame, or a bin.
struct FftPlace {
  int at;      // counted from the thread block's first frame; its frames are consecutive
  int n;       // in the frame
  bool upper;  // in the frame's upper half; mostly known at compile time

  /// The same in the other half, if `half` is half of N; this one, if it is 0.
  __device__ int at_across(int half) const { return upper ? at - half : at + half; }
  __device__ int n_across(int half) const { return upper ? n - half : n + half; }
};

/// The thread block's first `frames` transforms: load(place) returns each point, store(place, y) takes each bin.
template <int N, class Load, class Store>
__device__ __forceinline__ void fft_frames(int frames, const Complex32* factors, Complex32* shared, const Load& load,
                                           const Store& store) {
  using Group = FftGroup<N>;
  const int base = Group::base();
  const int t = Group::thread();
  Complex32 v[Group::kPoints] = {};
  if constexpr (Group::kStaged) {
    const auto place = [](int j) {
      const int at = Group::staged(j);
      const int n = static_cast<int>(threadIdx.x % 32 + 32u * static_cast<unsigned>(j)) & (N - 1);
      return FftPlace{at, n, n >= N / 2};
    };
    const int end = frames * N;
#pragma unroll
    for (int j = 0; j < Group::kPoints; ++j)
      if (place(j).at < end) v[j] = load(place(j));
#pragma unroll
    for (int j = 0; j < Group::kPoints; ++j) shared[Group::staged_at(j)] = v[j];
    __syncwarp();
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) v[e] = shared[read_at<N>(base, t, e)];
    __syncwarp();
    fft_steps<N>(v, shared, factors);
    // Each thread stores its bins where only it has read last.
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) shared[read_at<N>(base, t, e)] = v[e];
    __syncwarp();
#pragma unroll
    for (int j = 0; j < Group::kPoints; ++j)
      if (place(j).at < end) store(place(j), shared[Group::staged_at(j)]);
  } else {
    const auto place = [t](int e) {
      const int n = t + kFftThreads<N> * e;
      return FftPlace{Group::frame() * N + n, n, e >= Group::kPoints / 2};
    };
    const bool mine = Group::frame() < frames;
    if (mine) {
#pragma unroll
      for (int e = 0; e < Group::kPoints; ++e) v[e] = load(place(e));
    }
    fft_steps<N>(v, shared, factors);
    if (!mine) return;
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) store(place(e), v[e]);
  }
}

/// f(std::integral_constant<int, N>) for the N equal to `size`, which has to be one of `fft_in_one_pass`.
template <class F, int... Log2> auto with_fft_size(std::int64_t size, const F& f, std::integer_sequence<int, Log2...>) {
  decltype(f(std::integral_constant<int, 2>())) result{};
  ((size == (2 << Log2) ? void(result = f(std::integral_constant<int, (2 << Log2)>())) : void()), ...);
  return result;
}
/// For `with_fft_size`: only 64 … 8192 points.
using FromSixtyFour = std::integer_sequence<int, 5, 6, 7, 8, 9, 10, 11, 12>;
template <class F> auto with_fft_size(std::int64_t size, const F& f) {
  return with_fft_size(size, f, std::make_integer_sequence<int, 13>());
}

/// A kernel for transforms of one size, and how to launch it.
template <class... Arguments> struct FftKernel {
  /// Throws SetupError with `what` if the kernel cannot get its shared memory.
  void allow(const char* what) const { allow_shared(run, bytes, what); }
  void launch(dim3 grid, cudaStream_t stream, const Arguments&... arguments) const noexcept {
    run<<<grid, static_cast<unsigned>(threads), static_cast<unsigned>(bytes), stream>>>(arguments...);
  }

  void (*run)(Arguments...) = nullptr;
  int frames = 1;  // per thread block
  int threads = 1;
  int bytes = 0;  // of shared memory
};
template <int N, class... Arguments> FftKernel<Arguments...> fft_kernel(void (*run)(Arguments...), int buffers = 1) {
  return {run, FftGroup<N>::kFrames, FftGroup<N>::kThreads, buffers * FftGroup<N>::kBytes};
}

/// Shared memory of a thread block for this size.
inline std::int64_t fft_shared_bytes(std::int64_t size) {
  return with_fft_size(size, [](auto n) { return std::int64_t{FftGroup<n()>::kBytes}; });
}

}  // namespace iqd::gpu
