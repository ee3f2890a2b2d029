// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/formats/ofdm_format.hpp"

/// Measures how much faster a transmitter's sampling clock is than the receiver's, and removes what that does to its
/// frames: carriers turn in proportion to their frequency, and disturb each other.
///
/// carriers  [frame][symbol][carrier][rx]  cf32, from ofdm_demod; in and out
/// clock     [frame]                       f32, the clock's error that was removed, in parts per million
///
/// README.md has the formulas. With `memory` above 1 the carry is a Memory; a gap resets it.
namespace iqd::ofdm_clock {

struct Config {
  OfdmFormat format;
  double limit = 100;  // ppm
  std::int64_t memory = 1;

  void fields(FieldVisitor& visitor);
};

inline constexpr std::int64_t kMostAntennas = 16;
/// So many neighbours on each side are taken out of a carrier; those beyond have 1/53 of the disturbance.
inline constexpr int kReach = 32;
/// Below it, neighbours are not worth the work.
inline constexpr double kLeastForNeighbours = 2e-6;
/// A turn between the training symbols mixes antennas, so what the first estimate finds is taken out for the next.
inline constexpr int kRounds = 3;
/// Fewer symbols behind the training do not show how well they agree.
inline constexpr int kFewestSymbols = 3;

/// An estimate and its variance; the variance is NaN if there is none.
struct Fit {
  double error = 0;
  double variance = NAN;
};

/// What is known of frames before.
struct Memory {
  double weighted = 0;  // sum of errors over their variances
  double weight = 0;
};

/// Pairs of pilots whose turns are compared.
struct Pairs {
  std::int32_t apart = 0;         // pilots
  double radians_per_symbol = 0;  // by which the two turn apart from symbol to symbol, for a clock error of 1
};

/// All that is known before frames arrive, for host and device.
struct Extents {
  std::int32_t rx = 0;
  std::int32_t tx = 0;
  std::int32_t symbols = 0;
  std::int32_t tail_symbols = 0;
  std::int32_t carriers = 0;
  std::int32_t pilots = 0;
  std::int32_t pilot_every = 0;
  Pairs near = {};              // turn by less than half a turn for any clock; none: nothing is measured
  Pairs far = {};               // show a small rest better
  double turns_per_symbol = 0;  // by which the carrier at frequency 1 turns
  double tail_later = 0;        // symbols by which those of the tail are later
  double limit = 0;
  double keeps = 0;  // the weight of what is known from frames before

  IQD_HOST_DEVICE int behind() const noexcept { return symbols - 1 - tx; }
  IQD_HOST_DEVICE int pilot(int i) const noexcept { return i * pilot_every + pilot_every / 2; }
  IQD_HOST_DEVICE int frequency(int c) const noexcept {
    return c < carriers / 2 ? c - carriers / 2 : c - carriers / 2 + 1;
  }
  IQD_HOST_DEVICE const Pairs& pairs(int round) const noexcept { return round == 0 ? near : far; }
  /// By which a carrier turns until a symbol, for this error.
  IQD_HOST_DEVICE double turns(double error, int symbol, int frequency) const noexcept {
    return error * turns_per_symbol * position(symbol) * frequency;
  }
  /// Distance in symbols from the middle of the training.
  IQD_HOST_DEVICE double position(int symbol) const noexcept {
    return symbol - 0.5 * (tx + 1) + (symbol < symbols ? 0.0 : tail_later);
  }
  IQD_HOST_DEVICE int all_symbols() const noexcept { return symbols + tail_symbols; }
  IQD_HOST_DEVICE std::int64_t frame() const noexcept { return std::int64_t{all_symbols()} * carriers * rx; }
};

/// A line through the turns of the pairs of the symbols behind the training. The training is at 0 and has turned by 0; its noise is in all of
/// them, and less than theirs by the number of its symbols.
class Line {
 public:
  IQD_HOST_DEVICE explicit Line(int training) noexcept : weight_(training), count_(1) {}
  /// The sum of a symbol's pairs: 0 or NaN shows nothing.
  IQD_HOST_DEVICE void add(double position, double re, double im) noexcept {
    if (!(re * re + im * im > 0)) return;
    const double radians = atan2(im, re);
    weight_ += 1, count_ += 1;
    sum_t_ += position, sum_a_ += radians;
    sum_tt_ += position * position, sum_ta_ += position * radians, sum_aa_ += radians * radians;
  }
  IQD_HOST_DEVICE Fit fit(double radians_per_symbol) const noexcept {
    if (count_ <= kFewestSymbols) return {};
    const double tt = sum_tt_ - sum_t_ * sum_t_ / weight_, ta = sum_ta_ - sum_t_ * sum_a_ / weight_;
    const double rest = sum_aa_ - sum_a_ * sum_a_ / weight_ - ta * ta / tt;
    const double one = radians_per_symbol * radians_per_symbol;
    return {ta / tt / radians_per_symbol, (rest < 0 ? 0.0 : rest) / ((count_ - 2) * tt * one)};
  }

 private:
  double weight_;
  int count_;
  double sum_t_ = 0, sum_a_ = 0, sum_tt_ = 0, sum_ta_ = 0, sum_aa_ = 0;
};

/// The error to remove from a frame with this fit: an error that the noise could have made is worth less.
IQD_HOST_DEVICE inline double clock_of(const Extents& e, const Fit& fit, Memory& memory) noexcept {
  constexpr double kLeastVariance = 1e-14;  // 0.1 ppm
  if (fit.variance >= 0 && fabs(fit.error) <= e.limit) {
    const double weight = 1 / (fit.variance > kLeastVariance ? fit.variance : kLeastVariance);
    memory.weighted = e.keeps * memory.weighted + weight * fit.error;
    memory.weight = e.keeps * memory.weight + weight;
  } else if (e.keeps == 0) {
    memory = {};
  }
  if (!(memory.weight > 0)) return 0;
  const double error = memory.weighted / memory.weight, share = 1 / (memory.weight * error * error);
  return share < 1 ? error * (1 - share) : 0.0;
}

struct Design {
  Extents extents;
  std::vector<std::int32_t> odd;  // empty carriers in the synchronisation symbol
  std::vector<cf32> weights;      // [symbol behind the training][pilot][training], see OfdmReference::pilot_weight
};
Design make_design(const Config& config, std::int64_t rx);

std::size_t scratch_bytes(const Design& design);
void run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, Memory& memory, cf32* out, float* clock,
             std::byte* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Design& design, std::int64_t most_frames);

}  // namespace iqd::ofdm_clock
