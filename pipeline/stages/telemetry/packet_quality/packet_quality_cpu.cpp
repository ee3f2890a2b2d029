// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_quality/packet_quality_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/packet_quality/packet_quality_cpu.cpp"
// foreach_target.h comes first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace iqd::packet_quality::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

/// The sum of f(x) over n numbers; f(0) has to be 0.
template <class Function> HWY_INLINE float sum_of(const float* x, std::int64_t n, const Function& f) {
  const F d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) sum = hn::Add(sum, f(hn::LoadU(d, x + i)));
  if (i < n) {
    HWY_ALIGN float rest[hn::MaxLanes(F())] = {};
    std::copy_n(x + i, n - i, rest);
    sum = hn::Add(sum, f(hn::Load(d, rest)));
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// The mean of |x| and of x^2.
void moments(const float* x, std::int64_t n, float& mean, float& power) {
  mean = sum_of(x, n, [](V v) { return hn::Abs(v); }) / static_cast<float>(n);
  power = sum_of(x, n, [](V v) { return hn::Mul(v, v); }) / static_cast<float>(n);
}

/// The mean of x tanh(x scale).
float decided_mean(const float* x, std::int64_t n, float scale) {
  const F d;
  const V factor = hn::Set(d, scale);
  return sum_of(x, n, [&](V v) { return hn::Mul(v, hn::Tanh(d, hn::Mul(v, factor))); }) / static_cast<float>(n);
}

}  // namespace iqd::packet_quality::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::packet_quality {

HWY_EXPORT(moments);
HWY_EXPORT(decided_mean);

namespace {

/// A lane's memory for the levels of one packet.
struct Work {
  Work(const Setup& setup, Scratch& scratch)
      : time(scratch.take<cf32>(std::max<std::int64_t>(kReference, size_of(setup)))),
        bins(scratch.take<cf32>(std::max<std::int64_t>(kReference, size_of(setup)))),
        response(scratch.take<float>(kReference)),
        rails(scratch.take_span<float>(kUsedBits)) {}
  static std::int64_t size_of(const Setup& setup) noexcept {
    return std::int64_t{kReferenceBits} * setup.samples_per_bit;
  }

  cf32* time;
  cf32* bins;
  float* response;  // T
  std::span<float> rails;
};

struct Fit {
  float mean;   // of |x|
  float power;  // of x
};

double error_of(const float* x, std::int64_t n, const Fit& fit, const Levels& levels) noexcept {
  float square = 0;
  for (const float s : levels.at) square += s * s / kLevels;
  float a = fit.mean;
  const auto variance = [&] { return std::max(fit.power - a * a * square, kLeastShare * fit.power); };
  float v = variance();
  for (int i = 0; i < kIterations; ++i) {
    a = HWY_DYNAMIC_DISPATCH(decided_mean)(x, n, a / v);
    v = variance();
  }
  return error_of(levels, a, v);
}

/// The error probability of a segment.
double error_of_segment(const float* x, std::int64_t n, const Levels* own, const Levels& filter) noexcept {
  Fit fit{};
  HWY_DYNAMIC_DISPATCH(moments)(x, n, fit.mean, fit.power);
  if (!std::isfinite(fit.power)) return std::numeric_limits<double>::quiet_NaN();
  if (fit.power == 0) return 0.5;
  double p = error_of(x, n, fit, filter);
  if (own) p = std::sqrt(p * error_of(x, n, fit, *own));
  return std::min(p, 0.5);
}

}  // namespace

Quality::Quality(Setup setup)
    : setup_(std::move(setup)),
      of_channel_(Work::size_of(setup_), FftPlan::Direction::forward, 1, FftPlan::Algorithm::repeatable),
      of_reference_(kReference, FftPlan::Direction::inverse, 1, FftPlan::Algorithm::repeatable) {}

std::size_t Quality::scratch_bytes(const Setup& setup) noexcept {
  Scratch count(nullptr);
  const Work work(setup, count);
  return count.bytes();
}

/// Not finite: there is no channel.
Levels Quality::own_levels(const Packet& packet, std::byte* memory) const noexcept {
  Scratch scratch(memory);
  const Work work(setup_, scratch);
  std::fill_n(work.time, Work::size_of(setup_), cf32{});
  std::copy_n(packet.channel, setup_.taps, work.time);
  of_channel_.run(work.time, work.bins);
  const float noise = std::max(*packet.noise, 0.0f);
  for (int k = 0; k < kReference; ++k) {
    const float power = std::norm(work.bins[channel_bin(k, setup_.samples_per_bit)]);
    work.response[k] = power / (power + noise);
  }
  for (int k = 0; k < kReference; ++k) work.bins[k] = setup_.reference[static_cast<std::size_t>(k)] * work.response[k];
  of_reference_.run(work.bins, work.time);
  for (std::size_t i = 0; i < work.rails.size(); ++i) {
    const std::size_t k = kEnds + i;
    const cf32 y = work.time[2 * k];
    const float rail = k % 2 == 0 ? y.real() : y.imag();
    work.rails[i] = setup_.reference_bits[k] != 0 ? rail : -rail;
  }
  // Sorting needs numbers.
  if (!std::ranges::all_of(work.rails, [](float r) { return std::isfinite(r); }))
    return {.at = {std::numeric_limits<float>::quiet_NaN()}};
  return levels_of(work.rails);
}

void Quality::run(const Packet& packet, std::byte* scratch) const noexcept {
  Levels own{};
  if (setup_.has_channel) own = own_levels(packet, scratch);
  const bool is_own = setup_.has_channel && std::isfinite(own.at[0]);
  for (int kind = 0; kind < setup_.kinds; ++kind) {
    const float* const soft = packet.soft + kind * setup_.bits + setup_.bits - setup_.payload;
    float* const segments = packet.segments + kind * kSegments;
    double sum = 0;
    for (int s = 0; s < kSegments; ++s) {
      const std::int64_t begin = s * setup_.payload / kSegments, end = (s + 1) * setup_.payload / kSegments;
      const double p = error_of_segment(soft + begin, end - begin, is_own ? &own : nullptr, setup_.filter);
      segments[s] = static_cast<float>(p);
      sum += p * static_cast<double>(end - begin);
    }
    sum /= static_cast<double>(setup_.payload);
    packet.bep[kind] = static_cast<float>(sum);
    if (kind == setup_.kind) *packet.dqm = static_cast<float>(dqm_of(sum));
  }
}

std::int32_t make_frames(const FrameJob& job, std::uint8_t* frames, Rest& rest, std::uint8_t* rest_bits) noexcept {
  const std::int64_t count = job.frames(), bytes = job.setup.frame_bytes();
  for (std::int64_t f = 0; f < count; ++f) {
    const int dqm = dqm_of(job.error_of_frame(f));
    for (std::int64_t i = 0; i < bytes; ++i) frames[f * bytes + i] = job.byte(f, i, dqm);
  }
  rest = job.rest_after();
  const std::int64_t begin = count * job.setup.payload;
  // Without a frame, what was there stays.
  for (std::int64_t i = count == 0 ? job.before.bits : 0; i < rest.bits; ++i)
    rest_bits[i] = static_cast<std::uint8_t>(job.bit(begin + i));
  return static_cast<std::int32_t>(count);
}

}  // namespace iqd::packet_quality
#endif
