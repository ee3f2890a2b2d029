// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/sync/loop_gains.hpp"

/// The classical loops that track the symbol clock, one symbol at a time:
///
///     y = x(t), by a cubic through four samples        rate += K2 e        t += T (1 + rate + K1 e)
///     gardner         e = Re((y' - y) conj x(t - T / 2)) / mean(|y|^2, |y'|^2)      y': previous symbol
///     mueller_muller  e = Re(y conj d' - y' conj d) / mean(|y|, |y'|)               d, d': QPSK or BPSK decisions
///
/// over the detector's slope for a rolloff of 0.35.
///
/// x       [n]       cf32  after the matched filter, T = `samples_per_symbol`
/// y       [symbol]  cf32  those whose t lies in the block's new part
/// clock   [symbol]  f32   rate: 1e-4 if symbols come 100 ppm more slowly than T says
///
/// |rate| is at most `max_deviation`. If a sample that e depends on is not finite, or all are 0, e is 0: the loop keeps
/// its state, and symbols near a sample that is not finite are not finite. Carried from block to block: t, rate, y'.
/// After a gap it restarts at the first sample.
namespace iqd::clock_recovery {

enum class Method : std::uint8_t { gardner, mueller_muller };
inline std::span<const std::string_view> enum_names(Method) {
  static constexpr std::string_view names[] = {"gardner", "mueller_muller"};
  return names;
}

struct Config {
  double samples_per_symbol = 4;
  Method method = Method::gardner;
  double loop_bandwidth = 0.005;
  double damping = 0.707;
  double max_deviation = 0.005;

  void fields(FieldVisitor& visitor);
};

struct State {
  std::int64_t whole = 0;  // the sample at or before t
  double part = 0;         // the fraction of t
  double rate = 0;
  cf32 before;  // y'
};

/// The part of a stream that is in memory.
struct Input {
  const cf32* x;
  std::int64_t first;
  std::int64_t end;
};

class Loop {
 public:
  explicit Loop(const Config& config);
  /// How many samples before an instant its symbol and its error depend on; kFuture is the number after it.
  std::int64_t past() const noexcept;
  static constexpr std::int64_t kFuture = 2;
  std::int64_t most_symbols(std::int64_t samples) const noexcept;

  /// Returns the symbol at t and moves t to the next one.
  cf32 step(State& state, const Input& in) const noexcept;

 private:
  double error(cf32 y, cf32 before, cf32 middle) const noexcept;

  double period_;
  Method method_;
  dsp::LoopGains gains_;
  double most_;
};

}  // namespace iqd::clock_recovery
