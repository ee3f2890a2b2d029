// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/cma_cpu.hpp"

#include <algorithm>

#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/telemetry/equalizer/overlap.hpp"

// Plain loops, compiled once for each CPU instruction set: the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/cma_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

using elementwise::Complex;

float mean_square(const cf32* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 16;
  float sums[kLanes] = {};
  const auto* const parts = reinterpret_cast<const float*>(x);
  std::int64_t i = 0;
  for (; i + kLanes <= 2 * n; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l) sums[l] += parts[i + l] * parts[i + l];
  for (; i < 2 * n; ++i) sums[0] += parts[i] * parts[i];
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum / static_cast<float>(n);
}

/// y = x c
void filter_block(const cf32* x, const cf32* c, cf32* y) {
  const auto* const from = reinterpret_cast<const Complex*>(x);
  const auto* const by = reinterpret_cast<const Complex*>(c);
  auto* const to = reinterpret_cast<Complex*>(y);
  for (std::int64_t k = 0; k < kBlock; ++k)
    to[k] = {from[k].re * by[k].re - from[k].im * by[k].im, from[k].re * by[k].im + from[k].im * by[k].re};
}

/// g += z x*
void correlate_block(const cf32* z, const cf32* x, cf32* g) {
  const auto* const left = reinterpret_cast<const Complex*>(z);
  const auto* const right = reinterpret_cast<const Complex*>(x);
  auto* const to = reinterpret_cast<Complex*>(g);
  for (std::int64_t k = 0; k < kBlock; ++k)
    to[k] = {to[k].re + (left[k].re * right[k].re + left[k].im * right[k].im),
             to[k].im + (left[k].im * right[k].re - left[k].re * right[k].im)};
}

/// z = 2 (|y|^2 - 1) y, y being x times `factor`; in place
void leave_the_circle(cf32* x, float factor, std::int64_t n) {
  auto* const at = reinterpret_cast<Complex*>(x);
  for (std::int64_t i = 0; i < n; ++i) {
    const Complex y{at[i].re * factor, at[i].im * factor};
    const float much = 2 * (y.re * y.re + y.im * y.im - 1);
    at[i] = {much * y.re, much * y.im};
  }
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(mean_square);
HWY_EXPORT(filter_block);
HWY_EXPORT(correlate_block);
HWY_EXPORT(leave_the_circle);

namespace {

std::int64_t blocks_of(std::int64_t samples) {
  return count_blocks(static_cast<int>(samples));
}

}  // namespace

DescentMemory::DescentMemory(const Setup& setup, Scratch& scratch) {
  const std::int64_t all = blocks_of(setup.format.samples()) * kBlock;
  for (cf32** blocks : {&spectra, &a, &b}) *blocks = scratch.take<cf32>(all);
  for (cf32** block : {&taps, &filter, &gradient}) *block = scratch.take<cf32>(kBlock);
}

Descent::Descent(const Setup& setup)
    : samples_(setup.format.samples()),
      window_(setup.format.window()),
      iterations_(setup.cma_iterations),
      step_(setup.cma_step),
      forward_(kBlock),
      inverse_(kBlock, FftPlan::Direction::inverse),
      all_forward_(kBlock, FftPlan::Direction::forward, blocks_of(samples_)),
      all_inverse_(kBlock, FftPlan::Direction::inverse, blocks_of(samples_)) {}

void Descent::run(const cf32* window, cf32* taps, const DescentMemory& memory) const noexcept {
  receive(window, memory);
  std::fill_n(memory.taps, kBlock, cf32());
  std::copy_n(taps, kTaps, memory.taps);
  const float power = HWY_DYNAMIC_DISPATCH(mean_square)(window + PacketFormat::kGuard, samples_);
  const float size = step_ / (power * static_cast<float>(samples_) * kBlock);
  for (std::int64_t i = 0; i < iterations_; ++i) step(size, memory);
  const float before = HWY_DYNAMIC_DISPATCH(mean_square)(taps, kTaps);
  const float now = HWY_DYNAMIC_DISPATCH(mean_square)(memory.taps, kTaps);
  if (now <= kMostGrowth * before) std::copy_n(memory.taps, kTaps, taps);  // false if NaN
}

void Descent::receive(const cf32* window, const DescentMemory& memory) const noexcept {
  for (std::int64_t block = 0; block < blocks_of(samples_); ++block) {
    const std::int64_t begin = block_begin(static_cast<int>(block));
    const std::int64_t there = std::min<std::int64_t>(kBlock, window_ - begin);
    cf32* const to = memory.a + block * kBlock;
    std::copy_n(window + begin, there, to);
    std::fill_n(to + there, kBlock - there, cf32());
  }
  all_forward_.run(memory.a, memory.spectra);
}

void Descent::step(float size, const DescentMemory& memory) const noexcept {
  const std::int64_t blocks = blocks_of(samples_);
  forward_.run(memory.taps, memory.filter);
  for (std::int64_t block = 0; block < blocks; ++block) HWY_DYNAMIC_DISPATCH(filter_block)
  (memory.spectra + block * kBlock, memory.filter, memory.a + block * kBlock);
  all_inverse_.run(memory.a, memory.b);
  for (std::int64_t block = 0; block < blocks; ++block) {
    cf32* const y = memory.b + block * kBlock;
    const std::int64_t end = std::min<std::int64_t>(kBlock, kOld + samples_ - kNew * block);
    std::fill_n(y, kOld, cf32());
    HWY_DYNAMIC_DISPATCH(leave_the_circle)(y + kOld, 1.0f / kBlock, end - kOld);
    std::fill_n(y + end, kBlock - end, cf32());
  }
  all_forward_.run(memory.b, memory.a);
  std::fill_n(memory.filter, kBlock, cf32());
  for (std::int64_t block = 0; block < blocks; ++block) HWY_DYNAMIC_DISPATCH(correlate_block)
  (memory.a + block * kBlock, memory.spectra + block * kBlock, memory.filter);
  inverse_.run(memory.filter, memory.gradient);
  for (std::int64_t i = 0; i < kTaps; ++i) memory.taps[i] -= size * memory.gradient[i];
}

}  // namespace iqd::equalizer
#endif
