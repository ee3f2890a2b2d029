// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/held_channel.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "pipeline/stages/complex.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/ofdm/mimo_channel_estimator/held_channel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::mimo_channel_estimator::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// No NaN and no infinity: as integers without the sign bit, these are the largest.
bool is_finite(const cf32* x, std::int64_t n) {
  const auto* const parts = reinterpret_cast<const float*>(x);
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i)
    largest = std::max(largest, std::bit_cast<std::int32_t>(parts[i]) & std::numeric_limits<std::int32_t>::max());
  return largest < std::bit_cast<std::int32_t>(std::numeric_limits<float>::infinity());
}

/// smooth[carrier] = sum over k of taps[carrier][k] rough[first + k], for all `width` numbers of a carrier. A row's
/// last vector reaches into the next row, which is written later.
void smooth_carriers(const Design& design, const float* rough, std::int64_t width, float* smooth) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::size_t c = 0; c < design.first.size(); ++c) {
    const float* const taps = design.taps.data() + c * kTaps;
    const float* const from = rough + design.first[c] * width;
    float* const to = smooth + static_cast<std::int64_t>(c) * width;
    for (std::int64_t i = 0; i < width; i += lanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t k = 0; k < kTaps; ++k)
        sum = hn::Add(sum, hn::Mul(hn::Set(d, taps[k]), hn::LoadU(d, from + k * width + i)));
      hn::StoreU(sum, d, to + i);
    }
  }
}
std::int64_t vector_lanes() {
  return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
}

}  // namespace iqd::mimo_channel_estimator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::mimo_channel_estimator {

HWY_EXPORT(is_finite);
HWY_EXPORT(smooth_carriers);
HWY_EXPORT(vector_lanes);

namespace {

using dsp::energy;
using dsp::product;

Sum sum_of(cf32 z) {
  return {z.real(), z.imag()};
}

}  // namespace

bool is_finite(const cf32* x, std::int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(is_finite)(x, n);
}

HeldChannel::HeldChannel(const Design& design, Scratch& scratch)
    : design_(design),
      e_(design.extents),
      uncover_(scratch.take<cf32>(e_.tx * e_.tx)),
      rough_(scratch.take<cf32>(std::int64_t{std::max(e_.carriers, kTaps)} * e_.pairs() + slack())),
      smooth_(scratch.take<cf32>(std::int64_t{e_.carriers} * e_.pairs() + slack())),
      pilot_h_(scratch.take<cf32>(std::int64_t{e_.pilots} * e_.pairs())),
      factor_(scratch.take<cf32>(std::int64_t{e_.behind()} * e_.rx)),
      phases_(scratch.take<float>(e_.behind())) {}

std::int64_t HeldChannel::slack() noexcept {
  return HWY_DYNAMIC_DISPATCH(vector_lanes)();
}

void HeldChannel::run(const cf32* frame, const Estimates& out) noexcept {
  frame_ = frame;
  const double mean = measure_noise();
  *out.noise = *out.level = told(mean);
  estimate_channel();
  write_channel(out.h);
  for (int s = 0; s < e_.behind(); ++s) follow_phase(s);
  for (int d = 0; out.phase && d < e_.data_symbols(); ++d) out.phase[d] = phases_[e_.comb().data(d)];
  write_vectors(out.y);
  if (!out.covariance) return;
  std::fill_n(out.covariance, e_.groups() * e_.rx * e_.rx, cf32());
  for (int g = 0; g < e_.groups(); ++g)
    for (int r = 0; r < e_.rx; ++r) out.covariance[(g * e_.rx + r) * e_.rx + r] = static_cast<float>(noise_[r]);
}

void HeldChannel::estimate(const cf32* white) noexcept {
  frame_ = white;
  std::fill_n(noise_, e_.rx, 1.0);
  std::fill_n(scale_, e_.rx, 1.0f);
  estimate_channel();
  for (int c = 0; c < e_.carriers; ++c) {
    cf32* const h = smooth_ + std::int64_t{c} * e_.pairs();
    for (int i = 0; i < e_.pairs(); ++i) h[i] = product(h[i], design_.ramp[static_cast<std::size_t>(c)]);
    const int place = design_.place[static_cast<std::size_t>(c)];
    if (place < 0) std::copy_n(h, e_.pairs(), pilot_h_ + std::int64_t{-1 - place} * e_.pairs());
  }
  for (int s = 0; s < e_.behind(); ++s) follow_phase(s);
}

/// Returns the mean over the antennas; keeps each antenna's noise and scale factor.
double HeldChannel::measure_noise() noexcept {
  double mean = 0;
  for (int r = 0; r < e_.rx; ++r) {
    double odd = 0, sent = 0;
    for (const std::int32_t c : design_.odd) odd += energy(frame_[std::int64_t{c} * e_.rx + r]);
    for (int t = 0; t < e_.tx; ++t)
      for (int c = 0; c < e_.carriers; ++c) sent += energy(training(t, c)[r]);
    noise_[r] = noise_of(odd, static_cast<int>(design_.odd.size()), sent, e_.tx * e_.carriers);
    mean += noise_[r] / e_.rx;
  }
  for (int r = 0; r < e_.rx; ++r) scale_[r] = scale_of(mean, noise_[r]);
  return mean;
}

/// The phase's advance in radians a symbol, from the pilots against the uncorrected training symbols.
double HeldChannel::slope() const noexcept {
  PhaseSlope slope;
  for (int s = 0; s < e_.behind(); ++s) {
    Sum total;
    for (int r = 0; r < e_.rx; ++r) {
      Sum sum;
      for (int i = 0; i < e_.pilots; ++i) {
        const int c = design_.pilot[static_cast<std::size_t>(i)];
        const cf32* const weights = design_.pilot_weights.data() + (s * e_.pilots + i) * e_.tx;
        cf32 expected = 0;
        for (int t = 0; t < e_.tx; ++t) expected += product(weights[t], training(t, c)[r]);
        sum.add(sum_of(expected), sum_of(behind(s, c)[r]));
      }
      if (noise_[r] > 0) total.re += sum.re / noise_[r], total.im += sum.im / noise_[r];
    }
    slope.add(std::atan2(total.im, total.re), position_behind(s, e_.tx));
  }
  return slope.slope();
}

void HeldChannel::set_uncover(double slope) noexcept {
  const cf32* const uncover = design_.uncover.data();
  for (int a = 0; a < e_.tx; ++a)
    for (int t = 0; t < e_.tx; ++t) {
      const double angle = -slope * training_position(t, e_.tx);
      const cf32 turn(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
      uncover_[a * e_.tx + t] = product(uncover[a * e_.tx + t], turn);
    }
}

/// Least squares at each carrier separately, then smoothed.
void HeldChannel::estimate_channel() noexcept {
  slope_ = e_.track_phase ? slope() : 0;
  set_uncover(slope_);
  cf32* to = rough_;
  for (int c = 0; c < e_.carriers; ++c)
    for (int r = 0; r < e_.rx; ++r)
      for (int a = 0; a < e_.tx; ++a) {
        cf32 sum = 0;
        for (int t = 0; t < e_.tx; ++t) sum += product(uncover_[a * e_.tx + t], training(t, c)[r]);
        *to++ = product(sum, design_.known[static_cast<std::size_t>(c)]);
      }
  for (int c = e_.carriers; c < kTaps; ++c) to = std::fill_n(to, e_.pairs(), cf32());
  HWY_DYNAMIC_DISPATCH(smooth_carriers)
  (design_, reinterpret_cast<const float*>(rough_), 2 * e_.pairs(), reinterpret_cast<float*>(smooth_));
}

void HeldChannel::write_channel(cf32* h) noexcept {
  for (int c = 0; c < e_.carriers; ++c) {
    const int place = design_.place[static_cast<std::size_t>(c)];
    cf32* to = place >= 0 ? h + std::int64_t{place} * e_.pairs() : pilot_h_ + std::int64_t{-1 - place} * e_.pairs();
    const cf32* from = smooth_ + std::int64_t{c} * e_.pairs();
    for (int r = 0; r < e_.rx; ++r) {
      const cf32 factor = product(design_.ramp[static_cast<std::size_t>(c)], scale_[r]);
      for (int a = 0; a < e_.tx; ++a) *to++ = product(*from++, factor);
    }
  }
}

/// Sets the factors of symbol s behind the training that rotate its pilots to what the channel predicts.
void HeldChannel::follow_phase(int s) noexcept {
  Sum sum;
  for (int i = 0; e_.track_phase && i < e_.pilots; ++i) {
    const float* const signs = design_.pilot_signs.data() + (s * e_.pilots + i) * e_.tx;
    const cf32* h = pilot_h_ + std::int64_t{i} * e_.pairs();
    const cf32* const y = behind(s, design_.pilot[static_cast<std::size_t>(i)]);
    for (int r = 0; r < e_.rx; ++r) {
      cf32 expected = 0;
      for (int a = 0; a < e_.tx; ++a) expected += product(*h++, signs[a]);
      sum.add(sum_of(expected), sum_of(product(y[r], scale_[r])));
    }
  }
  const double size = std::sqrt(sum.re * sum.re + sum.im * sum.im);
  const cf32 back = size > 0 ? cf32(static_cast<float>(sum.re / size), static_cast<float>(-sum.im / size)) : cf32(1, 0);
  for (int r = 0; r < e_.rx; ++r) factor_[s * e_.rx + r] = product(back, scale_[r]);
  phases_[s] = static_cast<float>(std::atan2(sum.im, sum.re));
}

void HeldChannel::write_vectors(cf32* y) noexcept {
  for (const std::int32_t c : design_.data)
    for (int d = 0; d < e_.data_symbols(); ++d) {
      const int s = e_.comb().data(d);
      const cf32* const from = behind(s, c);
      for (int r = 0; r < e_.rx; ++r) *y++ = product(from[r], factor_[s * e_.rx + r]);
    }
}

}  // namespace iqd::mimo_channel_estimator
#endif
