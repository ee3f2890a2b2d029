// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/ofdm/antenna_noise.hpp"
#include "signal/formats/antenna_bits.hpp"
#include "signal/formats/ofdm_format.hpp"

/// Reads which modulation each antenna announces in the synchronisation symbol of OFDM frames, with the channel that the
/// training shows. README.md has the formulas.
///
/// carriers    [frame][symbol][carrier][rx]  cf32, from ofdm_demod
/// modulation  [frame][tx]                   u8, bits of a point; 0: the antenna is silent, or its number is reserved
/// margin      [frame][tx]                   f32, distance to the next number, in deviations
/// events      [event]                       i64: frames, unclear: numbers of an antenna that are too close to the next
///
/// What is unclear is as the antenna announced before, since the start or the last gap; at first it is as configured. A
/// NaN or an infinity makes a frame unclear.
namespace iqd::mimo_modulation {

struct Config {
  OfdmFormat format;
  std::vector<std::string> modulation = {"qpsk"};
  bool announced = true;
  double margin = 3;

  void fields(FieldVisitor& visitor);
};

enum Event : std::size_t { kFrames, kUnclear };
inline constexpr std::string_view kEvents[] = {"frames", "unclear"};
enum Output : std::size_t { kModulation, kMargin, kTally };

inline constexpr int kMostAntennas = 8;
inline constexpr int kNumbers = OfdmAnnouncement::kNumbers;
/// Carriers on both sides that the channel of one is averaged over: paths turn them by 0.44 at most.
inline constexpr int kReach = 2;
/// The centre carrier, which is not sent, adds one.
inline constexpr int kMostApart = kReach + 1;

/// What is known before frames arrive, for host and device; complex numbers are pairs.
struct Tables {
  std::int32_t rx = 0, tx = 0, symbols = 0, carriers = 0;
  std::int32_t evens = 0, odds = 0, signs_pitch = 0;
  std::uint8_t configured[kMostAntennas] = {};
  bool announced = true;
  float margin = 3;
  const float* training = nullptr;     // [carrier]
  const float* uncover = nullptr;      // [tx][training]: conj(cover) / tx
  const float* ramp = nullptr;         // [apart + kMostApart]: effect of the middle delay on carriers that far apart
  const std::int32_t* odd = nullptr;   // [odds]: empty carriers of the synchronisation symbol
  const std::int32_t* even = nullptr;  // [evens]: the others; number i is antenna i mod tx's
  const float* sent = nullptr;         // [evens]
  const float* signs = nullptr;        // [number][signs_pitch]

  IQD_HOST_DEVICE std::int64_t frame() const noexcept { return std::int64_t{symbols} * carriers * rx; }
  IQD_HOST_DEVICE int frequency(int c) const noexcept {
    return c < carriers / 2 ? c - carriers / 2 : c - carriers / 2 + 1;
  }
};

/// What a carrier says for a sign of 1, and the variance of that.
struct Evidence {
  double sum = 0, variance = 0;
};

IQD_HOST_DEVICE inline double square_of(const float* z) noexcept {
  return static_cast<double>(z[0]) * static_cast<double>(z[0]) + static_cast<double>(z[1]) * static_cast<double>(z[1]);
}

/// Of even carrier i. `frame`: its carriers; `noise`: of each antenna, 0 for one that receives nothing.
IQD_HOST_DEVICE inline Evidence weigh(const Tables& t, const float* frame, const double* noise, int i) noexcept {
  const int c = t.even[i], antenna = i % t.tx;
  const double sent = static_cast<double>(t.sent[i]);
  Evidence evidence;
  for (int r = 0; r < t.rx; ++r) {
    if (!(noise[r] != 0)) continue;
    double re = 0, im = 0;
    int averaged = 0;
    for (int n = c - kReach; n <= c + kReach; ++n) {
      if (n < 0 || n >= t.carriers) continue;
      ++averaged;
      float sum_re = 0, sum_im = 0;
      for (int s = 0; s < t.tx; ++s) {
        const float* const y = frame + 2 * ((std::int64_t{1 + s} * t.carriers + n) * t.rx + r);
        const float* const u = t.uncover + 2 * (antenna * t.tx + s);
        sum_re += u[0] * y[0] - u[1] * y[1];
        sum_im += u[0] * y[1] + u[1] * y[0];
      }
      const float* const turn = t.ramp + 2 * (t.frequency(c) - t.frequency(n) + kMostApart);
      re += static_cast<double>(t.training[n] * (turn[0] * sum_re - turn[1] * sum_im));
      im += static_cast<double>(t.training[n] * (turn[0] * sum_im + turn[1] * sum_re));
    }
    re /= averaged, im /= averaged;
    const float* const y = frame + 2 * (std::int64_t{c} * t.rx + r);
    evidence.sum += sent / noise[r] * (re * static_cast<double>(y[0]) + im * static_cast<double>(y[1]));
    const double power = re * re + im * im;
    evidence.variance += sent * sent / (2 * noise[r]) *
                         (power + (power * sent * sent + noise[r]) / (static_cast<double>(averaged) * t.tx));
  }
  return evidence;
}

/// The number that an antenna announces, and its distance from the next in deviations; NaN if there is none.
struct Reading {
  std::int32_t number = 0;
  float margin = 0;
};
IQD_HOST_DEVICE inline Reading read_number(const Tables& t, const Evidence* evidence, int antenna) noexcept {
  double sums[kNumbers];
  int best = 0;
  for (int k = 0; k < kNumbers; ++k) {
    double sum = 0;
    for (int i = antenna, j = 0; i < t.evens; i += t.tx, ++j)
      sum += static_cast<double>(t.signs[k * t.signs_pitch + j]) * evidence[i].sum;
    sums[k] = sum;
    if (sum > sums[best]) best = k;
  }
  Reading reading{best, INFINITY};
  for (int k = 0; k < kNumbers; ++k) {
    if (k == best) continue;
    double variance = 0;
    for (int i = antenna, j = 0; i < t.evens; i += t.tx, ++j)
      if (t.signs[k * t.signs_pitch + j] != t.signs[best * t.signs_pitch + j]) variance += 4 * evidence[i].variance;
    const auto margin = static_cast<float>((sums[best] - sums[k]) / sqrt(variance));
    if (!(margin >= reading.margin)) reading.margin = margin;
  }
  return reading;
}

/// What the antennas announced last.
struct Memory {
  std::uint8_t bits[kMostAntennas];
};
IQD_HOST_DEVICE inline void set_configured(const Tables& t, Memory& memory) noexcept {
  for (int a = 0; a < t.tx; ++a) memory.bits[a] = t.configured[a];
}
/// Puts an antenna's bits; returns whether the reading is clear.
IQD_HOST_DEVICE inline bool settle(const Tables& t, const Reading& reading, int antenna, Memory& memory) noexcept {
  std::uint8_t& bits = memory.bits[antenna];
  if (!t.announced) {
    bits = t.configured[antenna];
    return true;
  }
  if (!(reading.margin >= t.margin)) return false;
  const int number = reading.number;
  bits = number == OfdmAnnouncement::kNone    ? t.configured[antenna]
         : number < OfdmAnnouncement::kSilent ? static_cast<std::uint8_t>(2 * number)
                                              : std::uint8_t{0};
  return true;
}

/// Owns what the tables point to.
struct Design {
  Tables tables;  // without its pointers
  std::vector<float> training, uncover, ramp, sent, signs;
  std::vector<std::int32_t> odd, even;

  /// The tables with pointers to this.
  Tables here() const noexcept;
};
/// The format and the modulation are right.
Design make_design(const Config& config, const AntennaBits& configured, std::int64_t rx);

std::size_t scratch_bytes(const Design& design);
/// Returns how many numbers were unclear. `margin` may be null.
std::int64_t run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, Memory& memory,
                     std::uint8_t* modulation, float* margin, std::byte* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Design& design, std::int64_t most_frames);

}  // namespace iqd::mimo_modulation
