// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/device_array.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_quality/packet_quality.hpp"
#include "pipeline/stages/telemetry/roots.cuh"

namespace iqd::packet_quality {
namespace {

using gpu::Complex32;
using gpu::kWarp;

constexpr int kThreads = gpu::kFftThreads<kReference>;
constexpr int kPoints = gpu::kFftPoints<kReference>;
constexpr int kWarps = kThreads / kWarp;
constexpr int kSorted = 1024;  // the rails and padding
static_assert(kSorted >= kUsedBits && kSegments % kWarps == 0);

struct Job {
  const float* soft;
  const Complex32* channel;
  const float* noise;
  const std::int32_t* given[5];  // counts of the inputs; null: not connected
  float* bep;
  float* segments;
  float* dqm;
  std::int32_t* counts[3];

  const Complex32* factors;    // of a transform of kReference points
  const Complex32* roots;      // exp(-j 2 pi i / roots_size)
  int roots_size;              // points of a channel's transform
  const Complex32* reference;  // [bin]
  const std::uint8_t* reference_bits;
  Levels filter;
  std::int64_t bits;
  std::int64_t payload;
  int most;
  int kinds;
  int kind;
  int taps;
  int samples_per_bit;
  bool has_channel;

  __device__ int packets() const {
    int count = most;
    for (const std::int32_t* const n : given)
      if (n) count = min(count, *n);
    return count;
  }
};

struct Memory {
  union {
    Complex32 exchange[gpu::padded(kReference)];
    float rails[kSorted];
  };
  Complex32 taps[kReference];
  Levels own;
  double sums[kSegments];
  bool is_own;
};

/// |H|^2 at a bin of the reference.
__device__ float power_at(const Job& job, const Complex32* taps, int bin) {
  const auto step = static_cast<unsigned>(channel_bin(bin, job.samples_per_bit));
  const auto mask = static_cast<unsigned>(job.roots_size - 1);
  Complex32 sum{};
  unsigned at = 0;
  for (int m = 0; m < job.taps; ++m, at += step) sum = sum + gpu::times(taps[m], job.roots[at & mask]);
  return sum.re * sum.re + sum.im * sum.im;
}

/// Sorts kSorted numbers in shared memory, ascending.
__device__ void sort(float* x) {
  for (int width = 2; width <= kSorted; width *= 2)
    for (int apart = width / 2; apart > 0; apart /= 2) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < kSorted / 2; i += kThreads) {
        const int low = 2 * i - (i & (apart - 1)), high = low + apart;
        const bool ascends = (low & width) == 0;
        const float a = x[low], b = x[high];
        if (ascends == (a > b)) {
          x[low] = b;
          x[high] = a;
        }
      }
    }
  __syncthreads();
}

/// The channel's own levels, in `memory`.
__device__ void make_levels(const Job& job, std::int64_t packet, Memory& memory) {
  const int t = static_cast<int>(threadIdx.x);
  for (int m = t; m < job.taps; m += kThreads) memory.taps[m] = job.channel[packet * job.taps + m];
  const float noise = fmaxf(job.noise[packet], 0.0f);
  __syncthreads();
  Complex32 v[kPoints];
#pragma unroll
  for (int e = 0; e < kPoints; ++e) {
    const int bin = t + kThreads * e;
    const float power = power_at(job, memory.taps, bin);
    const float share = power / (power + noise);
    const Complex32 x = job.reference[bin];
    v[e] = {x.re * share, -x.im * share};  // the transform of the conjugate is the conjugate of the inverse
  }
  gpu::fft_steps<kReference>(v, memory.exchange, job.factors);
  __syncthreads();  // rails take the place of what was exchanged
  for (int i = t; i < kSorted; i += kThreads) memory.rails[i] = INFINITY;
  __syncthreads();
  bool finite = true;
#pragma unroll
  for (int e = 0; e < kPoints; ++e) {
    const int n = t + kThreads * e, k = n / 2;
    if (n % 2 != 0 || k < kEnds || k >= kReferenceBits - kEnds) continue;
    const float rail = k % 2 == 0 ? v[e].re : -v[e].im;
    memory.rails[k - kEnds] = job.reference_bits[k] != 0 ? rail : -rail;
    finite = finite && isfinite(rail);
  }
  const bool usable = __syncthreads_and(finite);
  if (t == 0) memory.is_own = usable;
  if (!usable) return;
  sort(memory.rails);
  if (t < kLevels) {
    float level = 0;
    for (int j = 0; j < kPerLevel; ++j) level += memory.rails[t * kPerLevel + j];
    memory.own.at[t] = level;
  }
  __syncthreads();
  if (t == 0) {
    float sum = 0;
    for (const float level : memory.own.at) sum += level;
    for (float& level : memory.own.at) level *= kLevels / sum;
  }
}

struct Fit {
  float mean;   // of |x|
  float power;  // of x
};

/// By a warp: the error probability of n bits with these levels.
__device__ double error_of(const float* x, int n, const Fit& fit, const Levels& levels) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  float square = 0;
  for (const float s : levels.at) square += s * s / kLevels;
  float a = fit.mean;
  float v = fmaxf(fit.power - a * a * square, kLeastShare * fit.power);
  for (int i = 0; i < kIterations; ++i) {
    float sum = 0;
    for (int j = lane; j < n; j += kWarp) sum += x[j] * tanhf(x[j] * (a / v));
    a = gpu::sum_of_warp(sum) / static_cast<float>(n);
    v = fmaxf(fit.power - a * a * square, kLeastShare * fit.power);
  }
  // A lane has one level; the sum is that of `error_of` in another order.
  const double scale = double{a} / sqrt(2 * double{v});
  const double p = lane < kLevels ? 0.5 * erfc(double{levels.at[lane]} * scale) : 0;
  return gpu::sum_of_warp(p) / kLevels;
}

__device__ double error_of_segment(const float* x, int n, const Memory& memory, const Levels& filter) {
  float mean = 0, power = 0;
  for (int j = static_cast<int>(threadIdx.x % kWarp); j < n; j += kWarp) {
    mean += fabsf(x[j]);
    power += x[j] * x[j];
  }
  const Fit fit{gpu::sum_of_warp(mean) / static_cast<float>(n), gpu::sum_of_warp(power) / static_cast<float>(n)};
  if (!isfinite(fit.power)) return NAN;
  if (fit.power == 0) return 0.5;
  double p = error_of(x, n, fit, filter);
  if (memory.is_own) p = sqrt(p * error_of(x, n, fit, memory.own));
  return fmin(p, 0.5);
}

/// A thread block handles a packet, a warp of it a segment at a time.
__global__ void __launch_bounds__(kThreads) rate_packets(const Job job) {
  extern __shared__ __align__(16) std::byte quality_memory[];
  __shared__ int packets;
  Memory& memory = *reinterpret_cast<Memory*>(quality_memory);
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    packets = job.packets();
    memory.is_own = false;
    if (blockIdx.x == 0)
      for (std::int32_t* const count : job.counts) *count = packets;
  }
  __syncthreads();
  const std::int64_t packet = blockIdx.x;
  if (packet >= packets) return;
  if (job.has_channel) make_levels(job, packet, memory);
  __syncthreads();
  for (int kind = 0; kind < job.kinds; ++kind) {
    const float* const soft = job.soft + (packet * job.kinds + kind + 1) * job.bits - job.payload;
    for (int s = t / kWarp; s < kSegments; s += kWarps) {
      const std::int64_t begin = s * job.payload / kSegments, end = (s + 1) * job.payload / kSegments;
      const int n = static_cast<int>(end - begin);
      const double p = error_of_segment(soft + begin, n, memory, job.filter);
      if (t % kWarp != 0) continue;
      job.segments[(packet * job.kinds + kind) * kSegments + s] = static_cast<float>(p);
      memory.sums[s] = p * n;
    }
    __syncthreads();
    if (t == 0) {
      double sum = 0;
      for (const double part : memory.sums) sum += part;
      sum /= static_cast<double>(job.payload);
      job.bep[packet * job.kinds + kind] = static_cast<float>(sum);
      if (kind == job.kind) job.dqm[packet] = static_cast<float>(dqm_of(sum));
    }
    __syncthreads();
  }
}

struct FramesJob {
  FrameJob job;
  const std::int32_t* packets;
  Rest* rest;  // bits behind it; null: no bits are left
  std::uint8_t* frames;
  std::int32_t* count;
  bool fresh;

  /// As it is before this block.
  __device__ FrameJob begin() const {
    FrameJob now = job;
    now.packets = *packets;
    now.rest = reinterpret_cast<const std::uint8_t*>(rest + 1);
    now.before = rest && !fresh ? *rest : Rest{};
    return now;
  }
};

/// A thread block makes a frame.
__global__ void __launch_bounds__(kThreads) make_frames(const FramesJob frames) {
  __shared__ int dqm;
  const FrameJob job = frames.begin();
  const std::int64_t frame = blockIdx.x, bytes = job.setup.frame_bytes();
  if (frame == 0 && threadIdx.x == 0) *frames.count = static_cast<std::int32_t>(job.frames());
  if (frame >= job.frames()) return;
  if (threadIdx.x == 0) dqm = dqm_of(job.error_of_frame(frame));
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < bytes; i += kThreads)
    frames.frames[frame * bytes + i] = job.byte(frame, i, dqm);
}

/// After `make_frames`: keeps what is left. One thread block.
__global__ void __launch_bounds__(kThreads) keep_rest(const FramesJob frames) {
  const FrameJob job = frames.begin();
  const Rest after = job.rest_after();
  const std::int64_t begin = job.frames() * job.setup.payload;
  auto* const bits = reinterpret_cast<std::uint8_t*>(frames.rest + 1);
  // Without a frame, what was there stays; with one, no bit comes from it.
  for (std::int64_t i = (begin == 0 ? job.before.bits : 0) + threadIdx.x; i < after.bits; i += kThreads)
    bits[i] = static_cast<std::uint8_t>(job.bit(begin + i));
  __syncthreads();  // all threads have read it
  if (threadIdx.x == 0) *frames.rest = after;
}

gpu::DeviceArray<Complex32> complex_of(std::span<const cf32> values) {
  return gpu::DeviceArray<Complex32>(std::span(reinterpret_cast<const Complex32*>(values.data()), values.size()));
}

class Run final : public StageRun {
 public:
  Run(const Setup& setup, std::int64_t most)
      : most_(static_cast<unsigned>(std::max<std::int64_t>(most, 1))),
        frames_(setup.frames),
        factors_(std::span<const Complex32>(gpu::fft_factors(kReference))),
        roots_(telemetry::roots(kReferenceBits * setup.samples_per_bit, kReferenceBits * setup.samples_per_bit)),
        reference_(complex_of(setup.reference)),
        reference_bits_(std::span<const std::uint8_t>(setup.reference_bits)) {
    fixed_.factors = factors_.data();
    fixed_.roots = roots_.data();
    fixed_.roots_size = kReferenceBits * setup.samples_per_bit;
    fixed_.reference = reference_.data();
    fixed_.reference_bits = reference_bits_.data();
    fixed_.filter = setup.filter;
    fixed_.bits = setup.bits;
    fixed_.payload = setup.payload;
    fixed_.most = static_cast<int>(most_);
    fixed_.kinds = setup.kinds;
    fixed_.kind = setup.kind;
    fixed_.taps = setup.taps;
    fixed_.samples_per_bit = setup.samples_per_bit;
    fixed_.has_channel = setup.has_channel;
    gpu::allow_shared(rate_packets, "loading packet_quality");
    gpu::load_kernels("loading packet_quality", rate_packets, make_frames, keep_rest);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    Job job = fixed_;
    job.soft = reinterpret_cast<const float*>(io.in[kSoft].data);
    if (job.has_channel) {
      job.channel = reinterpret_cast<const Complex32*>(io.in[kChannel].data);
      job.noise = reinterpret_cast<const float*>(io.in[kNoise].data);
    }
    for (std::size_t i = 0; i < io.in.size(); ++i) job.given[i] = io.in[i].count;
    job.bep = reinterpret_cast<float*>(io.out[kBep].data);
    job.segments = reinterpret_cast<float*>(io.out[kSegmentBep].data);
    job.dqm = reinterpret_cast<float*>(io.out[kDqm].data);
    for (const Output o : {kBep, kSegmentBep, kDqm}) job.counts[o] = io.out[o].count;
    rate_packets<<<most_, kThreads, sizeof(Memory), stream>>>(job);
    if (frames_.payload > 0)
      put_frames(io, job, stream);
    else
      cudaMemsetAsync(io.out[kFrames].count, 0, sizeof(std::int32_t), stream);
  }

 private:
  void put_frames(const StageIo& io, const Job& job, cudaStream_t stream) const noexcept {
    FramesJob frames{};
    frames.job.setup = frames_;
    frames.job.segment_kinds = job.kinds;
    frames.job.segment_kind = job.kind;
    frames.job.segments = job.segments;
    frames.job.bits = reinterpret_cast<const std::uint8_t*>(io.in[kBits].data);
    if (frames_.words > 0) frames.job.failed = reinterpret_cast<const std::uint8_t*>(io.in[kFailed].data);
    frames.packets = job.counts[0];
    frames.rest = reinterpret_cast<Rest*>(io.carry);
    frames.frames = reinterpret_cast<std::uint8_t*>(io.out[kFrames].data);
    frames.count = io.out[kFrames].count;
    frames.fresh = io.fresh;
    const std::int64_t most = (std::int64_t{most_} * frames_.bits + frames_.payload - 1) / frames_.payload;
    make_frames<<<static_cast<unsigned>(std::max<std::int64_t>(most, 1)), kThreads, 0, stream>>>(frames);
    if (frames.rest) keep_rest<<<1, kThreads, 0, stream>>>(frames);
  }

  Job fixed_{};
  unsigned most_;
  FrameSetup frames_;
  gpu::DeviceArray<Complex32> factors_;
  gpu::DeviceArray<Complex32> roots_;
  gpu::DeviceArray<Complex32> reference_;
  gpu::DeviceArray<std::uint8_t> reference_bits_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::packet_quality
