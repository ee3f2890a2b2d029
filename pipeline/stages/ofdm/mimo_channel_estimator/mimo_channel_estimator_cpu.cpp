// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>

#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator_cpu.cpp"
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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// std::complex's product checks for infinities.
cf32 product(cf32 a, cf32 b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
cf32 product(cf32 a, float b) {
  return {a.real() * b, a.imag() * b};
}
Sum sum_of(cf32 z) {
  return {z.real(), z.imag()};
}
double energy(cf32 z) {
  return double{z.real()} * double{z.real()} + double{z.imag()} * double{z.imag()};
}

/// Processes one frame after the other, with the memory for it.
class Estimator {
 public:
  Estimator(const Design& design, const Extents& e, Scratch& scratch)
      : design_(design),
        e_(e),
        uncover_(scratch.take<cf32>(e.tx * e.tx)),
        rough_(scratch.take<cf32>(std::int64_t{std::max(e.carriers, kTaps)} * e.pairs() + slack())),
        smooth_(scratch.take<cf32>(std::int64_t{e.carriers} * e.pairs() + slack())),
        pilot_h_(scratch.take<cf32>(std::int64_t{e.pilots} * e.pairs())),
        factor_(scratch.take<cf32>(std::int64_t{e.data_symbols()} * e.rx)) {}

  void run(const cf32* frame, std::int64_t number, const Estimates& out) noexcept {
    frame_ = frame;
    cf32* const y = out.y + number * e_.data_carriers() * e_.data_symbols() * e_.rx;
    cf32* const h = out.h + number * e_.data_carriers() * e_.pairs();
    float* const phase = out.phase ? out.phase + number * e_.data_symbols() : nullptr;
    if (!HWY_DYNAMIC_DISPATCH(is_finite)(frame, std::int64_t{e_.symbols} * e_.row())) {
      std::fill_n(y, e_.data_carriers() * e_.data_symbols() * e_.rx, cf32(kNan, kNan));
      std::fill_n(h, e_.data_carriers() * e_.pairs(), cf32(kNan, kNan));
      if (phase) std::fill_n(phase, e_.data_symbols(), kNan);
      out.noise[number] = kNan;
      return;
    }
    out.noise[number] = told(measure_noise());
    set_uncover(e_.track_phase ? slope() : 0);
    estimate_roughly();
    HWY_DYNAMIC_DISPATCH(smooth_carriers)
    (design_, reinterpret_cast<const float*>(rough_), 2 * e_.pairs(), reinterpret_cast<float*>(smooth_));
    write_channel(h);
    for (int d = 0; d < e_.data_symbols(); ++d) follow_phase(d, phase);
    write_vectors(y);
  }

 private:
  static std::int64_t slack() { return HWY_DYNAMIC_DISPATCH(vector_lanes)(); }
  const cf32* training(int t, int c) const { return frame_ + std::int64_t{1 + t} * e_.row() + std::int64_t{c} * e_.rx; }
  const cf32* data(int d, int c) const { return training(e_.tx + d, c); }

  /// Returns the mean over the antennas; keeps each antenna's noise and scale factor.
  double measure_noise() noexcept {
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
  double slope() const noexcept {
    PhaseSlope slope;
    for (int d = 0; d < e_.data_symbols(); ++d) {
      Sum total;
      for (int r = 0; r < e_.rx; ++r) {
        Sum sum;
        for (int i = 0; i < e_.pilots; ++i) {
          const int c = design_.pilot[static_cast<std::size_t>(i)];
          const cf32* const weights = design_.pilot_weights.data() + (d * e_.pilots + i) * e_.tx;
          cf32 expected = 0;
          for (int t = 0; t < e_.tx; ++t) expected += product(weights[t], training(t, c)[r]);
          sum.add(sum_of(expected), sum_of(data(d, c)[r]));
        }
        if (noise_[r] > 0) total.re += sum.re / noise_[r], total.im += sum.im / noise_[r];
      }
      slope.add(std::atan2(total.im, total.re), data_position(d, e_.tx));
    }
    return slope.slope();
  }

  void set_uncover(double slope) noexcept {
    const cf32* const uncover = design_.uncover.data();
    for (int a = 0; a < e_.tx; ++a)
      for (int t = 0; t < e_.tx; ++t) {
        const double angle = -slope * training_position(t, e_.tx);
        const cf32 turn(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
        uncover_[a * e_.tx + t] = product(uncover[a * e_.tx + t], turn);
      }
  }

  /// Least squares at each carrier separately.
  void estimate_roughly() noexcept {
    cf32* to = rough_;
    for (int c = 0; c < e_.carriers; ++c)
      for (int r = 0; r < e_.rx; ++r)
        for (int a = 0; a < e_.tx; ++a) {
          cf32 sum = 0;
          for (int t = 0; t < e_.tx; ++t) sum += product(uncover_[a * e_.tx + t], training(t, c)[r]);
          *to++ = product(sum, design_.known[static_cast<std::size_t>(c)]);
        }
    for (int c = e_.carriers; c < kTaps; ++c) to = std::fill_n(to, e_.pairs(), cf32());
  }

  void write_channel(cf32* h) noexcept {
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

  /// Sets the factors of data symbol d that rotate its pilots to what the channel predicts.
  void follow_phase(int d, float* phase) noexcept {
    Sum sum;
    for (int i = 0; e_.track_phase && i < e_.pilots; ++i) {
      const float* const signs = design_.pilot_signs.data() + (d * e_.pilots + i) * e_.tx;
      const cf32* h = pilot_h_ + std::int64_t{i} * e_.pairs();
      const cf32* const y = data(d, design_.pilot[static_cast<std::size_t>(i)]);
      for (int r = 0; r < e_.rx; ++r) {
        cf32 expected = 0;
        for (int a = 0; a < e_.tx; ++a) expected += product(*h++, signs[a]);
        sum.add(sum_of(expected), sum_of(product(y[r], scale_[r])));
      }
    }
    const double size = std::sqrt(sum.re * sum.re + sum.im * sum.im);
    const cf32 back =
        size > 0 ? cf32(static_cast<float>(sum.re / size), static_cast<float>(-sum.im / size)) : cf32(1, 0);
    for (int r = 0; r < e_.rx; ++r) factor_[d * e_.rx + r] = product(back, scale_[r]);
    if (phase) phase[d] = static_cast<float>(std::atan2(sum.im, sum.re));
  }

  void write_vectors(cf32* y) noexcept {
    for (const std::int32_t c : design_.data)
      for (int d = 0; d < e_.data_symbols(); ++d) {
        const cf32* const from = data(d, c);
        for (int r = 0; r < e_.rx; ++r) *y++ = product(from[r], factor_[d * e_.rx + r]);
      }
  }

  const Design& design_;
  const Extents& e_;
  const cf32* frame_ = nullptr;
  double noise_[kMostAntennas] = {};
  float scale_[kMostAntennas] = {};
  cf32* uncover_;
  cf32* rough_;    // [carrier][rx][tx]
  cf32* smooth_;   // the same
  cf32* pilot_h_;  // [pilot][rx][tx]
  cf32* factor_;   // [data symbol][rx]
};

}  // namespace

std::size_t scratch_bytes(const Extents& extents) {
  Scratch count(nullptr);
  const Design none{};
  Estimator(none, extents, count);
  return count.bytes();
}

void run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, const Estimates& out,
             std::byte* memory) noexcept {
  Scratch scratch(memory);
  const Extents& e = design.extents;
  Estimator estimator(design, e, scratch);
  for (std::int64_t f = 0; f < frames; ++f) estimator.run(carriers + f * e.symbols * e.row(), f, out);
}

}  // namespace iqd::mimo_channel_estimator
#endif
