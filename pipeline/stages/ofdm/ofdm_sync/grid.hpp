// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/views.hpp"
#include "pipeline/stage/positions.hpp"
#include "pipeline/stages/arithmetic.hpp"

/// The arithmetic that CPU and GPU share: positions, and what is computed from sums.
namespace iqd::ofdm_sync {

using elementwise::Complex;

/// Steps in L: M is computed at absolute multiples of L/16. The grid may miss M's plateau by half a step, which costs 3
/// %; with sums over steps, the cost is a few operations a sample.
inline constexpr std::int64_t kSteps = 16;
/// Grid points to each side that a candidate must exceed if tones are rejected, L/2.
inline constexpr std::int64_t kNearbyBesideTones = 8;

/// Partial sums over the repetitions in the prefixes: each of every 128th sample.
inline constexpr int kPrefixParts = 128;

/// The dimensions of a frame in samples, and the grid.
struct Grid {
  std::int64_t antennas;
  std::int64_t tx;
  std::int64_t fft;
  std::int64_t prefix;
  std::int64_t first_prefix;
  std::int64_t symbol;
  std::int64_t symbols;
  std::int64_t frame;
  std::int64_t tail;    // samples behind a frame that are given with it
  std::int64_t lag;     // L
  std::int64_t step;    // between grid points
  std::int64_t blocks;  // steps that M is summed over, chosen so that its plateau is as long as a prefix
  std::int64_t half;    // half a frame, in steps
  std::int64_t nearby;  // steps to each side that a candidate has the largest M of
  std::int64_t sides;   // i = -sides … sides are tried
  std::int64_t width;   // to each side, of a path in the channel's power profile
  std::int64_t others;  // grid points to each side that a tone is measured at; 0: tones are not rejected
  std::int64_t apart;   // steps between them
  float pair_count;     // of neighbouring carriers in all training symbols
  float per_sample;     // 1 / samples that M is summed over
  float half_count;     // independent ones among them, by the bandwidth
  float threshold;
  float most_power;  // of a carrier of a training symbol; infinity: tones are not rejected
  double rate_hz;

  IQD_HOST_DEVICE constexpr bool rejects_tones() const noexcept { return others > 0; }
  /// Distance of a start from its g: it lies in g - reach() … g + lag - 1.
  IQD_HOST_DEVICE constexpr std::int64_t reach() const noexcept { return lag + prefix; }
  IQD_HOST_DEVICE constexpr std::int64_t hypotheses() const noexcept { return 2 * sides + 1; }
  /// Position of the transform of training symbol t: one prefix before the latest position that g allows.
  IQD_HOST_DEVICE constexpr std::int64_t training_at(std::int64_t g, std::int64_t t) const noexcept {
    return g + first_prefix - prefix + (t + 1) * symbol;
  }
  /// The i-th sample, counted from the start, of all prefix samples that repeat fft later; the first symbol has
  /// `prefix` of them.
  IQD_HOST_DEVICE constexpr std::int64_t repeated_at(std::int64_t i) const noexcept {
    // 32 bits are enough, and a GPU has no 64-bit division.
    const auto place = static_cast<std::uint32_t>(i), each = static_cast<std::uint32_t>(prefix);
    return first_prefix - prefix + place / each * symbol + place % each;
  }
  /// Samples required from g on; without them there is no M(g).
  IQD_HOST_DEVICE constexpr std::int64_t need() const noexcept {
    const std::int64_t known = training_at(0, tx - 1) + fft;
    return known > halves_need() ? known : halves_need();
  }
  IQD_HOST_DEVICE constexpr std::int64_t halves_need() const noexcept { return (blocks + kSteps) * step; }
  /// Number of grid points with an M, the first at `lead`.
  IQD_HOST_DEVICE constexpr std::int64_t places(std::int64_t length, std::int64_t lead) const noexcept {
    return places_for(need(), length, lead);
  }
  /// Number of grid points with both halves.
  IQD_HOST_DEVICE constexpr std::int64_t halves(std::int64_t length, std::int64_t lead) const noexcept {
    return places_for(halves_need(), length, lead);
  }
  /// The range of g whose frames may start within `fresh`.
  IQD_HOST_DEVICE constexpr Positions asked(Positions fresh) const noexcept {
    return {fresh.first - lag, fresh.end + reach()};
  }
  /// Samples needed around a block's new ones.
  constexpr std::int64_t past() const noexcept { return 2 * lag + half * step + around(); }
  constexpr std::int64_t future() const noexcept {
    const std::int64_t at_last = around() + halves_need() > need() ? around() + halves_need() : need();
    const std::int64_t to_compare = reach() + half * step + lag + at_last;
    return to_compare > given() ? to_compare : given();
  }
  /// Samples of a frame in the output.
  IQD_HOST_DEVICE constexpr std::int64_t given() const noexcept { return frame + tail; }
  /// Samples from g to the farthest grid point that a tone is measured at.
  constexpr std::int64_t around() const noexcept { return others * apart * step; }
  /// Room for frames in a block with that many new samples.
  constexpr std::int64_t most_frames(std::int64_t most_new) const noexcept {
    return (most_new + frame - 1) / frame + 2;
  }
  /// Whether halves and known symbols look like a frame. In noise, the similarity of n values reaches a with
  /// probability exp(-n a^2): if symbols are short, both together must exceed what the threshold demands. (64 carriers:
  /// 1,000 frames in 4 million samples of noise by the threshold alone, none with this.) Data have only as many
  /// independent values as carriers, so halves count by their share of the band. (144 of 2048: when all samples
  /// counted, a frame was occasionally found in the data of one that a gap had cut.)
  IQD_HOST_DEVICE constexpr bool convinces(float halves, float known) const noexcept {
    constexpr float kEvidence = 22;
    return known >= threshold && halves * halves * half_count + known * known * pair_count >= kEvidence;
  }
  /// Noise and weak echoes may make a start some samples early. Up to that far before the first sample, it is a start
  /// at the first sample.
  IQD_HOST_DEVICE constexpr std::int64_t settled(std::int64_t start) const noexcept {
    return start < 0 && start >= -prefix / 8 ? 0 : start;
  }
  IQD_HOST_DEVICE constexpr std::int64_t places_for(std::int64_t needed, std::int64_t length,
                                                    std::int64_t lead) const noexcept {
    const std::int64_t room = length - lead - needed;
    return room < 0 ? 0 : room / step + 1;
  }
};

/// Sums over steps of one antenna: x*(n) x(n+L), |x|^2, and x.
struct Sums {
  const float* re;
  const float* im;
  const float* energy;
  const float* mean_re;
  const float* mean_im;
};
inline constexpr int kSums = 5;

/// Sums over two stretches: products, energies of both, and samples.
struct Stretches {
  Complex product;
  float energy = 0;
  Complex first;
  Complex second;

  IQD_HOST_DEVICE void add(Complex a, Complex b) noexcept {
    product.re += a.re * b.re + a.im * b.im;
    product.im += a.re * b.im - a.im * b.re;
    energy += (a.re * a.re + a.im * a.im) + (b.re * b.re + b.im * b.im);
    first = {first.re + a.re, first.im + a.im};
    second = {second.re + b.re, second.im + b.im};
  }
  IQD_HOST_DEVICE void add(const Stretches& other) noexcept {
    product = {product.re + other.product.re, product.im + other.product.im};
    energy += other.energy;
    first = {first.re + other.first.re, first.im + other.first.im};
    second = {second.re + other.second.re, second.im + other.second.im};
  }
};
/// The similarity of two stretches, 0 … 1 in magnitude, and their mean energy; both without their means, as radios may
/// add a constant. 0 if there is hardly anything but a constant, or a NaN or an infinity.
struct Alike {
  Complex c;
  float energy = 0;
};
inline constexpr float kLeastShare = 0x1p-12f;  // of the energy, without the constant's; rounding is 1e-6

IQD_HOST_DEVICE inline Alike alike(const Stretches& s, float per_sample) noexcept {
  const Complex a{s.first.re * per_sample, s.first.im * per_sample};
  const Complex b{s.second.re * per_sample, s.second.im * per_sample};
  const float constant = (a.re * s.first.re + a.im * s.first.im) + (b.re * s.second.re + b.im * s.second.im);
  const float left = s.energy - constant;
  if (!(left > kLeastShare * s.energy && left <= FLT_MAX)) return {};
  const float energy = 0.5f * left;
  return {{(s.product.re - (a.re * s.second.re + a.im * s.second.im)) / energy,
           (s.product.im - (a.re * s.second.im - a.im * s.second.re)) / energy},
          energy};
}

/// c of one antenna at grid point j. The order of operations is that of `find_likeness`, so the bits are the same.
IQD_HOST_DEVICE inline Alike halves_at(const Grid& grid, const Sums& sums, std::int64_t j) noexcept {
  Stretches s;
  for (std::int64_t k = j; k < j + grid.blocks; ++k) {
    s.product.re += sums.re[k];
    s.product.im += sums.im[k];
    s.energy += sums.energy[k] + sums.energy[k + kSteps];
    s.first.re += sums.mean_re[k];
    s.first.im += sums.mean_im[k];
    s.second.re += sums.mean_re[k + kSteps];
    s.second.im += sums.mean_im[k + kSteps];
  }
  return alike(s, grid.per_sample);
}

/// Combines antennas: each is weighted by its |c|^2. So an antenna with noise alone, however strong, hardly counts, nor
/// does a weak one; the result is 0 … 1, and c itself if all are equal.
struct Combined {
  Complex sum;
  float weight = 0;

  IQD_HOST_DEVICE void add(Complex c) noexcept { add(c, c); }
  /// Another value of the same antenna, weighted by its c.
  IQD_HOST_DEVICE void add(Complex c, Complex other) noexcept {
    const float square = c.re * c.re + c.im * c.im;
    if (!(square <= 4)) return;  // not finite: |c| is at most 1
    sum.re += square * other.re;
    sum.im += square * other.im;
    weight += square;
  }
  IQD_HOST_DEVICE float value() const noexcept {
    return weight > 0 ? std::sqrt(sum.re * sum.re + sum.im * sum.im) / weight : 0;
  }
};

/// The phase from a to b as a number of magnitude 1; 0 if undefined.
IQD_HOST_DEVICE inline Complex phase_between(Complex a, Complex b) noexcept {
  const Complex p{a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
  const float square = p.re * p.re + p.im * p.im;
  if (!(square >= FLT_MIN && square <= FLT_MAX)) return {};
  const float size = std::sqrt(square);
  return {p.re / size, p.im / size};
}

/// The power profile of a channel, [fft], cyclic; the delays are -fft/2 + prefix … fft/2 + prefix - 1.
struct Profile {
  const float* power;
  std::int64_t fft;
  std::int64_t prefix;
  std::int64_t width;  // of a path, to each side

  IQD_HOST_DEVICE float at(std::int64_t delay) const noexcept { return power[delay & (fft - 1)]; }
  IQD_HOST_DEVICE std::int64_t first_delay() const noexcept { return prefix - fft / 2; }
};

/// The least power of a path: 18 dB below the strongest, and twelve times the mean noise.
IQD_HOST_DEVICE inline float least_path(float strongest, float noise) noexcept {
  return std::fmax(strongest / 64, 12 * noise);
}

/// The power within one prefix behind a path, if there is one; otherwise -1. A path at the end of the prefix counts
/// with its full width.
IQD_HOST_DEVICE inline float power_from(const Profile& profile, std::int64_t delay, float least) noexcept {
  const float here = profile.at(delay);
  if (!(here >= least && here >= profile.at(delay - 1) && here > profile.at(delay + 1))) return -1;
  float sum = 0;
  for (std::int64_t i = -profile.width; i <= profile.prefix + profile.width; ++i) sum += profile.at(delay + i);
  return sum;
}

/// Offset in carriers, from the halves alone: within -1 … 1.
IQD_HOST_DEVICE inline double fraction_of(Complex halves) noexcept {
  return std::atan2(static_cast<double>(halves.im), static_cast<double>(halves.re)) * std::numbers::inv_pi;
}

/// The weight of an angle that is measured from this number of values: the inverse of its variance.
IQD_HOST_DEVICE inline double trust_in(float likeness, double values) noexcept {
  const double square = std::fmin(static_cast<double>(likeness) * likeness, 0.999999);
  return values * square / (1 - square);
}

/// The offset in carriers, from `offset` by the halves and from the prefixes. The prefixes repeat at twice the
/// distance, so their angle is unambiguous over half the range. Beside a tone, chance may make the few halves look better
/// than the signal is: they are trusted like the prefixes at most.
IQD_HOST_DEVICE inline double refined_offset(const Grid& grid, double offset, const Combined& halves,
                                             const Combined& prefixes) noexcept {
  const double turns = 0.5 * fraction_of(prefixes.sum) - offset;
  const float likeness = grid.rejects_tones() ? std::fmin(halves.value(), prefixes.value()) : halves.value();
  const double trust = 4 * trust_in(prefixes.value(), static_cast<double>(grid.symbols * grid.prefix));
  const double other = trust_in(likeness, static_cast<double>(grid.blocks * grid.step));
  return trust > 0 ? offset + (turns - std::rint(turns)) * trust / (trust + other) : offset;
}

/// Turns in units of 2^-64 a sample that cancel an offset in hertz.
IQD_HOST_DEVICE inline std::uint64_t turns_against(float offset_hz, double rate_hz) noexcept {
  return static_cast<std::uint64_t>(std::llrint(-static_cast<double>(offset_hz) / rate_hz * 0x1p63)) << 1;
}

}  // namespace iqd::ofdm_sync
