// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/channel_fit_cpu.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/channel_fit_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

/// A complex vector.
struct Z {
  HWY_INLINE Z() {}  // NOLINT(*-use-equals-default): GCC compiles a default one without the target's instructions
  HWY_INLINE Z(V real, V imag) : re(real), im(imag) {}
  V re, im;
};
/// sum + conj(a) b
HWY_INLINE Z add_product(Z sum, Z a, Z b) {
  return {hn::MulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, sum.re)),
          hn::NegMulAdd(a.im, b.re, hn::MulAdd(a.re, b.im, sum.im))};
}

constexpr std::int64_t kLagsAtOnce = 2;
static_assert(kChannelTaps % kLagsAtOnce == 0);

/// The planes of p and of x from the first sample on.
struct Planes {
  const float *p_re, *p_im, *x_re, *x_im;
};

HWY_INLINE float sum_of_lanes(V v) {
  const D d;
  return hn::GetLane(hn::SumOfLanes(d, v));
}
HWY_INLINE Z load(const float* re, const float* im) {
  const D d;
  return {hn::LoadU(d, re), hn::LoadU(d, im)};
}

/// Sums of lags i … i + kLagsAtOnce - 1 over whole vectors.
HWY_INLINE void sum_vectors(const Planes& from, std::int64_t i, std::int64_t count, LagSums& to) {
  const D d;
  Z own[kLagsAtOnce], received[kLagsAtOnce];
  for (std::int64_t l = 0; l < kLagsAtOnce; ++l) own[l] = received[l] = Z(hn::Zero(d), hn::Zero(d));
  for (std::int64_t n = 0; n < count; n += static_cast<std::int64_t>(hn::Lanes(d))) {
    const float *const p_re = from.p_re - kChannelFirst + n, *const p_im = from.p_im - kChannelFirst + n;
    const Z first = load(p_re, p_im);
    const Z x = load(from.x_re + n, from.x_im + n);
    for (std::int64_t l = 0; l < kLagsAtOnce; ++l) {
      const Z p = load(p_re - i - l, p_im - i - l);
      own[l] = add_product(own[l], first, p);
      received[l] = add_product(received[l], p, x);
    }
  }
  for (std::int64_t l = 0; l < kLagsAtOnce; ++l) {
    to.own_re[i + l] = sum_of_lanes(own[l].re);
    to.own_im[i + l] = sum_of_lanes(own[l].im);
    to.received_re[i + l] = sum_of_lanes(received[l].re);
    to.received_im[i + l] = sum_of_lanes(received[l].im);
  }
}

/// Adds sample n to all sums.
HWY_INLINE void add_sample(const Planes& from, std::int64_t n, LagSums& to) {
  const float *const p_re = from.p_re - kChannelFirst + n, *const p_im = from.p_im - kChannelFirst + n;
  const float x_re = from.x_re[n], x_im = from.x_im[n];
  for (std::int64_t i = 0; i < kChannelTaps; ++i) {
    to.own_re[i] += p_re[0] * p_re[-i] + p_im[0] * p_im[-i];
    to.own_im[i] += p_re[0] * p_im[-i] - p_im[0] * p_re[-i];
    to.received_re[i] += p_re[-i] * x_re + p_im[-i] * x_im;
    to.received_im[i] += p_re[-i] * x_im - p_im[-i] * x_re;
  }
}

void sum_lags(const float* p_re, const float* p_im, const float* x_re, const float* x_im, std::int64_t count,
              LagSums& to) {
  const Planes from{p_re, p_im, x_re, x_im};
  const std::int64_t whole = count - count % static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t i = 0; i < kChannelTaps; i += kLagsAtOnce) sum_vectors(from, i, whole, to);
  for (std::int64_t n = whole; n < count; ++n) add_sample(from, n, to);
}

void split(const cf32* x, float* re, float* im, std::int64_t n) {
  const auto* const parts = reinterpret_cast<const float*>(x);
  for (std::int64_t i = 0; i < n; ++i) {
    re[i] = parts[2 * i];
    im[i] = parts[2 * i + 1];
  }
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(sum_lags);
HWY_EXPORT(split);

namespace {

constexpr float kLeastPivot = 0.25f;  // none is below 1, apart from rounding

}  // namespace

LagSums& LagSums::operator+=(const LagSums& o) noexcept {
  for (std::size_t i = 0; i < kChannelTaps; ++i) {
    own_re[i] += o.own_re[i];
    own_im[i] += o.own_im[i];
    received_re[i] += o.received_re[i];
    received_im[i] += o.received_im[i];
  }
  return *this;
}

ChannelFit::ChannelFit(const Setup& setup, Scratch& scratch) : s_(setup), system_(kChannelTaps, 1, scratch) {
  for (float** plane : {&p_re_, &p_im_, &x_re_, &x_im_}) *plane = scratch.take<float>(setup.format.samples());
  for (float** row : {&h_re_, &h_im_}) *row = scratch.take<float>(system_.most_pitch());
}

void ChannelFit::modulate(const std::uint8_t* bits, std::int64_t begin, std::int64_t end) noexcept {
  using soqpsk::Modulator;
  const std::int64_t s = s_.format.samples_per_bit;
  std::uint32_t around = 0;
  for (std::int64_t k = begin - Modulator::kPast; k < begin + Modulator::kFuture; ++k) around = around << 1 | bits[k];
  for (std::int64_t k = begin; k < end; ++k) {
    around = around << 1 | bits[k + Modulator::kFuture];
    const cf32* const samples = s_.modulator->samples(k, around);
    for (std::int64_t j = 0; j < s; ++j) {
      p_re_[k * s + j] = samples[j].real();
      p_im_[k * s + j] = samples[j].imag();
    }
  }
}

void ChannelFit::take(const cf32* x, std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t s = s_.format.samples_per_bit;
  HWY_DYNAMIC_DISPATCH(split)(x + begin * s, x_re_ + begin * s, x_im_ + begin * s, (end - begin) * s);
}

void ChannelFit::sum(std::int64_t begin, std::int64_t end, LagSums& to) const noexcept {
  const std::int64_t s = s_.format.samples_per_bit;
  const std::int64_t first = begin * s;
  const std::int64_t count = std::max<std::int64_t>(end - begin, 0) * s;
  HWY_DYNAMIC_DISPATCH(sum_lags)(p_re_ + first, p_im_ + first, x_re_ + first, x_im_ + first, count, to);
}

void ChannelFit::fit(std::span<const LagSums> parts, std::int64_t begin, std::int64_t end, float rho,
                     cf32* channel) noexcept {
  LagSums all = parts[0];
  for (const LagSums& part : parts.subspan(1)) all += part;
  set_equations(all, begin * s_.format.samples_per_bit, end * s_.format.samples_per_bit, rho, channel);
  system_.factor(kLeastPivot);
  system_.substitute(1, h_re_, h_im_);
  bool finite = true;
  for (std::int64_t i = 0; i < kChannelTaps; ++i) finite = finite && std::isfinite(h_re_[i]) && std::isfinite(h_im_[i]);
  for (std::int64_t i = 0; finite && i < kChannelTaps; ++i) channel[i] = {h_re_[i], h_im_[i]};
}

/// An element of X^H X differs from its neighbour up the diagonal by two products: sums over n shift by one sample.
void ChannelFit::set_equations(const LagSums& sums, std::int64_t begin, std::int64_t end, float rho,
                               const cf32* before) noexcept {
  system_.begin(kChannelTaps, 1);
  for (std::int64_t i = 0; i < kChannelTaps; ++i) {
    system_.re(0)[i] = sums.own_re[i];
    system_.im(0)[i] = -sums.own_im[i];
  }
  const std::int64_t in = begin - 1 - kChannelFirst;
  const std::int64_t out = end - 1 - kChannelFirst;
  for (std::int64_t j = 0; j + 1 < kChannelTaps; ++j) {
    const float in_re = p_re_[in - j], in_im = p_im_[in - j], out_re = p_re_[out - j], out_im = p_im_[out - j];
    const float *const re = system_.re(j), *const im = system_.im(j);
    float *const to_re = system_.re(j + 1), *const to_im = system_.im(j + 1);
    for (std::int64_t i = j; i + 1 < kChannelTaps; ++i) {
      to_re[i + 1] =
          re[i] + (p_re_[in - i] * in_re + p_im_[in - i] * in_im) - (p_re_[out - i] * out_re + p_im_[out - i] * out_im);
      to_im[i + 1] =
          im[i] + (p_re_[in - i] * in_im - p_im_[in - i] * in_re) - (p_re_[out - i] * out_im - p_im_[out - i] * out_re);
    }
  }
  for (std::int64_t i = 0; i < kChannelTaps; ++i) {
    system_.re(i)[i] += rho + kFitLoad;
    system_.re(i)[kChannelTaps] = sums.received_re[i] + rho * before[i].real();
    system_.im(i)[kChannelTaps] = -(sums.received_im[i] + rho * before[i].imag());
  }
}

}  // namespace iqd::equalizer
#endif
