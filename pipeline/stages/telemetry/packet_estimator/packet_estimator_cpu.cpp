// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "pipeline/stages/telemetry/packet_estimator/clock_cpu.hpp"
#include "pipeline/stages/telemetry/packet_estimator/derotator_cpu.hpp"
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
  Corrector(const Pilot& pilot, const Offsets& offsets, const ClockDesign& clock, Scratch& scratch)
      : pilot_(pilot),
        offsets_(offsets),
        derotator_(pilot.window, scratch),
        clock_(clock, pilot.window, scratch),
        re_(scratch.take<float>(pilot.columns)),
        im_(scratch.take<float>(pilot.columns)),
        channel_(scratch.take<cf32>(kTaps)),
        part_(scratch.take<cf32>(std::max<std::int64_t>(kRun, clock_.is_on() ? pilot.rows : 0))),
        products_(scratch.take_span<LineProduct>(clock.segments)) {}

  /// W of a packet; zeros if a sample is unusable.
  void measure(const cf32* window, Correlation s, std::span<LineProduct> w) noexcept {
    std::ranges::fill(w, LineProduct());
    if (std::isnan(s.re)) return;
    derotate(window, s.offset(pilot_.lag));
    clock_.measure(w.data());
  }
  ClockError search(std::span<const LineProduct> w) const noexcept { return clock_.search(w); }

  /// `known`: the clock's error, unless it is to be that of the packet.
  void correct(const cf32* window, Correlation s, const ClockError* known, std::int64_t packet,
               const Estimates& out) noexcept {
    cf32* const to = out.windows ? out.windows + packet * pilot_.window : nullptr;
    if (std::isnan(s.re)) return refuse(packet, to, out);
    const double offset = s.offset(pilot_.lag);
    std::fill_n(re_, pilot_.columns, 0.0f);
    std::fill_n(im_, pilot_.columns, 0.0f);
    if (clock_.is_on()) {
      derotate(window, offset);
      warp(known ? *known : error_of_packet(), packet, to, out);
    } else {
      turn(window, offset, to);
    }
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
    if (clock_.is_on()) out.clock[packet] = out.clock_quality[packet] = kNan;
    if (out.offset) out.offset[packet] = kNan;
  }

  /// Derotates the window and keeps the pilot's samples. If `to` is null, computes only those.
  void turn(const cf32* window, double offset, cf32* to) noexcept {
    derotator_.set(offset);
    const std::int64_t end = to ? pilot_.window : end_row();
    for (std::int64_t at = to ? 0 : PacketFormat::kGuard; at < end; at += kRun) {
      cf32* const y = to ? to + at : part_;
      keep_rows(y, at, derotator_.run(window, at, y));
    }
  }

  /// For the clock: derotates the window into its memory.
  void derotate(const cf32* window, double offset) noexcept {
    derotator_.set(offset);
    for (std::int64_t at = 0; at < pilot_.window; at += kRun) derotator_.run(window, at, clock_.window() + at);
  }
  ClockError error_of_packet() noexcept {
    clock_.measure(products_.data());
    return clock_.search(products_);
  }
  /// Removes the clock's error from the derotated window and keeps the pilot's samples; as `turn`.
  void warp(const ClockError& clock, std::int64_t packet, cf32* to, const Estimates& out) noexcept {
    out.clock[packet] = static_cast<float>(clock.error * 1e6);
    out.clock_quality[packet] = static_cast<float>(clock.quality);
    const std::int64_t first = to ? 0 : kFirstRow, length = to ? pilot_.window : pilot_.rows;
    cf32* const y = to ? to : part_;
    clock_.correct(clock.error, first, length, y);
    keep_rows(y, first, length);
  }

  static constexpr std::int64_t kFirstRow = PacketFormat::kGuard + kTapsBehind;
  std::int64_t end_row() const noexcept { return kFirstRow + pilot_.rows; }
  /// y: samples at … at + length - 1 of the window.
  void keep_rows(const cf32* y, std::int64_t at, std::int64_t length) noexcept {
    for (std::int64_t n = std::max(at, kFirstRow); n < std::min(at + length, end_row()); ++n) {
      re_[n - kFirstRow] = y[n - at].real();
      im_[n - kFirstRow] = y[n - at].imag();
    }
  }

  const Pilot& pilot_;
  const Offsets& offsets_;
  Derotator derotator_;
  ClockCorrector clock_;
  float* re_;
  float* im_;
  cf32* channel_;
  cf32* part_;                       // of the window, if it is not wanted
  std::span<LineProduct> products_;  // of a packet
};

std::int64_t products_of_block(const ClockDesign& clock, std::int64_t packets) {
  return clock.over == Clock::block ? packets * clock.segments : 0;
}

}  // namespace

std::size_t scratch_bytes(const Pilot& pilot, const ClockDesign& clock, std::int64_t most_packets) {
  Scratch count(nullptr);
  count.take<Correlation>(most_packets);
  count.take<LineProduct>(products_of_block(clock, most_packets));
  const Offsets offsets;
  Corrector(pilot, offsets, clock, count);
  return count.bytes();
}

void run_cpu(const Pilot& pilot, const Offsets& offsets, const ClockDesign& clock, const cf32* windows,
             std::int64_t packets, Mean* mean, const Estimates& out, std::byte* memory) noexcept {
  Scratch scratch(memory);
  const auto s = scratch.take_span<Correlation>(packets);
  const auto w = scratch.take_span<LineProduct>(products_of_block(clock, packets));
  for (std::int64_t p = 0; p < packets; ++p)
    s[static_cast<std::size_t>(p)] = correlate(pilot, windows + p * pilot.window);
  average(offsets, s, mean);
  Corrector corrector(pilot, offsets, clock, scratch);
  ClockError of_block;
  if (clock.over == Clock::block) {
    const auto segments = static_cast<std::size_t>(clock.segments);
    for (std::size_t p = 0; p < s.size(); ++p)
      corrector.measure(windows + static_cast<std::int64_t>(p) * pilot.window, s[p], w.subspan(p * segments, segments));
    of_block = corrector.search(w);
  }
  for (std::int64_t p = 0; p < packets; ++p)
    corrector.correct(windows + p * pilot.window, s[static_cast<std::size_t>(p)],
                      clock.over == Clock::block ? &of_block : nullptr, p, out);
}

}  // namespace iqd::packet_estimator
#endif
