// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/telemetry/equalizer/packet_job.cuh"

/// A channel for each packet from its decisions, as channel_fit_cpu.cpp makes it: a thread block handles a packet. Its
/// samples go through shared memory, a tile at a time; a warp sums every eighth lag.
namespace iqd::equalizer {

constexpr int kFitThreads = 256;
constexpr int kFitWarps = kFitThreads / gpu::kWarp;
constexpr int kFitTile = 1024;  // samples
constexpr int kFitTaps = static_cast<int>(kChannelTaps);
constexpr int kTapsAhead = static_cast<int>(-kChannelFirst);  // samples of p behind the last one of x
constexpr int kTapsBack = kFitTaps - 1 - kTapsAhead;          // before the first one
constexpr int kLagsOfWarp = (kFitTaps + kFitWarps - 1) / kFitWarps;
constexpr int kMostWords = 16384 / 2 / 32 + 2;  // of a packet's bits, and around it
constexpr float kLeastFitPivot = 0.25f;         // none is below 1, apart from rounding

struct FitMemory {
  unsigned words[kMostWords];  // bits from bit -32 on
  Complex32 p[kFitTile + kFitTaps - 1];
  Complex32 x[kFitTile];
  Complex32 in[kFitTaps], out[kFitTaps];  // p at the ends of the sums: what a step down the diagonal adds, and takes
  Complex32 own[kFitTaps], received[kFitTaps];
  Complex32 m[kFitTaps]
             [kFitTaps + 1];  // [column][row from the diagonal on]; the last row is the right side's conjugate
  Complex32 h[kFitTaps];
};

/// sum + conj(a) b
__device__ inline Complex32 add_conjugate(Complex32 sum, Complex32 a, Complex32 b) {
  return {__fmaf_rn(a.im, b.im, __fmaf_rn(a.re, b.re, sum.re)), __fmaf_rn(-a.im, b.re, __fmaf_rn(a.re, b.im, sum.im))};
}
/// sum - a conj(b)
__device__ inline Complex32 take_conjugate(Complex32 sum, Complex32 a, Complex32 b) {
  return {__fmaf_rn(-a.im, b.im, __fmaf_rn(-a.re, b.re, sum.re)),
          __fmaf_rn(a.re, b.im, __fmaf_rn(-a.im, b.re, sum.im))};
}

/// Fits channels of one packet, in its units. All threads of the thread block call its members.
class PacketFit {
 public:
  __device__ PacketFit(const Job& job, FitMemory& memory, int packet, float unit)
      : job_(job), memory_(memory), packet_(packet), unit_(unit) {}

  /// Where the bits 32 i … 32 i + 31 are kept.
  __device__ unsigned& word(int i) const { return memory_.words[1 + i]; }
  /// Sets the bits around the packet, as far as p needs them; those of the packet are set through `word`.
  __device__ void surround() const;
  /// Takes all bits from follow_drafts or track_packets.
  __device__ void load_words() const;
  /// The channel of samples begin … end - 1 becomes memory.h, for the thread block to read; `before` is not read if rho
  /// is 0. False if it is not finite.
  __device__ bool fit(int begin, int end, float rho, const Complex32* before) const;

 private:
  __device__ Complex32 p(int n) const;
  __device__ void load_tile(int begin, int count) const;
  __device__ void sum(int begin, int end) const;
  __device__ void set_equations(int begin, int end, float rho, const Complex32* before) const;
  __device__ void factor() const;
  __device__ void substitute() const;

  const Job& job_;
  FitMemory& memory_;
  int thread_ = static_cast<int>(threadIdx.x);
  int packet_;
  float unit_;
};

__device__ inline void PacketFit::surround() const {
  if (thread_ > 0) return;
  unsigned before = 0;
  for (int k = -soqpsk::Modulator::kPast; k < 0; ++k)
    before |= (job_.pilot[k + job_.period] > 0 ? 1u : 0u) << (32 + k);  // the preamble continues
  memory_.words[0] = before;
  word(job_.words()) = 0;
}

__device__ inline void PacketFit::load_words() const {
  for (int i = thread_; i < job_.words(); i += kFitThreads) word(i) = job_.words_of(packet_)[i];
}

__device__ inline bool PacketFit::fit(int begin, int end, float rho, const Complex32* before) const {
  sum(begin, end);
  set_equations(begin, end, rho, before);
  factor();
  substitute();
  const Complex32 h = thread_ < kFitTaps ? memory_.h[thread_] : Complex32{};
  return __syncthreads_and(isfinite(h.re) && isfinite(h.im)) != 0;
}

__device__ inline Complex32 PacketFit::p(int n) const {
  using soqpsk::Modulator;
  const int k = n >> job_.log2_bit();
  unsigned row = static_cast<unsigned>(k) & 1;
#pragma unroll
  for (int i = -Modulator::kPast; i <= Modulator::kFuture; ++i) {
    const int bit = k + i + 32;
    row = row << 1 | (memory_.words[bit / 32] >> (bit % 32) & 1);
  }
  const int each = 1 << job_.log2_bit();
  const float2 v =
      __ldg(reinterpret_cast<const float2*>(job_.waveform + row * static_cast<unsigned>(each)) + (n & (each - 1)));
  return {v.x, v.y};
}

__device__ inline void PacketFit::load_tile(int begin, int count) const {
  for (int i = thread_; i < count + kFitTaps - 1; i += kFitThreads) memory_.p[i] = p(begin - kTapsBack + i);
  const Complex32* const window = job_.windows + static_cast<std::int64_t>(packet_) * job_.window;
  for (int i = thread_; i < count; i += kFitThreads) {
    const int at = static_cast<int>(PacketFormat::kGuard) + begin + i;
    memory_.x[i] = gpu::times(scaled(load(window + at), unit_), phasor_at(job_, packet_, at));
  }
}

__device__ inline void PacketFit::sum(int begin, int end) const {
  const int lane = thread_ % gpu::kWarp;
  const int warp = thread_ / gpu::kWarp;
  Complex32 own[kLagsOfWarp] = {}, received[kLagsOfWarp] = {};
  for (int tile = begin; tile < end; tile += kFitTile) {
    const int count = min(kFitTile, end - tile);
    load_tile(tile, count);
    __syncthreads();
    for (int n = lane; n < count; n += gpu::kWarp) {
      const Complex32* const last = memory_.p + n + kFitTaps - 1;  // p(n + 12)
      const Complex32 x = memory_.x[n];
#pragma unroll
      for (int l = 0; l < kLagsOfWarp; ++l) {
        const int i = min(warp + kFitWarps * l, kFitTaps - 1);
        const Complex32 other = last[-i];
        own[l] = add_conjugate(own[l], last[0], other);
        received[l] = add_conjugate(received[l], other, x);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int l = 0; l < kLagsOfWarp; ++l) {
    const int i = warp + kFitWarps * l;
    const Complex32 o{gpu::sum_of_warp(own[l].re), gpu::sum_of_warp(own[l].im)};
    const Complex32 r{gpu::sum_of_warp(received[l].re), gpu::sum_of_warp(received[l].im)};
    if (lane == 0 && i < kFitTaps) memory_.own[i] = o, memory_.received[i] = r;
  }
}

/// A thread goes down a diagonal.
__device__ inline void PacketFit::set_equations(int begin, int end, float rho, const Complex32* before) const {
  if (thread_ < kFitTaps) {
    memory_.in[thread_] = p(begin - 1 + kTapsAhead - min(thread_, kFitTaps - 2));
    memory_.out[thread_] = p(end - 1 + kTapsAhead - min(thread_, kFitTaps - 2));
  }
  __syncthreads();
  if (thread_ < kFitTaps) {
    Complex32 v{memory_.own[thread_].re, -memory_.own[thread_].im};
    for (int j = 0; j + thread_ < kFitTaps; ++j) {
      memory_.m[j][j + thread_] = {v.re + (thread_ == 0 ? rho + kFitLoad : 0), v.im};
      const Complex32 in_i = memory_.in[j + thread_], in_j = memory_.in[j];
      const Complex32 out_i = memory_.out[j + thread_], out_j = memory_.out[j];
      v = {v.re + (in_i.re * in_j.re + in_i.im * in_j.im) - (out_i.re * out_j.re + out_i.im * out_j.im),
           v.im + (in_i.re * in_j.im - in_i.im * in_j.re) - (out_i.re * out_j.im - out_i.im * out_j.re)};
    }
    Complex32 right = memory_.received[thread_];
    if (rho > 0) right = right + scaled(before[thread_], rho);
    memory_.m[thread_][kFitTaps] = {right.re, -right.im};
  }
  __syncthreads();
}

/// The matrix becomes its Cholesky factor L, the right side the conjugate of y of L y = b.
__device__ inline void PacketFit::factor() const {
  for (int j = 0; j < kFitTaps; ++j) {
    Complex32* const column = memory_.m[j];
    const float root = sqrtf(fmaxf(column[j].re, kLeastFitPivot));
    __syncthreads();
    for (int i = j + thread_; i <= kFitTaps; i += kFitThreads)
      column[i] = i == j ? Complex32{root, 0} : scaled(column[i], 1 / root);
    __syncthreads();
    const int rows = kFitTaps - j;  // behind the diagonal, with the right side
    for (int t = thread_; t < rows * rows; t += kFitThreads) {
      const int i = j + 1 + t % rows;
      const int k = j + 1 + t / rows;
      if (k < kFitTaps && i >= k) memory_.m[k][i] = take_conjugate(memory_.m[k][i], column[i], column[k]);
    }
    __syncthreads();
  }
}

/// h of L^H h = y, by the first warp.
__device__ inline void PacketFit::substitute() const {
  if (thread_ < kFitTaps) memory_.h[thread_] = {memory_.m[thread_][kFitTaps].re, -memory_.m[thread_][kFitTaps].im};
  __syncthreads();
  for (int j = kFitTaps - 1; thread_ < gpu::kWarp && j >= 0; --j) {
    const Complex32 own = scaled(memory_.h[j], 1 / memory_.m[j][j].re);
    __syncwarp();
    if (thread_ == 0) memory_.h[j] = own;
    for (int i = thread_; i < j; i += gpu::kWarp) {
      const Complex32 l = memory_.m[i][j];
      const Complex32 sum = memory_.h[i];
      memory_.h[i] = {sum.re - (l.re * own.re + l.im * own.im), sum.im - (l.re * own.im - l.im * own.re)};
    }
    __syncwarp();
  }
  __syncthreads();
}

/// Of a packet as it is: no phase is taken off, and the channel stays.
__device__ inline void keep_packet(const Job& job, int packet) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < job.bits / 2; i += kFitThreads) job.phasors_of(packet)[i] = {1, 0};
  if (thread < kFitTaps) job.fitted_of(packet)[thread] = load(job.channel + packet * kChannelTaps + thread);
}

__global__ void __launch_bounds__(kFitThreads) fit_channels(const Job job) {
  __shared__ FitMemory memory;
  const int packets = count_packets(job);
  const int packet = static_cast<int>(blockIdx.x);
  if (packet >= packets) return;
  if (job.usable[packet] == 0) return keep_packet(job, packet);
  const float unit = unit_of<32>(job, packet);
  const PacketFit fit(job, memory, packet, unit);
  fit.surround();
  fit.load_words();
  __syncthreads();
  const int margin = static_cast<int>(kEndBits) << job.log2_bit();
  const bool good = fit.fit(margin, job.samples - margin, 0, nullptr);
  const unsigned tap = threadIdx.x;
  if (tap < kFitTaps)
    job.fitted_of(packet)[tap] =
        good ? scaled(memory.h[tap], 1 / unit) : load(job.channel + packet * kChannelTaps + tap);
}

}  // namespace iqd::equalizer
