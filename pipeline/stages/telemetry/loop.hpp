// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "base/views.hpp"

/// The phase loop of one chain, that is of one packet of one kind, and its decisions, shared by the CPU and the GPU: sums
/// and products of floats in a fixed order, none of them fused, so that both give the same bits. `soqpsk_detector`
/// decides with it; `equalizer` sharpens its channel with the decisions.
///
/// The phase is kept not as an angle but as w = exp(-j theta) / A, which each update turns by a small angle. The loop
/// itself corrects the phase error that rounding causes in w; its length is corrected at the beginning of each tile.
namespace iqd::telemetry {

constexpr int kTile = 32;       // symbols
constexpr int kSettled = 8;     // amplitude and noise are measured from this bit of the pilot on
constexpr float kMostTurn = 1;  // radian, of one update
constexpr float kLeastNoise = 1e-3f;
constexpr float kMostLlr = 1e4f;
constexpr float kLlrScale = 0.25f;  // of LLRs in whole numbers
constexpr float kBefore = -1e30f;   // soft value before a payload, for the differential code: a certain 0

struct Symbol {
  float re;
  float im;
};
struct SoftPair {
  float even;
  float odd;
};

/// The known bits, as -1 and 1: an even number of them.
struct Pilot {
  const float* a;
  int bits;
};
/// s = direct e; theta += s + v; v += carried s
struct Gains {
  float direct;
  float carried;
};
/// Of a loop with noise bandwidth times bit length `bandwidth`; the second order is critically damped.
inline Gains gains_of(double bandwidth, std::int64_t order) noexcept {
  if (order == 1) return {static_cast<float>(bandwidth / (1 + 2 * bandwidth)), 0};
  constexpr double kDamping = 1;
  constexpr double kDetector = 2;  // the error is twice the sine of the angle
  const double theta = bandwidth / (kDamping + 0.25 / kDamping);
  const double scale = 4 / (1 + 2 * kDamping * theta + theta * theta) / kDetector;
  // K1 + K2, and K2 divided by that.
  return {static_cast<float>((kDamping + theta) * theta * scale), static_cast<float>(theta / (kDamping + theta))};
}

/// x, or -x if s is negative.
IQD_HOST_DEVICE inline float with_sign_of(float s, float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) ^ (std::bit_cast<std::uint32_t>(s) & 0x80000000u));
}
/// The magnitude of x, at most `most`; `most` if x is NaN.
IQD_HOST_DEVICE inline float limited_size(float x, float most) {
  const float size = fabsf(x);
#ifdef __CUDA_ARCH__
  return fminf(size, most);  // one instruction; a comparison would take two dependent ones
#else
  return size < most ? size : most;
#endif
}
IQD_HOST_DEVICE inline float limited(float x, float most) {
  return with_sign_of(x, limited_size(x, most));
}
IQD_HOST_DEVICE inline bool is_finite(float x) {
  return fabsf(x) <= FLT_MAX;
}

/// The contribution of bit k to the sum of a_k (Re even | Im odd) y.
IQD_HOST_DEVICE inline float along(const Pilot& pilot, int k, Symbol y) {
  return pilot.a[k] * (k % 2 == 0 ? y.re : y.im);
}

class Loop {
 public:
  Loop() = default;
  /// `sum`: of `along`, over bits kSettled … of the pilot. If the amplitude is 0, all soft values will be 0.
  IQD_HOST_DEVICE Loop(float sum, const Pilot& pilot) : amplitude_(sum / static_cast<float>(pilot.bits - kSettled)) {
    if (fabsf(amplitude_) >= FLT_MIN) re_ = 1 / amplitude_;
    if (!is_finite(amplitude_)) re_ = amplitude_ - amplitude_;  // NaN
  }

  /// Corrects the length of w by one Newton step.
  IQD_HOST_DEVICE void level() {
    const float re = re_ * amplitude_;
    const float im = im_ * amplitude_;
    const float g = 1.5f - 0.5f * (re * re + im * im);
    re_ = re_ * g;
    im_ = im_ * g;
  }

  IQD_HOST_DEVICE SoftPair take_known(const Pilot& pilot, const Gains& gains, int k, Symbol even, Symbol odd) {
    const float a0 = pilot.a[k];
    const float a1 = pilot.a[k + 1];
    const SoftPair soft = follow<true>(gains, even, odd, a0, a1);
    if (k < kSettled) return soft;
    const float off0 = soft.even * a0 - 1;
    const float off1 = soft.odd * a1 - 1;
    scatter_ = scatter_ + (off0 * off0 + off1 * off1);
    return soft;
  }
  IQD_HOST_DEVICE SoftPair take(const Gains& gains, Symbol even, Symbol odd) {
    return follow<false>(gains, even, odd, 0, 0);
  }
  /// LLR = -soft · this. Valid only behind the pilot.
  IQD_HOST_DEVICE float llr_gain(const Pilot& pilot) const {
    const float noise = scatter_ / static_cast<float>(pilot.bits - kSettled);
    return 2 / (noise > kLeastNoise ? noise : kLeastNoise);
  }
  /// False if one of the symbols so far was not finite: a NaN or an infinity stays in v.
  IQD_HOST_DEVICE bool good() const { return is_finite(rate_); }
  /// exp(-j theta) for the next two symbols; 0 if the amplitude is 0.
  IQD_HOST_DEVICE Symbol phasor() const { return {re_ * amplitude_, im_ * amplitude_}; }

 private:
  IQD_HOST_DEVICE Symbol turned(Symbol y) const { return {y.re * re_ - y.im * im_, y.re * im_ + y.im * re_}; }

  /// One update. The bits are a0 and a1 if they are known, otherwise the decisions. Adding 0 turns -0 into +0: zero
  /// counts as positive.
  template <bool known>
  IQD_HOST_DEVICE SoftPair follow(const Gains& gains, Symbol even, Symbol odd, float a0, float a1) {
    const Symbol u0 = turned(even);
    const Symbol u1 = turned(odd);
    const SoftPair soft{u0.re + 0.0f, u1.im + 0.0f};
    const float s = with_sign_of(known ? a0 : soft.even, gains.direct * u0.im) -
                    with_sign_of(known ? a1 : soft.odd, gains.direct * u1.re);
    turn(s + rate_);
    rate_ = rate_ + gains.carried * s;
    return soft;
  }

  /// w exp(-j d), by a power series: 6e-5 rad off at 0.65 rad, negligible at the hundredth of a radian that an update
  /// is in lock. The next update waits for this one, so independent parts are computed in parallel: the limit before
  /// the sign, im d before the sine is known.
  IQD_HOST_DEVICE void turn(float d) {
    const float size = limited_size(d, kMostTurn);
    const float angle = with_sign_of(d, size);
    const float d2 = size * size;
    const float d4 = d2 * d2;
    const float slope = (1 - d2 * (1.0f / 6)) + d4 * (1.0f / 120);  // sin d / d
    const float cosine = (1 - d2 * 0.5f) + d4 * (1.0f / 24);
    const Symbol turned{re_ * cosine + im_ * angle * slope, im_ * cosine - re_ * angle * slope};
    re_ = turned.re;
    im_ = turned.im;
  }

  float amplitude_ = 0;
  float re_ = 0;  // w
  float im_ = 0;
  float rate_ = 0;     // v
  float scatter_ = 0;  // sum of the squared deviations of the pilot's soft values from ±1
};

/// A loop with the amplitude of the pilot; load(k) returns symbol k.
template <class Load> IQD_HOST_DEVICE Loop measured_loop(const Pilot& pilot, const Load& load) {
  float sum = 0;
  for (int k = kSettled; k < pilot.bits; ++k) sum = sum + along(pilot, k, load(k));
  return Loop(sum, pilot);
}

/// Symbols k … k + n - 1 of W chains: a tile, or the rest of one; k is a multiple of kTile, n even. The chains are
/// interleaved, since each update waits for the one before. load(c, i) returns symbol k + i of chain c, store(c, i,
/// soft) stores its soft value.
template <int W, class Load, class Store> IQD_HOST_DEVICE void track_tile(Loop (&loops)[W], const Pilot& pilot,
                                                                          const Gains& gains, int k, int n,
                                                                          const Load& load, const Store& store) {
  for (Loop& loop : loops) loop.level();
  const auto keep = [&store](int c, int i, SoftPair soft) {
    store(c, i, soft.even);
    store(c, i + 1, soft.odd);
  };
  const int known = pilot.bits - k < n ? pilot.bits - k : n;
  int i = 0;
  for (; i < known; i += 2)
    for (int c = 0; c < W; ++c) keep(c, i, loops[c].take_known(pilot, gains, k + i, load(c, i), load(c, i + 1)));
#ifdef __CUDA_ARCH__
#pragma unroll 8  // so that all but the first symbols are loaded while the previous update runs
#endif
  for (; i < n; i += 2)
    for (int c = 0; c < W; ++c) keep(c, i, loops[c].take(gains, load(c, i), load(c, i + 1)));
}

struct Decision {
  std::uint8_t bit;
  float llr;  // positive for 0
};
/// Decides bit k from its soft value and, for the differential code, that of the bit before it.
IQD_HOST_DEVICE inline Decision decide(float soft, float before, std::int64_t k, float llr_gain, bool differential) {
  const float llr = limited(0 - soft * llr_gain, kMostLlr);
  if (!differential) return {soft >= 0, llr};
  const float other = limited(0 - before * llr_gain, kMostLlr);
  const float least = limited_size(llr, fabsf(other));
  const bool even = k % 2 == 0;
  const bool bit = (soft >= 0) != ((before >= 0) != even);
  return {bit, bit ? 0 - least : least};
}
/// In units of kLlrScale, rounded to nearest.
IQD_HOST_DEVICE inline std::int8_t whole_llr(float llr) {
  const float x = limited(llr * (1 / kLlrScale), 127);
  return static_cast<std::int8_t>(static_cast<int>(x + with_sign_of(x, 0.5f)));
}

}  // namespace iqd::telemetry
