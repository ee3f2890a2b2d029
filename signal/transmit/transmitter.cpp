// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/transmit/transmitter.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "signal/filters/filter_kernel.hpp"
#include "signal/filters/windows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/transmit/transmitter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Samples per vector; `mix` and `amplify` may access that many beyond the last.
using D = hn::CappedTag<float, kFilterMargin>;

/// w = K1 x + K2 x* + lo, in place.
void mix(const Transmitter::Mixer& m, float* x, std::int64_t samples) {
  const D d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> re, im;
  for (std::int64_t i = 0; i < samples; i += step) {
    hn::LoadInterleaved2(d, x + 2 * i, re, im);
    const auto lo_re = hn::MulAdd(hn::Set(d, m.re_im), im, hn::Set(d, m.lo_re));
    const auto lo_im = hn::MulAdd(hn::Set(d, m.im_im), im, hn::Set(d, m.lo_im));
    const auto to_re = hn::MulAdd(hn::Set(d, m.re_re), re, lo_re);
    const auto to_im = hn::MulAdd(hn::Set(d, m.im_re), re, lo_im);
    hn::StoreInterleaved2(to_re, to_im, d, x + 2 * i);
  }
}

/// v = (a1 + p (a3 + p a5)) u with p = |u|^2, in place.
void amplify(const Transmitter::Amplifier& a, float* x, std::int64_t samples) {
  const D d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto gain = [&](hn::Vec<D> p, float a1, float a3, float a5) HWY_ATTR {
    return hn::MulAdd(p, hn::MulAdd(p, hn::Set(d, a5), hn::Set(d, a3)), hn::Set(d, a1));
  };
  hn::Vec<D> re, im;
  for (std::int64_t i = 0; i < samples; i += step) {
    hn::LoadInterleaved2(d, x + 2 * i, re, im);
    const auto p = hn::MulAdd(re, re, hn::Mul(im, im));
    const auto g_re = gain(p, a.a1.real(), a.a3.real(), a.a5.real());
    const auto g_im = gain(p, a.a1.imag(), a.a3.imag(), a.a5.imag());
    const auto to_re = hn::NegMulAdd(g_im, im, hn::Mul(g_re, re));
    const auto to_im = hn::MulAdd(g_im, re, hn::Mul(g_re, im));
    hn::StoreInterleaved2(to_re, to_im, d, x + 2 * i);
  }
}

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(mix);
HWY_EXPORT(amplify);

namespace {

using complex = std::complex<double>;
constexpr std::int64_t kPiece = 2048;
constexpr std::int64_t kMostTaps = 64;  // per filter; a delay takes as many again
constexpr std::int64_t kHalfWidth = 32;
constexpr double kBeta = 9;

Transmitter::Mixer mixer_of(const Transmitter::Options& options) {
  const complex turned =
      std::polar(std::pow(10, options.iq_gain_db / 20), options.iq_phase_deg * std::numbers::pi / 180);
  const complex k1 = (1.0 + turned) / 2.0;
  const complex k2 = (1.0 - std::conj(turned)) / 2.0;
  const auto f = [](double value) { return static_cast<float>(value); };
  return {f(k1.real() + k2.real()), f(k2.imag() - k1.imag()), f(k1.imag() + k2.imag()),
          f(k1.real() - k2.real()), f(options.lo.real()),     f(options.lo.imag())};
}

/// Delay of the first tap of the delay filter in samples.
std::int64_t first_of_delay(double delay) {
  const auto whole = static_cast<std::int64_t>(std::floor(delay));
  return static_cast<double>(whole) == delay ? whole : whole - kHalfWidth + 1;
}

/// The taps of the delay convolved with a filter.
std::vector<complex> delayed(std::span<const complex> filter, double delay) {
  const std::int64_t first = first_of_delay(delay);
  const bool whole = static_cast<double>(first) == delay;
  std::vector<complex> taps(filter.size() + (whole ? 0 : 2 * kHalfWidth - 1));
  for (std::size_t i = 0; i < taps.size() - filter.size() + 1; ++i) {
    const double t = static_cast<double>(first + static_cast<std::int64_t>(i)) - delay;
    const double place = t / kHalfWidth;
    const double sinc = t == 0 ? 1 : std::sin(std::numbers::pi * t) / (std::numbers::pi * t);
    const double tap = sinc * bessel_i0(kBeta * std::sqrt(std::max(0.0, 1 - place * place))) / bessel_i0(kBeta);
    for (std::size_t k = 0; k < filter.size(); ++k) taps[i + k] += tap * filter[k];
  }
  return taps;
}

}  // namespace

Transmitter::Options Transmitter::memoryless() {
  return {.a1 = {0.9490, -0.0197}, .a3 = {0.4885, 0.1071}, .a5 = {-1.0156, -0.0474}};
}

Transmitter::Options Transmitter::impaired() {
  Options options = memoryless();
  options.iq_gain_db = 1;
  options.iq_phase_deg = 5;
  options.lo = std::polar(0.008, 0.7);
  options.before = {1, std::polar(0.08, 0.9), {0, -0.04}};
  options.behind = {1, {0, 0.05}};
  return options;
}

Transmitter::Filter::Filter(std::span<const complex> taps)
    : real(std::all_of(taps.begin(), taps.end(), [](complex tap) { return tap.imag() == 0; })) {
  for (const complex tap : taps) {
    re.push_back(static_cast<float>(tap.real()));
    im.push_back(static_cast<float>(tap.imag()));
  }
}

void Transmitter::Filter::run(const cf32* x, cf32* y, std::int64_t n) const noexcept {
  const FilterPhase phase{re.data(), real ? nullptr : im.data(), size(), reinterpret_cast<const float*>(x)};
  filter_tile({&phase, 1}, true, reinterpret_cast<float*>(y), n);
}

Transmitter::Transmitter(const Options& options)
    : mixer_(mixer_of(options)),
      amplifier_{std::complex<float>(options.a1), std::complex<float>(options.a3), std::complex<float>(options.a5)},
      before_(options.before),
      behind_(delayed(options.behind, options.delay)),
      late_(first_of_delay(options.delay)),
      noise_(static_cast<float>(options.noise)),
      white_(options.noise > 0 ? WhiteNoise::shared(options.seed) : nullptr) {
  assert(options.delay >= 0);
  assert(before_.size() <= kMostTaps && std::ssize(options.behind) <= kMostTaps);
}

std::int64_t Transmitter::past() const noexcept {
  return std::max<std::int64_t>(0, late_ + behind_.size() - 1 + before_.size() - 1);
}

std::int64_t Transmitter::future() const noexcept {
  return std::max<std::int64_t>(0, -late_);
}

void Transmitter::run(const cf32* x, std::int64_t first, std::span<cf32> y, std::uint64_t stream) const noexcept {
  for (std::int64_t done = 0; done < std::ssize(y); done += kPiece) {
    const std::int64_t n = std::min(kPiece, std::ssize(y) - done);
    run_piece(x + done, y.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(n)));
  }
  if (white_) white_->add(stream, first, noise_, y);
}

void Transmitter::run_piece(const cf32* x, std::span<cf32> y) const noexcept {
  constexpr std::int64_t kRoom = kPiece + 3 * kMostTaps + 2 * kFilterMargin;
  alignas(64) float mixed_floats[2 * kRoom];
  alignas(64) float amplified_floats[2 * kRoom];
  cf32* const mixed = reinterpret_cast<cf32*>(mixed_floats) + kFilterMargin;
  cf32* const amplified = reinterpret_cast<cf32*>(amplified_floats) + kFilterMargin;
  const std::int64_t reach_before = before_.size() - 1;
  const std::int64_t reach_behind = behind_.size() - 1;
  const std::int64_t n = std::ssize(y) + reach_behind;
  std::copy_n(x - late_ - reach_behind - reach_before, n + reach_before, mixed);
  HWY_DYNAMIC_DISPATCH(mix)(mixer_, reinterpret_cast<float*>(mixed), n + reach_before);
  before_.run(mixed + reach_before, amplified, n);
  HWY_DYNAMIC_DISPATCH(amplify)(amplifier_, reinterpret_cast<float*>(amplified), n);
  behind_.run(amplified + reach_behind, y.data(), std::ssize(y));
}

}  // namespace iqd
#endif
