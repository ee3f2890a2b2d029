// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/equalizer/fit_channels.cuh"

/// A segment of a packet through fde1 and fde2: transforms of N points, side by side in a thread block of kFitThreads.
namespace iqd::equalizer {

template <int N> inline constexpr int kSideBySide = kFitThreads / gpu::kFftThreads<N>;

template <int N> struct SegmentMemory {
  static_assert(kSideBySide<N> >= 2, "the samples and the channel, then both kinds");
  Complex32 exchange[kSideBySide<N>][gpu::padded(N)];
  Complex32 samples[N];  // spectra
  Complex32 channel[N];
};

/// What is equalized, in units of the packet's channel.
struct Segment {
  int packet;
  float unit;
  float noise;
  int begin, end;  // bits
  bool turned;
};

template <int N> class SegmentFilter {
 public:
  __device__ SegmentFilter(const Job& job, SegmentMemory<N>& memory) : job_(job), memory_(memory) {}

  /// Symbols of the first `kinds` of `outputs` with a channel of 38 taps in shared memory. Called by all threads of the
  /// thread block; to[…] are the bits `begin` of each kind.
  __device__ void run(const Segment& segment, const Complex32* channel, const Setup::Output* outputs, int kinds,
                      Complex32* to, int to_next_kind) const;

 private:
  using Points = Complex32[gpu::kFftPoints<N>];

  __device__ void transform(Points& v) const {
    const auto sync = [] { __syncthreads(); };
    __syncthreads();
    gpu::fft_steps<N, 1>(v, memory_.exchange[place_], job_.segment_factors, t_, sync);
  }
  __device__ int point(int e) const { return t_ + gpu::kFftThreads<N> * e; }
  __device__ Complex32 sample(const Segment& segment, int n) const;
  __device__ static Complex32 tap(const Complex32* channel, int n);
  __device__ Complex32 equalized(const Segment& segment, Setup::Output output, int k) const;

  const Job& job_;
  SegmentMemory<N>& memory_;
  int place_ = static_cast<int>(threadIdx.x) / gpu::kFftThreads<N>;  // of this thread's transform
  int t_ = static_cast<int>(threadIdx.x) % gpu::kFftThreads<N>;
};

/// Sample n of the segment with its guards; zeros behind it.
template <int N> __device__ inline Complex32 SegmentFilter<N>::sample(const Segment& segment, int n) const {
  const int count = ((segment.end - segment.begin) << job_.log2_bit()) + 2 * static_cast<int>(PacketFormat::kGuard);
  if (n >= count) return {};
  const int at = (segment.begin << job_.log2_bit()) + n;
  const Complex32 r = load(job_.windows + static_cast<std::int64_t>(segment.packet) * job_.window + at);
  const Complex32 x = scaled(r, segment.unit);
  return segment.turned ? gpu::times(x, phasor_at(job_, segment.packet, at)) : x;
}

/// The channel's taps around index 0.
template <int N> __device__ inline Complex32 SegmentFilter<N>::tap(const Complex32* channel, int n) {
  const int i = (n + kTapsAhead) % N;
  return i < kFitTaps ? channel[i] : Complex32{};
}

/// The conjugate of bin k.
template <int N>
__device__ inline Complex32 SegmentFilter<N>::equalized(const Segment& segment, Setup::Output output, int k) const {
  const Complex32 h = memory_.channel[k];
  const float weight = output.kind == Kind::fde2 ? __ldg(job_.segment_psi + k) : 1;
  const float part = weight / fmaxf(square(h) * weight + segment.noise, kLeastDivisor);
  const Complex32 y = gpu::times(memory_.samples[k], Complex32{h.re * part, -h.im * part});
  const float filter = output.filtered ? __ldg(job_.segment_detection + k) : 1;
  return {y.re * filter, -y.im * filter};
}

template <int N> __device__ inline void SegmentFilter<N>::run(const Segment& segment, const Complex32* channel,
                                                              const Setup::Output* outputs, int kinds, Complex32* to,
                                                              int to_next_kind) const {
  Points v = {};
#pragma unroll
  for (int e = 0; e < gpu::kFftPoints<N>; ++e) {
    if (place_ == 0) v[e] = sample(segment, point(e));
    if (place_ == 1) v[e] = tap(channel, point(e));
  }
  transform(v);
  __syncthreads();
#pragma unroll
  for (int e = 0; e < gpu::kFftPoints<N>; ++e) {
    if (place_ == 0) memory_.samples[point(e)] = v[e];
    if (place_ == 1) memory_.channel[point(e)] = v[e];
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < gpu::kFftPoints<N>; ++e)
    v[e] = place_ < kinds ? equalized(segment, outputs[place_], point(e)) : Complex32{};
  transform(v);
  if (place_ >= kinds) return;
#pragma unroll
  for (int e = 0; e < gpu::kFftPoints<N>; ++e) {
    const int n = point(e) - static_cast<int>(PacketFormat::kGuard);
    const int bit = n >> job_.log2_bit();
    if (n < 0 || bit >= segment.end - segment.begin || bit << job_.log2_bit() != n) continue;
    to[place_ * to_next_kind + bit] = {v[e].re / N, -v[e].im / N};
  }
}

}  // namespace iqd::equalizer
