// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/packet_estimator/packet_estimator_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::packet_estimator::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// No part is NaN, infinite or beyond kLargest. Compares bits: larger positive numbers have larger bits, and NaN the
/// largest.
bool is_usable(const cf32* x, std::int64_t n) {
  const auto* const parts = reinterpret_cast<const float*>(x);
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i)
    largest = std::max(largest, std::bit_cast<std::int32_t>(parts[i]) & std::numeric_limits<std::int32_t>::max());
  return largest <= std::bit_cast<std::int32_t>(kLargest);
}

using elementwise::Complex;
using elementwise::product;

/// y = x · (factor · fine); `fine_j` is j times that.
void turn_run(const cf32* x, cf32 factor, const cf32* fine, const cf32* fine_j, cf32* y, std::int64_t n) {
  const float re = factor.real();
  const float im = factor.imag();
  const float minus_im = -im;
  const auto* const from = reinterpret_cast<const Complex*>(x);
  const auto* const t = reinterpret_cast<const Complex*>(fine);
  const auto* const tj = reinterpret_cast<const Complex*>(fine_j);
  auto* const to = reinterpret_cast<Complex*>(y);
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = product(from[i].re, from[i].im, product(re, im, t[i], tj[i]), product(re, minus_im, tj[i], t[i]));
}

/// Adds the upper half to the lower one until one sum is left, as a warp does.
HWY_INLINE float fold(float* sums) {
  for (int half = kSums / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

/// h = G r. Sum i of a tap's kSums takes columns i, i + kSums, …, so the order is the same for every vector width.
void solve_channel(const Pilot& pilot, const float* re, const float* im, cf32* channel) {
  const hn::CappedTag<float, kSums> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float sums_re[kSums], sums_im[kSums];
  for (int tap = 0; tap < kTaps; ++tap) {
    const float* const g_re = pilot.solve_re.data() + tap * pilot.columns;
    const float* const g_im = pilot.solve_im.data() + tap * pilot.columns;
    for (std::int64_t i = 0; i < kSums; i += lanes) {
      auto sum_re = hn::Zero(d), sum_im = hn::Zero(d);
      for (std::int64_t n = i; n < pilot.columns; n += kSums) {
        const auto a = hn::LoadU(d, g_re + n), b = hn::LoadU(d, g_im + n);
        const auto x = hn::LoadU(d, re + n), y = hn::LoadU(d, im + n);
        sum_re = hn::Add(sum_re, hn::Sub(hn::Mul(a, x), hn::Mul(b, y)));
        sum_im = hn::Add(sum_im, hn::Add(hn::Mul(a, y), hn::Mul(b, x)));
      }
      hn::StoreU(sum_re, d, sums_re + i);
      hn::StoreU(sum_im, d, sums_im + i);
    }
    const float h_re = fold(sums_re);
    channel[tap] = {h_re, fold(sums_im)};
  }
}

/// |r - X h|^2; r becomes r - X h.
double residual_energy(const Pilot& pilot, const cf32* channel, float* __restrict re, float* __restrict im) {
  for (int tap = 0; tap < kTaps; ++tap) {
    const float h_re = channel[tap].real();
    const float h_im = channel[tap].imag();
    const float* const p_re = pilot.wave_re.data() + kTaps - 1 - tap;
    const float* const p_im = pilot.wave_im.data() + kTaps - 1 - tap;
    for (std::int64_t n = 0; n < pilot.rows; ++n) re[n] -= p_re[n] * h_re - p_im[n] * h_im;
    for (std::int64_t n = 0; n < pilot.rows; ++n) im[n] -= p_re[n] * h_im + p_im[n] * h_re;
  }
  double energy = 0;
  for (std::int64_t n = 0; n < pilot.rows; ++n) {
    const double e_re = re[n];
    const double e_im = im[n];
    energy += e_re * e_re + e_im * e_im;
  }
  return energy;
}

}  // namespace iqd::packet_estimator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::packet_estimator {

HWY_EXPORT(is_usable);
HWY_EXPORT(turn_run);
HWY_EXPORT(solve_channel);
HWY_EXPORT(residual_energy);

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Of one packet. NaN if a sample is unusable.
Correlation correlate(const Pilot& pilot, const cf32* window) {
  if (!HWY_DYNAMIC_DISPATCH(is_usable)(window, pilot.window)) return {kNan, kNan};
  const cf32* const r = window + PacketFormat::kGuard + 2 * pilot.lag;
  Correlation s;
  for (std::int64_t n = 0; n < pilot.terms; ++n) {
    const std::complex<double> now(r[n]), before(r[n - pilot.lag]);
    s.re += now.real() * before.real() + now.imag() * before.imag();
    s.im += now.imag() * before.real() - now.real() * before.imag();
  }
  return s;
}

/// Replaces each S by the mean that its packet's offset is computed from; one that is unusable stays NaN.
void average(const Offsets& offsets, std::span<Correlation> s, Mean* mean) {
  if (offsets.average == Average::packet) return;
  Correlation total;
  for (Correlation& one : s) {
    if (std::isnan(one.re)) continue;
    total.re += one.re;
    total.im += one.im;
    if (offsets.average != Average::carry) continue;
    mean->add(one, offsets.weight);
    one = mean->value;
  }
  if (offsets.average == Average::block)
    for (Correlation& one : s)
      if (!std::isnan(one.re)) one = total;
}

/// Processes one packet after the other, with the memory for it.
class Corrector {
 public:
  Corrector(const Pilot& pilot, const Offsets& offsets, Scratch& scratch)
      : pilot_(pilot),
        offsets_(offsets),
        fine_(scratch.take<cf32>(kRun)),
        fine_j_(scratch.take<cf32>(kRun)),
        re_(scratch.take<float>(pilot.columns)),
        im_(scratch.take<float>(pilot.columns)),
        channel_(scratch.take<cf32>(kTaps)),
        run_(scratch.take<cf32>(kRun)) {}

  void correct(const cf32* window, Correlation s, std::int64_t packet, const Estimates& out) noexcept {
    cf32* const to = out.windows ? out.windows + packet * pilot_.window : nullptr;
    if (std::isnan(s.re)) return refuse(packet, to, out);
    const double offset = s.offset(pilot_.lag);
    set_turn(turn_against(offset));
    turn(window, to);
    HWY_DYNAMIC_DISPATCH(solve_channel)(pilot_, re_, im_, channel_);
    const double energy = HWY_DYNAMIC_DISPATCH(residual_energy)(pilot_, channel_, re_, im_);
    if (out.channel) std::copy_n(channel_, kTaps, out.channel + packet * kTaps);
    out.noise[packet] = static_cast<float>(energy / pilot_.rho);
    if (out.offset) out.offset[packet] = static_cast<float>(offset);
    out.offset_hz[packet] = static_cast<float>(offset * offsets_.hertz);
  }

 private:
  void refuse(std::int64_t packet, cf32* to, const Estimates& out) noexcept {
    if (to) std::fill_n(to, pilot_.window, cf32(kNan, kNan));
    if (out.channel) std::fill_n(out.channel + packet * kTaps, kTaps, cf32(kNan, kNan));
    out.noise[packet] = out.offset_hz[packet] = kNan;
    if (out.offset) out.offset[packet] = kNan;
  }

  /// Sets the factors within a run; keeps the previous packet's if the offset is the same.
  void set_turn(Phase turn) noexcept {
    if (turn == turn_ && ready_) return;
    ready_ = true;
    turn_ = turn;
    for (std::int64_t i = 0; i < kRun; ++i) {
      fine_[i] = cf32((turn * i).phasor());
      fine_j_[i] = {-fine_[i].imag(), fine_[i].real()};
    }
  }

  /// Derotates the window and keeps the pilot's samples. If `to` is null, computes only those.
  void turn(const cf32* window, cf32* to) noexcept {
    const std::int64_t first_row = PacketFormat::kGuard + kTapsBehind;
    const std::int64_t end_row = first_row + pilot_.rows;
    std::fill_n(re_, pilot_.columns, 0.0f);
    std::fill_n(im_, pilot_.columns, 0.0f);
    const std::int64_t end = to ? pilot_.window : end_row;
    for (std::int64_t at = to ? 0 : PacketFormat::kGuard; at < end; at += kRun) {
      cf32* const y = to ? to + at : run_;
      const std::int64_t length = std::min<std::int64_t>(kRun, pilot_.window - at);
      const cf32 factor((turn_ * (at - PacketFormat::kGuard)).phasor());
      HWY_DYNAMIC_DISPATCH(turn_run)(window + at, factor, fine_, fine_j_, y, length);
      for (std::int64_t n = std::max(at, first_row); n < std::min(at + length, end_row); ++n) {
        re_[n - first_row] = y[n - at].real();
        im_[n - first_row] = y[n - at].imag();
      }
    }
  }

  const Pilot& pilot_;
  const Offsets& offsets_;
  Phase turn_;
  bool ready_ = false;
  cf32* fine_;
  cf32* fine_j_;
  float* re_;
  float* im_;
  cf32* channel_;
  cf32* run_;
};

}  // namespace

std::size_t scratch_bytes(const Pilot& pilot, std::int64_t most_packets) {
  Scratch count(nullptr);
  count.take<Correlation>(most_packets);
  const Offsets offsets;
  Corrector(pilot, offsets, count);
  return count.bytes();
}

void run_cpu(const Pilot& pilot, const Offsets& offsets, const cf32* windows, std::int64_t packets, Mean* mean,
             const Estimates& out, std::byte* memory) noexcept {
  Scratch scratch(memory);
  const auto s = scratch.take_span<Correlation>(packets);
  for (std::int64_t p = 0; p < packets; ++p)
    s[static_cast<std::size_t>(p)] = correlate(pilot, windows + p * pilot.window);
  average(offsets, s, mean);
  Corrector corrector(pilot, offsets, scratch);
  for (std::int64_t p = 0; p < packets; ++p)
    corrector.correct(windows + p * pilot.window, s[static_cast<std::size_t>(p)], p, out);
}

}  // namespace iqd::packet_estimator
#endif
