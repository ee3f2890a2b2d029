// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/equalizer/follow_drafts.cuh"
#include "pipeline/stages/telemetry/equalizer/segment.cuh"

/// Both passes of `track: on`, as tracker_cpu.cpp makes them. In the first, a thread block goes through the segments of
/// a packet: all threads equalize and fit, the first one decides. In the second, each segment has a thread block.
namespace iqd::equalizer {

template <int N> struct TrackMemory {
  FitMemory fit;
  SegmentMemory<N> segment;
  Complex32 channel[kFitTaps];  // in units of the packet's
};

/// The first pass of a packet. All members are called by all threads of the thread block.
template <int N> class PacketTrack {
 public:
  __device__ PacketTrack(const Job& job, TrackMemory<N>& memory, int packet, float unit)
      : job_(job), memory_(memory), fit_(job, memory.fit, packet, unit), packet_(packet), unit_(unit) {}

  __device__ void run() {
    load_channel(job_, packet_, unit_, memory_.channel);
    fit_.surround();
    for (int i = thread_; i < job_.words(); i += kFitThreads) fit_.word(i) = 0;
    __syncthreads();
    const float noise = noise_of(job_, packet_, unit_);
    const SegmentFilter<N> filter(job_, memory_.segment);
    const Setup::Output fde1{Kind::fde1, true};
    int decided = 0;
    for (int begin = 0; begin < job_.bits; begin += static_cast<int>(kStep)) {
      const int end = min(begin + static_cast<int>(kStep), job_.bits);
      filter.run({packet_, unit_, noise, begin, end, false}, memory_.channel, &fde1, 1, draft() + begin, 0);
      __syncthreads();
      if (end < job_.pilot_bits) continue;
      if (thread_ == 0) decide(decided, end);
      __syncthreads();
      decided = end;
      if (end > job_.pilot_bits && end < job_.bits) learn(end);
    }
    for (int i = thread_; i < job_.words(); i += kFitThreads) job_.words_of(packet_)[i] = fit_.word(i);
    if (thread_ == 0) job_.usable[packet_] = usable(loops_[0]) ? 1 : 0;
  }

  /// The channel of the input in units of the packet's.
  __device__ static void load_channel(const Job& job, int packet, float unit, Complex32* to) {
    const unsigned tap = threadIdx.x;
    if (tap < kFitTaps) to[tap] = scaled(load(job.channel + packet * kChannelTaps + tap), unit);
  }

 private:
  __device__ Complex32* draft() const { return job_.draft_of(packet_); }

  /// By the first thread alone, which has the loop.
  __device__ void decide(int begin, int end) {
    if (begin == 0) loops_[0] = loop_of(job_, draft());
    for (int k = begin; k < end; k += telemetry::kTile) {
      const int n = min(telemetry::kTile, end - k);
      fit_.word(k / telemetry::kTile) = follow_tile(job_, loops_, k, n, draft() + k, job_.phasors_of(packet_) + k / 2);
    }
  }

  /// The next channel, from the last bits before `end`.
  __device__ void learn(int end) const {
    const int last = end - static_cast<int>(kEndBits);
    const int first = max(last - static_cast<int>(kLearned), static_cast<int>(kEndBits));
    const int bit = job_.log2_bit();
    const bool good = fit_.fit(first << bit, last << bit, kInertia, memory_.channel);
    if (good && thread_ < kFitTaps) memory_.channel[thread_] = memory_.fit.h[thread_];
    __syncthreads();
  }

  const Job& job_;
  TrackMemory<N>& memory_;
  PacketFit fit_;
  telemetry::Loop loops_[1];
  int thread_ = static_cast<int>(threadIdx.x);
  int packet_;
  float unit_;
};

template <int N> __global__ void __launch_bounds__(kFitThreads) track_packets(const Job job) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& memory = *reinterpret_cast<TrackMemory<N>*>(shared);
  const int packets = count_packets(job);
  const int packet = static_cast<int>(blockIdx.x);
  if (packet >= packets) return;
  const float unit = unit_of<32>(job, packet);
  if (unit > 0) return PacketTrack<N>(job, memory, packet, unit).run();
  if (threadIdx.x == 0) job.usable[packet] = 0;
}

/// The second pass: thread block (span, packet).
template <int N> __global__ void __launch_bounds__(kFitThreads) equalize_spans(const Job job) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& memory = *reinterpret_cast<TrackMemory<N>*>(shared);
  const int packets = count_packets(job);
  const int packet = static_cast<int>(blockIdx.y);
  if (packet >= packets || job.usable[packet] == 0) return;
  constexpr int kSpanBits = static_cast<int>(kSpan);
  constexpr int kMargin = static_cast<int>(kEndBits);
  const int begin = static_cast<int>(blockIdx.x) * kSpanBits;
  const int end = min(begin + kSpanBits, job.bits);
  const float unit = unit_of<32>(job, packet);
  const PacketFit fit(job, memory.fit, packet, unit);
  fit.surround();
  fit.load_words();
  PacketTrack<N>::load_channel(job, packet, unit, memory.channel);
  __syncthreads();
  const int first = max(begin - kSpanBits, kMargin);
  const int last = min(begin + 2 * kSpanBits, job.bits - kMargin);
  const bool good = fit.fit(first << job.log2_bit(), last << job.log2_bit(), 0, nullptr);
  const SegmentFilter<N> filter(job, memory.segment);
  filter.run({packet, unit, noise_of(job, packet, unit), begin, end, true}, good ? memory.fit.h : memory.channel,
             job.outputs, job.kinds, job.draft_of(packet) + begin, job.bits);
}

}  // namespace iqd::equalizer
