// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// The data bits of frames, on the device. Only one .cu file includes this.
namespace iqd::ofdm_modulator {
namespace {

constexpr int kThreads = 256;

/// The frames that are computed at once, out of those that the output covers.
struct Pass {
  std::int64_t begin;  // the first frame, counted from the first covered one
  std::int64_t most;   // fewer exist if the output ends in one of them
  std::int64_t frame;  // samples
  std::int64_t length;
  const std::int64_t* first_at;

  /// The number of frames, if the output begins `offset` samples behind its first frame's begin.
  __device__ std::int64_t count(std::int64_t offset) const {
    const std::int64_t touched = (offset + length + frame - 1) / frame;
    return min(most, touched - begin);
  }
};

/// Information bits, from the input or from a sequence.
struct Source {
  const std::uint8_t* in;  // null: the sequence
  const std::int64_t* in_first_at;
  const std::uint32_t* sequence;  // 32 bits a word, LSB first
  std::uint32_t period;
  std::int64_t information;  // bits of a frame
  /// Position of a frame's first bit.
  __device__ std::int64_t base_of(std::int64_t frame) const {
    return in != nullptr ? frame * information - *in_first_at : frame % period * information % period;
  }
  __device__ std::uint32_t bit(std::int64_t base, int j) const {
    if (in != nullptr) return in[base + j] & 1;
    const std::uint32_t n = (static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(j)) % period;
    return __ldg(sequence + n / 32) >> (n % 32) & 1;
  }
};

/// The base of the thread block's frame, which is number blockIdx.y of the pass; -1 if that frame is not wanted.
__device__ std::int64_t base_of_group(const Pass& pass, const Source& source) {
  __shared__ std::int64_t base;
  if (threadIdx.x == 0) {
    const std::int64_t first = *pass.first_at;
    const bool wanted = blockIdx.y < pass.count(first % pass.frame);
    base = wanted ? source.base_of(first / pass.frame + pass.begin + blockIdx.y) : -1;
  }
  __syncthreads();
  return base;
}

/// Without a code: data bits are information bits. bits [frame of the pass][source.information]
__global__ void __launch_bounds__(kThreads) copy_bits(const Pass pass, const Source source, std::uint8_t* bits) {
  const std::int64_t base = base_of_group(pass, source);
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (base < 0 || j >= source.information) return;
  bits[blockIdx.y * source.information + j] = static_cast<std::uint8_t>(source.bit(base, static_cast<int>(j)));
}

struct Coding {
  const std::int32_t* sources;  // [n], as WordSums::bits
  const std::uint32_t* masks;   // [packed][sums]
  const std::uint8_t* filler;
  int n;
  int k;  // information bits
  int sums;
  int packed;  // 32-bit words of a word's information bits
  int words;
  std::int64_t bits;  // data bits of a frame
};

/// One thread block per word, and one for the filler behind the words. bits [frame of the pass][coding.bits]
__global__ void __launch_bounds__(kThreads)
    encode_words(const Pass pass, const Source source, const Coding coding, std::uint8_t* bits) {
  extern __shared__ std::uint32_t information[];
  const std::int64_t base = base_of_group(pass, source);
  if (base < 0) return;
  std::uint8_t* const out = bits + blockIdx.y * coding.bits;
  const int w = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);
  if (w == coding.words) {
    const std::int64_t coded = static_cast<std::int64_t>(w) * coding.n;
    for (std::int64_t e = coded + t; e < coding.bits; e += kThreads) out[e] = coding.filler[e - coded];
    return;
  }
  for (int j = t; j < 32 * coding.packed; j += kThreads) {  // a whole warp or none of it
    const std::uint32_t bit = j < coding.k ? source.bit(base, w * coding.k + j) : 0;
    const std::uint32_t together = __ballot_sync(0xffffffff, bit != 0);
    if (j % 32 == 0) information[j / 32] = together;
  }
  __syncthreads();
  for (int n = t; n < coding.n; n += kThreads) {
    const int source = __ldg(coding.sources + n);
    std::uint32_t bit = 0;
    if (source < coding.k) {
      bit = information[source / 32] >> (source % 32);
    } else {
      std::uint32_t sum = 0;
      for (int q = 0; q < coding.packed; ++q)
        sum ^= information[q] & __ldg(coding.masks + q * coding.sums + source - coding.k);
      bit = __popc(sum);
    }
    out[static_cast<std::int64_t>(n) * coding.words + w] = static_cast<std::uint8_t>(bit & 1);
  }
}

}  // namespace
}  // namespace iqd::ofdm_modulator
