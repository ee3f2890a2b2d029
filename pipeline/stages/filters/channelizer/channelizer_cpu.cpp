// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/integer.hpp"
#include "pipeline/stages/filters/channelizer/channelizer.hpp"
#include "signal/filters/filter_design.hpp"

// Compiled once for each kind of CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/filters/channelizer/channelizer_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::channelizer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// As many places as fit, four vectors at a time, so that a sum does not wait for the previous one.
template <class D> HWY_INLINE void fold_tiles(D d, const float* h, const float* x, std::int64_t turns,
                                              std::int64_t floats, std::int64_t& i, float* y) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + 4 * lanes <= floats; i += 4 * lanes) {
    hn::Vec<D> a = hn::Zero(d), b = a, c = a, e = a;
    for (std::int64_t q = 0; q < turns; ++q) {
      const float* const taps = h + q * floats + i;
      const float* const from = x + i - q * floats;
      a = hn::MulAdd(hn::LoadU(d, taps), hn::LoadU(d, from), a);
      b = hn::MulAdd(hn::LoadU(d, taps + lanes), hn::LoadU(d, from + lanes), b);
      c = hn::MulAdd(hn::LoadU(d, taps + 2 * lanes), hn::LoadU(d, from + 2 * lanes), c);
      e = hn::MulAdd(hn::LoadU(d, taps + 3 * lanes), hn::LoadU(d, from + 3 * lanes), e);
    }
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
    hn::StoreU(c, d, y + i + 2 * lanes);
    hn::StoreU(e, d, y + i + 3 * lanes);
  }
  for (; i + lanes <= floats; i += lanes) {
    hn::Vec<D> sum = hn::Zero(d);
    for (std::int64_t q = 0; q < turns; ++q)
      sum = hn::MulAdd(hn::LoadU(d, h + q * floats + i), hn::LoadU(d, x + i - q * floats), sum);
    hn::StoreU(sum, d, y + i);
  }
}

/// y(i) = sum over q of h(q, i) x(i - q floats), i = 0 … floats - 1, h [q][floats].
void fold_turns(const float* h, const float* x, std::int64_t turns, std::int64_t floats, float* y) {
  std::int64_t i = 0;
  fold_tiles(hn::ScalableTag<float>(), h, x, turns, floats, i, y);
  fold_tiles(hn::CappedTag<float, 4>(), h, x, turns, floats, i, y);
  fold_tiles(hn::CappedTag<float, 1>(), h, x, turns, floats, i, y);
}

}  // namespace iqd::channelizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::channelizer {

HWY_EXPORT(fold_turns);

namespace {

/// Frames whose bins are collected before they are copied to the channels, which then get a cache line at a time.
constexpr std::int64_t kFrames = 16;

/// Small transforms are faster in batches. A frame's place in its batch follows from its position, so that it always
/// takes the same path through the same algorithm.
std::int64_t batch_of(std::int64_t channels) {
  return channels < 64 ? kFrames : 1;
}

/// If a sum is not finite, makes all of them NaN, so that every bin of the transform is NaN.
void mark_bad(cf32* time, std::int64_t n) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto* const parts = reinterpret_cast<const float*>(time);
  std::uint32_t largest = 0;  // of the bits after the sign, which grow with the magnitude
  for (std::int64_t i = 0; i < 2 * n; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(parts[i]) & 0x7fffffffu);
  if (largest >= 0x7f800000u) std::fill_n(time, n, cf32(kNan, kNan));
}

}  // namespace

std::vector<double> prototype(const Config& config) {
  if (!config.taps.empty()) return config.taps;
  const auto channels = static_cast<double>(config.channels);
  const std::int64_t count = config.channels * config.taps_per_channel;
  const double beta = kaiser_beta(config.attenuation_db);
  std::vector<double> h = make_window(Window::kaiser, count, beta);
  for (std::int64_t n = 0; n < count; ++n) {
    const double turn = std::numbers::pi * (static_cast<double>(n) - static_cast<double>(count - 1) / 2) / channels;
    if (turn != 0) h[static_cast<std::size_t>(n)] *= std::sin(turn) / turn;
  }
  const double sum = std::accumulate(h.begin(), h.end(), 0.0);
  for (double& tap : h) tap /= sum;
  return h;
}

std::vector<std::int64_t> selected(const Config& config) {
  if (!config.select.empty()) return config.select;
  std::vector<std::int64_t> all(static_cast<std::size_t>(config.channels));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Channelizer::Channelizer(const Config& config)
    : channels_(config.channels),
      decimation_(config.channels / config.oversample),
      batch_(batch_of(config.channels)),
      stride_(batch_ > 1 ? channels_ : channels_ + channels_ % 2),
      select_(selected(config)),
      plan_(config.channels, FftPlan::Direction::forward, batch_, FftPlan::Algorithm::repeatable) {
  const std::vector<double> h = prototype(config);
  taps_ = std::ssize(h);
  turns_ = ceil_div(taps_, channels_);
  factors_.resize(static_cast<std::size_t>(2 * turns_ * channels_));
  for (std::int64_t l = 0; l < taps_; ++l) {
    const std::int64_t at = l / channels_ * channels_ + channels_ - 1 - l % channels_;
    factors_[static_cast<std::size_t>(2 * at)] = factors_[static_cast<std::size_t>(2 * at + 1)] =
        static_cast<float>(h[static_cast<std::size_t>(l)]);
  }
}

struct Channelizer::Memory : FftRoom {
  std::int64_t inputs;
  cf32* window = scratch.take<cf32>(inputs);
};

Channelizer::Memory Channelizer::take(std::byte* scratch) const noexcept {
  return {{kFrames * stride_, Scratch(scratch)}, turns_ * channels_};
}

std::size_t Channelizer::scratch_bytes() const noexcept {
  return take(nullptr).scratch.bytes();
}

void Channelizer::run(View<const cf32, 1> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
                      std::byte* scratch) const noexcept {
  const Memory memory = take(scratch);
  const std::int64_t end = y_first + y.extent(1);
  for (std::int64_t m = y_first; m < end;) {
    const std::int64_t skipped = m % kFrames;
    const std::int64_t count = std::min(kFrames - skipped, end - m);
    std::fill_n(memory.time, batch_ > 1 && count < kFrames ? kFrames * stride_ : 0, cf32());
    for (std::int64_t f = skipped; f < skipped + count; ++f) {
      const std::int64_t newest = (m - skipped + f) * decimation_;
      fold(inputs_of(x, newest - x_first, memory.window), newest, memory.bins, memory.time + f * stride_);
    }
    transform(memory, skipped, skipped + count);
    for (std::size_t row = 0; row < select_.size(); ++row) {
      cf32* const to = &y(static_cast<std::int64_t>(row), m - y_first);
      const cf32* const from = memory.bins + skipped * stride_ + select_[row];
      for (std::int64_t f = 0; f < count; ++f) to[f] = from[f * stride_];
    }
    m += count;
  }
}

/// The beginning of the newest turn of an output's inputs; the older turns precede it. In a copy if some inputs are
/// missing, or older than the taps reach.
const cf32* Channelizer::inputs_of(View<const cf32, 1> x, std::int64_t newest, cf32* window) const noexcept {
  const std::int64_t all = turns_ * channels_;
  const std::int64_t oldest = newest - all + 1;
  if (taps_ == all && oldest >= 0) return x.data() + newest - channels_ + 1;
  const std::int64_t missing = std::clamp(std::max(-oldest, all - taps_), std::int64_t{0}, all);
  std::fill_n(window, missing, cf32());
  std::copy_n(x.data() + oldest + missing, all - missing, window + missing);
  return window + all - channels_;
}

/// Sums the products with the same factor exp: input n goes to n mod K.
void Channelizer::fold(const cf32* x, std::int64_t newest, cf32* sums, cf32* time) const noexcept {
  HWY_DYNAMIC_DISPATCH(fold_turns)
  (factors_.data(), reinterpret_cast<const float*>(x), turns_, 2 * channels_, reinterpret_cast<float*>(sums));
  mark_bad(sums, channels_);
  const std::int64_t place = (newest + 1) % channels_;  // of the turn's first input
  std::rotate_copy(sums, sums + channels_ - place, sums + channels_, time);
}

void Channelizer::transform(const Memory& memory, std::int64_t begin, std::int64_t end) const noexcept {
  if (batch_ > 1) return plan_.run(memory.time, memory.bins);
  for (std::int64_t f = begin; f < end; ++f) plan_.run(memory.time + f * stride_, memory.bins + f * stride_);
}

}  // namespace iqd::channelizer
#endif
