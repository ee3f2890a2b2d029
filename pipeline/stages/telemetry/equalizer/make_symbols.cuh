// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/equalizer/packet_job.cuh"

/// Symbols of all kinds: a thread block handles a packet. Of the 16,384 bins of a window, a thread holds k and k +
/// 8192, k = t + 512 e. They result from two transforms of 8192 points, E of the samples (or taps) with even indices
/// and O of those with odd ones,
///
///   X(k) = E(k) + w^k O(k)   X(k + 8192) = E(k) - w^k O(k)   w = exp(-j 2 pi / 16384)
///
/// and their sum is bin k of every second sample. Filters begin at index 0 here, so their output is late, or early, by
/// a fixed number of samples. Since they are short, their first radix-16 step only repeats each tap 16 times, which
/// needs no memory.
namespace iqd::equalizer {

constexpr int kHalf = 8192;
constexpr int kSymbolThreads = gpu::kFftThreads<kHalf>;
constexpr int kBins = gpu::kFftPoints<kHalf>;
constexpr int kLateBy = static_cast<int>(-kFirst);         // output of linear kinds
constexpr int kSoonBy = static_cast<int>(-kChannelFirst);  // output of the others
constexpr int kHalfTaps = static_cast<int>(kTaps) / 2;     // with even indices, and as many with odd ones
constexpr int kHalfChannel = static_cast<int>(kChannelTaps) / 2;
static_assert(kTaps % 2 == 0 && kChannelTaps % 2 == 0 && kLateBy % 2 == 0 && kSoonBy % 2 == 0);
static_assert(16 * kHalfTaps <= 3 * kSymbolThreads);  // so `begin_transform` needs at most three points a thread

struct alignas(16) BinPair {
  Complex32 low, high;  // k and k + 8192
};

struct SymbolMemory {
  Complex32 exchange[gpu::padded(kHalf)];
  Complex32 filter[2][kHalfTaps];  // even and odd
};

/// exp(-j 2 pi E / 32)
__device__ inline Complex32 turn_of(int e) {
  constexpr float kCos[kBins] = {1.0f,
                                 0.98078528040323044913f,
                                 0.92387953251128675613f,
                                 0.83146961230254523708f,
                                 0.70710678118654752440f,
                                 0.55557023301960222474f,
                                 0.38268343236508977173f,
                                 0.19509032201612826785f,
                                 0.0f,
                                 -0.19509032201612826785f,
                                 -0.38268343236508977173f,
                                 -0.55557023301960222474f,
                                 -0.70710678118654752440f,
                                 -0.83146961230254523708f,
                                 -0.92387953251128675613f,
                                 -0.98078528040323044913f};
  return {kCos[e], e <= 8 ? -kCos[8 - e] : -kCos[e - 8]};
}

class Symbols {
 public:
  __device__ Symbols(const Job& job, SymbolMemory& memory, BinPair* received)
      : job_(job),
        memory_(memory),
        t_(static_cast<int>(threadIdx.x)),
        root_(gpu::fft_factor(job.half_roots, t_)),
        received_(received + t_) {}

  /// Called by all threads of the thread block.
  __device__ void run(int packet) {
    packet_ = packet;
    const float unit = receive();
    if (!(unit > 0)) return fill(unit);
    noise_ = noise_of(job_, packet, unit);
#pragma unroll 1  // a single copy of the loop body fits the instruction cache
    for (int i = 0; i < 2 * job_.made; ++i) {
      const bool filtered = i >= job_.made;
      if (i == job_.made) weigh();
      if (job_.outputs[i % job_.made].filtered == filtered) make(i % job_.made, unit);
    }
  }

 private:
  using Points = Complex32[kBins];

  __device__ void begin_transform(Points& v) const {
    gpu::fft_step<kHalf, 1>(v, job_.half_factors, t_);
    __syncthreads();
    gpu::fft_exchange<kHalf, 1>(v, memory_.exchange, t_, [] { __syncthreads(); });
  }
  /// The same result as begin_transform() for these points and zeros.
  __device__ void begin_transform(const Complex32* taps, int count, Points& v) const {
#pragma unroll
    for (int e = 0; e < kBins; ++e) v[e] = {};
#pragma unroll
    for (int e = 0; e < 3; ++e) {
      const int i = (t_ + kSymbolThreads * e) / 16;
      if (i < count) v[e] = taps[i];
    }
  }
  __device__ void end_transform(Points& v) const {
    gpu::fft_steps<kHalf, 16>(v, memory_.exchange, job_.half_factors, t_, [] { __syncthreads(); });
  }
  /// Combines bins of even and odd indices into bins of both.
  __device__ BinPair pair_of(Complex32 even, Complex32 odd, int e) const {
    const Complex32 turned = gpu::times(odd, gpu::times(root_, turn_of(e)));
    return {even + turned, even - turned};
  }

  __device__ float receive();
  __device__ void turn(Points& even, Points& odd) const;
  __device__ void weigh() const;
  __device__ void make(int output, float unit) const;
  __device__ int load_filter(Kind kind, int output, float unit) const;
  __device__ BinPair invert(BinPair h, Kind kind, int e) const;
  __device__ void equalize(Kind kind, const Points& even, Points& v) const;
  __device__ void store(const Points& v, int output, int late) const;
  __device__ void fill(float value) const;

  __device__ Complex32* symbols_of(int output) const {
    return job_.symbols + (static_cast<std::int64_t>(packet_) * job_.kinds + output) * job_.bits;
  }

  const Job& job_;
  SymbolMemory& memory_;
  int t_;
  Complex32 root_;
  BinPair* received_;  // of this thread: [e][thread]
  int packet_ = 0;
  float noise_ = 0;
};

__device__ inline bool is_finite(Complex32 a) {
  return isfinite(a.re) && isfinite(a.im);
}

/// The window's bins. Returns the packet's unit, NaN if something in the window is not finite.
__device__ inline float Symbols::receive() {
  const Complex32* const window = job_.windows + static_cast<std::int64_t>(packet_) * job_.window;
  const bool aligned = reinterpret_cast<std::uintptr_t>(window) % 16 == 0;
  Points even{}, odd{};
#pragma unroll
  for (int e = 0; e < kBins; ++e) {
    const int at = 2 * (t_ + kSymbolThreads * e);
    if (at >= job_.window) continue;  // the window's length is even
    if (aligned) {
      const float4 v = *reinterpret_cast<const float4*>(window + at);
      even[e] = {v.x, v.y}, odd[e] = {v.z, v.w};
    } else {
      even[e] = load(window + at), odd[e] = load(window + at + 1);
    }
  }
  const float unit = unit_of<32>(job_, packet_);
  bool finite = true;
#pragma unroll
  for (int e = 0; e < kBins; ++e) {
    finite = finite && is_finite(even[e]) && is_finite(odd[e]);
    even[e] = scaled(even[e], unit);
    odd[e] = scaled(odd[e], unit);
  }
  if (!__syncthreads_and(finite)) return NAN;
  if (!(unit > 0)) return unit;
  if (job_.turned) turn(even, odd);
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    begin_transform(even);
    end_transform(even);
#pragma unroll
    for (int e = 0; e < kBins; ++e) {
      const Complex32 other = odd[e];
      odd[e] = even[e];
      even[e] = other;
    }
  }
#pragma unroll
  for (int e = 0; e < kBins; ++e) received_[kSymbolThreads * e] = pair_of(even[e], odd[e], e);
  return unit;
}

/// Takes the phase off the window. Two samples have the same one.
__device__ inline void Symbols::turn(Points& even, Points& odd) const {
#pragma unroll
  for (int e = 0; e < kBins; ++e) {
    const Complex32 phasor = phasor_at(job_, packet_, 2 * (t_ + kSymbolThreads * e));
    even[e] = gpu::times(even[e], phasor);
    odd[e] = gpu::times(odd[e], phasor);
  }
}

/// Applies the detection filter.
__device__ inline void Symbols::weigh() const {
#pragma unroll
  for (int e = 0; e < kBins; ++e) {
    const int k = t_ + kSymbolThreads * e;
    BinPair& bins = received_[kSymbolThreads * e];
    bins = {scaled(bins.low, __ldg(job_.detection + k)), scaled(bins.high, __ldg(job_.detection + k + kHalf))};
  }
}

/// Loads the filter into shared memory; writes the taps. Returns the delay of its output in samples.
__device__ inline int Symbols::load_filter(Kind kind, int output, float unit) const {
  const bool own = linear(kind);
  const Complex32* const from = own ? job_.taps_of(packet_, kind) : job_.channel + packet_ * kChannelTaps;
  __syncthreads();
  if (t_ < (own ? kTaps : kChannelTaps)) {
    const Complex32 tap = load(from + t_);
    memory_.filter[t_ % 2][t_ / 2] = own ? tap : scaled(tap, unit);
    if (own && job_.taps) {
      int before = 0;
      for (int i = 0; i < output; ++i) before += linear(job_.outputs[i].kind);
      const std::int64_t row = static_cast<std::int64_t>(packet_) * job_.linear_kinds + before;
      job_.taps[row * kTaps + t_] = scaled(tap, unit);
    }
  }
  __syncthreads();
  return own ? kLateBy : -kSoonBy;
}

/// H* / (|H|^2 + N) or H* Psi / (|H|^2 Psi + N)
__device__ inline BinPair Symbols::invert(BinPair h, Kind kind, int e) const {
  const auto inverse = [&](Complex32 a, int k) {
    const float weight = kind == Kind::fde2 ? __ldg(job_.psi + k) : 1;
    const float part = weight / fmaxf(square(a) * weight + noise_, kLeastDivisor);
    return Complex32{a.re * part, -a.im * part};
  };
  const int k = t_ + kSymbolThreads * e;
  return {inverse(h.low, k), inverse(h.high, k + kHalf)};
}

/// The conjugates of the filtered window, from the even bins and the odd ones (in v) of a filter.
__device__ inline void Symbols::equalize(Kind kind, const Points& even, Points& v) const {
#pragma unroll
  for (int e = 0; e < kBins; ++e) {
    BinPair c = pair_of(even[e], v[e], e);
    if (!linear(kind)) c = invert(c, kind, e);
    const BinPair r = received_[kSymbolThreads * e];
    const Complex32 sum = gpu::times(r.low, c.low) + gpu::times(r.high, c.high);
    v[e] = {sum.re, -sum.im};
  }
}

__device__ inline void Symbols::make(int output, float unit) const {
  const Kind kind = job_.outputs[output].kind;
  const int late = load_filter(kind, output, unit);
  Points v{}, even;
#pragma unroll 1
  for (int turn = 0; turn < 3; ++turn) {  // the filter's even taps, its odd ones, the symbols
    if (turn < 2) {
#pragma unroll
      for (int e = 0; e < kBins; ++e) even[e] = v[e];
      begin_transform(memory_.filter[turn], linear(kind) ? kHalfTaps : kHalfChannel, v);
    } else {
      equalize(kind, even, v);
      begin_transform(v);
    }
    end_transform(v);
  }
  store(v, output, late);
}

/// Stores the bits' centres; v holds the conjugates of the samples.
__device__ inline void Symbols::store(const Points& v, int output, int late) const {
  const int first = (static_cast<int>(PacketFormat::kGuard) + late) / 2;
  Complex32* const to = symbols_of(output);
#pragma unroll
  for (int e = 0; e < kBins; ++e) {
    const int at = t_ + kSymbolThreads * e - first;
    const int bit = at >> job_.log2_half_bit;
    if (at < 0 || bit >= job_.bits || bit << job_.log2_half_bit != at) continue;
    constexpr float kPart = 1.0f / (2 * kHalf);
    to[bit] = {v[e].re * kPart, -v[e].im * kPart};
  }
}

__device__ inline void Symbols::fill(float value) const {
  for (int i = t_; i < job_.kinds * job_.bits; i += kSymbolThreads) symbols_of(0)[i] = {value, value};
  if (!job_.taps) return;
  const auto count = static_cast<int>(job_.linear_kinds * kTaps);
  for (int i = t_; i < count; i += kSymbolThreads)
    job_.taps[static_cast<std::int64_t>(packet_) * count + i] = {value, value};
}

__global__ void __launch_bounds__(kSymbolThreads, 1) make_symbols(const Job job) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& memory = *reinterpret_cast<SymbolMemory*>(shared);
  BinPair* const received = job.spectra ? reinterpret_cast<BinPair*>(job.spectra) + std::int64_t{blockIdx.x} * kHalf
                                        : reinterpret_cast<BinPair*>(shared + sizeof(SymbolMemory));
  const int packets = count_packets(job);
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (std::int32_t* const count : job.count) *count = packets;
  Symbols symbols(job, memory, received);
  for (int packet = static_cast<int>(blockIdx.x); packet < packets; packet += static_cast<int>(gridDim.x))
    if (!job.rest || job.usable[packet] == 0) symbols.run(packet);
}

}  // namespace iqd::equalizer
