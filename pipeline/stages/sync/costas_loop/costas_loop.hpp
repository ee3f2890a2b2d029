// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/sync/loop_gains.hpp"

/// The classical loop that tracks the carrier of PSK, sample by sample:
///
///     y = x exp(-j phase)      e = Im(y conj d) / |y|, d the nearest of `order` points of size 1
///     frequency += K2 e        phase += frequency + K1 e
///
/// x, y       [n] or [symbol]  cf32  symbols, or samples at their middles
/// frequency  the same         f32   cycles a sample
///
/// Points are at 1 and -1 (order 2), at odd multiples of 45 degrees (4), at multiples of 45 degrees (8). The frequency
/// stays within max_offset of 0. A sample that is not finite, or 0, does not change the state; one that is not finite
/// stays so. Carried from block to block: phase and frequency; a gap sets them to 0.
namespace iqd::costas_loop {

struct Config {
  std::int64_t order = 4;
  double loop_bandwidth = 0.01;
  double damping = 0.707;
  double max_offset = 0.05;

  void fields(FieldVisitor& visitor);
};

struct State {
  double phase = 0;      // cycles, -0.5 … 0.5
  double frequency = 0;  // cycles a sample
};

class Loop {
 public:
  explicit Loop(const Config& config);
  /// Processes one sample.
  cf32 step(State& state, cf32 x) const noexcept;

 private:
  dsp::LoopGains gains_;
  double most_;
  double order_;
  double first_;  // the angle of a point, in cycles
};

}  // namespace iqd::costas_loop
