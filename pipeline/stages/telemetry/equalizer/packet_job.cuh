// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/fft_kernel.cuh"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"

/// What the kernels of a block share: `solve_systems` computes the taps of zf and mmse, `descend` those of cma from
/// mmse's, and `make_symbols` filters. Taps go through scratch, in units of their packet's channel (see equalizer.hpp).
/// To refine, `make_symbols` first makes those of fde1 in place of the first kind's; `follow_drafts` decides on them,
/// and `fit_channels` makes a channel from the decisions, which the kernels above then use.
namespace iqd::equalizer {

using gpu::Complex32;

struct alignas(16) Complex64 {
  double re;
  double im;
};

constexpr unsigned kAllLanes = 0xffffffff;

struct Job {
  const Complex32* windows;  // [packet][window]
  const Complex32* channel;  // [packet][38]
  const float* noise;        // [packet]
  const std::int32_t* given[3];
  std::int32_t most;  // packets

  Complex32* symbols;  // [packet][kind][bit]
  Complex32* taps;     // null: not wanted
  std::int32_t* count[2];

  Complex32* held_taps;  // [packet][zf mmse cma][186]
  Complex64* factor;     // [solver][column][kStride]: Cholesky factors in use
  Complex32* spectra;    // [thread block][…]: of the packets in progress; null: they are in shared memory

  const Complex32* block_factors;  // of transforms of 256 and 2048 points
  const Complex32* block_roots;    // exp(-j 2 pi m / 2048)
  const Complex32* half_factors;   // of 8192 points
  const Complex32* half_roots;     // exp(-j 2 pi m / 16384), m = 0 … 511
  const float* detection;
  const float* psi;

  int window;   // samples
  int samples;  // of a packet
  int bits;
  int log2_half_bit;  // of the samples of half a bit
  bool solve_zf, solve_mmse;
  float zf_load;
  float step;  // of cma, divided by the packet's samples
  int iterations;
  int kinds;
  int made;  // of these, by make_symbols: the first ones
  int linear_kinds;
  Setup::Output outputs[5];

  // To refine:
  bool rest;                         // make_symbols makes those of packets that are not usable
  bool turned;                       // the windows are to be multiplied with the phasors
  Complex32* held_phasors;           // [packet][pair of bits]
  std::int32_t* usable;              // [packet] 0: the packet stays as it is
  unsigned* decided;                 // [packet][32 bits], the first bit lowest
  Complex32* fitted;                 // [packet][38]
  const float* pilot;                // -1 and 1
  const Complex32* waveform;         // soqpsk::Modulator::table()
  const Complex32* segment_factors;  // of transforms over segments
  const float* segment_detection;
  const float* segment_psi;
  int pilot_bits;
  int period;  // bits
  telemetry::Gains gains;

  __device__ Complex32* taps_of(int packet, Kind kind) const {
    return held_taps + (static_cast<std::int64_t>(packet) * 3 + static_cast<int>(kind)) * kTaps;
  }
  __device__ Complex32* draft_of(int packet) const {
    return symbols + static_cast<std::int64_t>(packet) * kinds * bits;
  }
  __device__ Complex32* phasors_of(int packet) const {
    return held_phasors + static_cast<std::int64_t>(packet) * (bits / 2);
  }
  __device__ int words() const { return (bits + 31) / 32; }
  __device__ unsigned* words_of(int packet) const { return decided + static_cast<std::int64_t>(packet) * words(); }
  __device__ Complex32* fitted_of(int packet) const { return fitted + packet * kChannelTaps; }
  __device__ int log2_bit() const { return log2_half_bit + 1; }
};

__device__ inline Complex32 load(const Complex32* from) {
  const float2 v = *reinterpret_cast<const float2*>(from);
  return {v.x, v.y};
}

/// The number of packets. All threads of the thread block call it, once.
__device__ inline int count_packets(const Job& job) {
  __shared__ int packets;
  if (threadIdx.x == 0) {
    packets = job.most;
    for (const std::int32_t* const given : job.given) packets = min(packets, *given);
  }
  __syncthreads();
  return packets;
}

/// The factor that a packet is multiplied with first: a power of two that brings the channel's largest part to 1 … 2; 0
/// if there is no channel; NaN if the channel or the noise is not finite. All lanes of a warp call it, `lanes` of them
/// for the same packet.
template <int lanes> __device__ float unit_of(const Job& job, int packet) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const auto* const parts = reinterpret_cast<const unsigned*>(job.channel + packet * kChannelTaps);
  unsigned most = 0;
  for (int i = lane; i < 2 * kChannelTaps; i += lanes) most = max(most, parts[i] & 0x7fffffffu);
  for (int step = lanes / 2; step > 0; step /= 2) most = max(most, __shfl_xor_sync(kAllLanes, most, step));
  const unsigned exponent = most >> 23;
  if (exponent == 255 || !isfinite(job.noise[packet])) return NAN;
  return exponent == 0 ? 0 : __uint_as_float(max(254 - exponent, 1u) << 23);
}

__device__ inline float noise_of(const Job& job, int packet, float unit) {
  return fminf(fmaxf(job.noise[packet], 0) * unit * unit, kMostNoise);
}

/// The factor of sample `at` of a window, which takes the phase off; around the packet it is held.
__device__ inline Complex32 phasor_at(const Job& job, int packet, int at) {
  const int pair = (at - static_cast<int>(PacketFormat::kGuard)) >> (job.log2_bit() + 1);
  return load(job.phasors_of(packet) + min(max(pair, 0), job.bits / 2 - 1));
}

__device__ inline float square(Complex32 a) {
  return a.re * a.re + a.im * a.im;
}
__device__ inline Complex32 scaled(Complex32 a, float factor) {
  return {a.re * factor, a.im * factor};
}

}  // namespace iqd::equalizer
