// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_estimator/clock_cpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/packet_estimator/clock_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::packet_estimator::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// z of kClockSums samples from x on; real and imaginary parts alternate in both.
HWY_INLINE void filter_samples(const ClockDesign& design, const float* x, float* z) {
  const hn::CappedTag<float, 2 * kClockSums> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float* const b = design.band_pass.data();
  for (std::int64_t i = 0; i < 2 * kClockSums; i += lanes) {
    auto sum = hn::Mul(hn::Set(d, b[0]), hn::LoadU(d, x + i));
    for (std::int64_t m = 1; m <= design.reach(); ++m) {
      if (b[m] == 0) continue;
      const auto pair = hn::Add(hn::LoadU(d, x + i - 2 * m), hn::LoadU(d, x + i + 2 * m));
      sum = hn::MulAdd(hn::Set(d, b[m]), pair, sum);
    }
    hn::StoreU(sum, d, z + i);
  }
}

/// Sums of z^2 over a segment: sum i takes samples i, i + kClockSums, …
void sum_segment(const ClockDesign& design, const cf32* segment, float* sum_re, float* sum_im) {
  const hn::CappedTag<float, kClockSums> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float z[2 * kClockSums];
  std::fill_n(sum_re, kClockSums, 0.0f);
  std::fill_n(sum_im, kClockSums, 0.0f);
  for (std::int64_t n = 0; n < design.segment; n += kClockSums) {
    filter_samples(design, reinterpret_cast<const float*>(segment + n), z);
    for (std::int64_t i = 0; i < kClockSums; i += lanes) {
      hn::Vec<decltype(d)> re, im;
      hn::LoadInterleaved2(d, z + 2 * i, re, im);
      const auto square_re = hn::NegMulAdd(im, im, hn::Mul(re, re)), square_im = hn::Mul(hn::Add(re, re), im);
      hn::StoreU(hn::Add(hn::LoadU(d, sum_re + i), square_re), d, sum_re + i);
      hn::StoreU(hn::Add(hn::LoadU(d, sum_im + i), square_im), d, sum_im + i);
    }
  }
}

/// power_of_products for n values of z: adds it to `power`.
void add_powers(const LineProduct* w, std::int64_t segments, const double* z_re, const double* z_im, double* power,
                std::int64_t n) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < n; i += lanes) {
    const auto re_z = hn::LoadU(d, z_re + i), im_z = hn::LoadU(d, z_im + i);
    auto re = hn::Zero(d), im = hn::Zero(d);
    for (std::int64_t j = segments - 1; j >= 0; --j) {
      const auto turned = hn::Sub(hn::Mul(re, re_z), hn::Mul(im, im_z));
      im = hn::Add(hn::Add(hn::Mul(re, im_z), hn::Mul(im, re_z)), hn::Set(d, w[j].im));
      re = hn::Add(turned, hn::Set(d, w[j].re));
    }
    hn::StoreU(hn::Add(hn::LoadU(d, power + i), hn::Add(hn::Mul(re, re), hn::Mul(im, im))), d, power + i);
  }
}

/// n values between samples, from one phase of the table to the next: part of a phase `part` + i `slope`. x is the
/// first sample that the first value takes; parts alternate. Up to `room` floats from y on may be overwritten.
void warp_stretch(const float* x, const float* taps, float part, float slope, float* y, std::int64_t n,
                  std::int64_t room) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto number = hn::ConvertTo(d, hn::ShiftRight<1>(hn::Iota(di, 0)));
  HWY_ALIGN float last[hn::MaxLanes(d)];
  hn::Vec<decltype(d)> tap[kWarpTaps], change[kWarpTaps];
  for (std::int64_t q = 0; q < kWarpTaps; ++q) {
    tap[q] = hn::Set(d, taps[q]);
    change[q] = hn::Set(d, taps[kWarpTaps + q] - taps[q]);
  }
  for (std::int64_t i = 0; i < 2 * n; i += lanes) {
    auto here = hn::Zero(d), next = hn::Zero(d);
    for (std::int64_t q = 0; q < kWarpTaps; ++q) {
      const auto sample = hn::LoadU(d, x + i + 2 * q);
      here = hn::MulAdd(tap[q], sample, here);
      next = hn::MulAdd(change[q], sample, next);
    }
    const auto at = hn::Add(number, hn::Set(d, static_cast<float>(i / 2)));
    const auto value = hn::MulAdd(hn::MulAdd(at, hn::Set(d, slope), hn::Set(d, part)), next, here);
    if (i + lanes <= room) {
      hn::StoreU(value, d, y + i);
    } else {
      hn::StoreU(value, d, last);
      std::copy_n(last, 2 * n - i, y + i);
    }
  }
}

}  // namespace iqd::packet_estimator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::packet_estimator {

HWY_EXPORT(sum_segment);
HWY_EXPORT(add_powers);
HWY_EXPORT(warp_stretch);

namespace {

/// The largest of the fine grid around a point of the coarse one, and its place in fine steps, moved by the parabola.
struct FinePeak {
  double place = 0;
  double power = 0;
};
FinePeak refine(const ClockDesign& design, std::span<const LineProduct> w, int coarse) noexcept {
  std::array<double, 2 * kFinePerCoarse + 1> power{};
  const int from = std::max(coarse * kFinePerCoarse - kFinePerCoarse, -kFine);
  const int to = std::min(coarse * kFinePerCoarse + kFinePerCoarse, kFine);
  for (int fine = from; fine <= to; ++fine) {
    const double angle = std::numbers::pi * half_turns(fine);
    const double re = std::cos(angle), im = std::sin(angle);
    for (std::size_t at = 0; at < w.size(); at += static_cast<std::size_t>(design.segments))
      power[static_cast<std::size_t>(fine - from)] += power_of_products(&w[at], design.segments, re, im);
  }
  const auto end = power.begin() + (to - from) + 1;
  const auto peak = std::max_element(power.begin(), end);
  const bool inside = peak > power.begin() && peak + 1 < end;
  return {from + static_cast<double>(peak - power.begin()) + (inside ? vertex(peak[-1], *peak, peak[1]) : 0), *peak};
}

}  // namespace

ClockCorrector::ClockCorrector(const ClockDesign& design, std::int64_t window, Scratch& scratch)
    : design_(design),
      window_(window),
      margin_(static_cast<std::int64_t>(std::ceil(kMostError * static_cast<double>(window))) + kWarpTaps + kWidest),
      derotated_(scratch.take<cf32>(is_on() ? window + 2 * margin_ : 0)) {}

cf32* ClockCorrector::window() noexcept {
  if (!ready_) {
    std::fill_n(derotated_, margin_, cf32());
    std::fill_n(derotated_ + margin_ + window_, margin_, cf32());
    ready_ = true;
  }
  return derotated_ + margin_;
}

void ClockCorrector::measure(LineProduct* w) noexcept {
  std::array<float, kClockSums> re{}, im{};
  for (std::int64_t j = 0; j < design_.segments; ++j) {
    const cf32* const segment = window() + PacketFormat::kGuard + design_.first + j * design_.segment;
    HWY_DYNAMIC_DISPATCH(sum_segment)(design_, segment, re.data(), im.data());
    std::complex<double> above = 0, below = 0;
    for (std::size_t i = 0; i < kClockSums; ++i) {
      const LineTurn turn = design_.turns[i % design_.turns.size()];
      above += std::complex<double>(re[i] * turn.re + im[i] * turn.im, im[i] * turn.re - re[i] * turn.im);
      below += std::complex<double>(re[i] * turn.re - im[i] * turn.im, im[i] * turn.re + re[i] * turn.im);
    }
    const std::complex<double> product = above * std::conj(below);
    w[j] = {product.real(), product.imag()};
  }
}

ClockError ClockCorrector::search(std::span<const LineProduct> w) const noexcept {
  if (w.empty()) return {};
  std::array<double, kCoarsePoints + kWidest> power{};
  double most = 0;
  for (std::size_t at = 0; at < w.size(); at += static_cast<std::size_t>(design_.segments)) {
    HWY_DYNAMIC_DISPATCH(add_powers)
    (&w[at], design_.segments, design_.coarse_re.data(), design_.coarse_im.data(), power.data(), kCoarsePoints);
    most += most_power(&w[at], design_.segments);
  }
  const auto peak = std::max_element(power.begin(), power.begin() + kCoarsePoints) - power.begin();
  const FinePeak fine = refine(design_, w, static_cast<int>(peak) - kCoarse);
  return error_of(fine.place, fine.power, most);
}

void ClockCorrector::correct(double error, std::int64_t at, std::int64_t n, cf32* to) noexcept {
  if (error == 0) return static_cast<void>(std::copy_n(window() + at, n, to));
  const double per_sample = -error * kPhases;
  for (std::int64_t i = 0; i < n;) {
    const Place place = place_of(error, design_.middle, at + i - PacketFormat::kGuard);
    // Samples until the next phase.
    const double left = per_sample < 0 ? std::floor(place.part / -per_sample) + 1 : (1 - place.part) / per_sample;
    const std::int64_t length =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(std::ceil(left), static_cast<double>(n - i))));
    const cf32* const from = window() + (at + i + place.floor() - kWarpBefore);
    HWY_DYNAMIC_DISPATCH(warp_stretch)
    (reinterpret_cast<const float*>(from), &design_.warp[static_cast<std::size_t>(place.phase() * kWarpTaps)],
     static_cast<float>(place.part), static_cast<float>(per_sample), reinterpret_cast<float*>(to + i), length,
     2 * (n - i));
    i += length;
  }
}

}  // namespace iqd::packet_estimator
#endif
