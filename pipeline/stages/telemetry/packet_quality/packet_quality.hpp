// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/telemetry/packet_quality/quality_frames.hpp"
#include "signal/formats/packet_format.hpp"

/// How many bits of a packet are wrong, from its soft values x alone. They are ±a s plus white noise of variance v, with
/// s one of 16 levels that the filters leave of the pattern. The levels are those of a reference through the detection
/// filter D, and of one through T = |H|^2 / (|H|^2 + N) D. For each sixteenth of the payload and each set of levels:
///
///   m2 = mean s^2, r2 = mean x^2;  a = mean |x|, v = max(r2 - a^2 m2, 1e-4 r2);  8 times: a = mean x tanh(a x / v), v
///   p = mean over s of Q(a s / sqrt v)
///
/// soft     [packet][kind][bit]      f32, pilot and payload
/// channel  [packet][tap]            cf32 and
/// noise    [packet]                 f32; optional: without them D alone makes the levels
/// bits     [packet][kind][bit]      u8; optional, for frames
/// failed   [packet][word]           u8; optional: whether a decoder gave up a word
/// bep      [packet][kind]           f32, mean of the segments, weighted by their bits
/// segments [packet][kind][segment]  f32, sqrt(p p of D alone), 0.5 at most
/// dqm      [packet]                 f32, a whole number: the data quality metric of `kind`
/// frames   [frame][byte]            u8
///
/// A packet whose soft values are not all finite has NaN, and a DQM of 0; zeros have 0.5.
namespace iqd::packet_quality {

inline constexpr int kLevels = 16;
inline constexpr int kReferenceBits = 1024;
inline constexpr int kEnds = 32;  // bits of the reference left out at each end
inline constexpr int kUsedBits = kReferenceBits - 2 * kEnds;
inline constexpr int kPerLevel = kUsedBits / kLevels;
inline constexpr int kReference = 2 * kReferenceBits;  // samples, and bins of its spectrum
inline constexpr int kIterations = 8;
inline constexpr float kLeastShare = 1e-4f;  // of r2, in v

enum Input : std::size_t { kSoft, kChannel, kNoise, kBits, kFailed };
enum Output : std::size_t { kBep, kSegmentBep, kDqm, kFrames };

struct Config {
  PacketFormat packet;
  std::string kind;
  std::int64_t payload = 4096;
  std::int64_t word = 0;

  void fields(FieldVisitor& visitor);
};

/// 16 levels with mean 1, ascending.
struct Levels {
  float at[kLevels];
};

/// What both halves need.
struct Setup {
  std::int64_t bits = 0;     // of a packet and kind in `soft`
  std::int64_t payload = 0;  // the last ones of these
  int kinds = 1;
  int kind = 0;  // whose DQM and frames are put out
  bool has_channel = false;
  int taps = 0;
  int samples_per_bit = 2;
  std::vector<cf32> reference;  // its spectrum times D(k), k = 0 … 2047, in the order of a transform
  std::vector<std::uint8_t> reference_bits;
  Levels filter{};  // of D alone
  FrameSetup frames;
};

/// The reference, its spectrum and the filter's own levels.
void set_reference(Setup& setup);
/// Of the reference behind the filters, `y` at the bits' centres; sorts `rails`, of kUsedBits.
Levels levels_of(std::span<float> rails) noexcept;

/// Bin k of the reference's transform is k / 1024 cycles a bit, so it is bin k of a channel's transform of 1024
/// `samples_per_bit` points, or a negative frequency.
IQD_HOST_DEVICE inline int channel_bin(int k, int samples_per_bit) noexcept {
  return k < kReference / 2 ? k : k + kReferenceBits * (samples_per_bit - 2);
}

/// -log10 of p / (1 - p), where 12 is 65536; p = 0.5 and NaN give 0.
IQD_HOST_DEVICE inline int dqm_of(double p) noexcept {
  if (!(p < 0.5)) return 0;
  const double value = -log10(p / (1 - p)) * (65536.0 / 12);
  return value < 65535 ? static_cast<int>(floor(value + 0.5)) : 65535;
}

/// The error probability of bits that are ±a s plus noise of variance v.
IQD_HOST_DEVICE inline double error_of(const Levels& levels, float a, float v) noexcept {
  double sum = 0;
  const double scale = double{a} / sqrt(2 * double{v});
  for (int i = 0; i < kLevels; ++i) sum += 0.5 * erfc(double{levels.at[i]} * scale);
  return sum / kLevels;
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup, std::int64_t most);

}  // namespace iqd::packet_quality
