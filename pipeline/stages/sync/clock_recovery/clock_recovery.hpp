// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stages/sync/loop_gains.hpp"

/// The classical loops that follow the clock of symbols, one symbol at a time:
///
///     y = x(t), by a cubic through four samples        rate += K2 e        t += T (1 + rate + K1 e)
///     gardner         e = Re((y' - y) conj x(t - T / 2)) / mean(|y|^2, |y'|^2)      y': the symbol before
///     mueller_muller  e = Re(y conj d' - y' conj d) / mean(|y|, |y'|)               d, d': their decisions, QPSK or
///     BPSK
///
/// over the detector's slope for a rolloff of 0.35.
///
/// x       [n]       cf32  behind the matched filter, T = `samples_per_symbol`
/// y       [symbol]  cf32  those whose t lies in the block's new part
/// clock   [symbol]  f32   rate: 1e-4 where symbols come 100 ppm later than T says
///
/// |rate| is `max_deviation` at most. Where a sample that e is made of is not finite, or all are 0, e is 0: the loop
/// goes on behind it as before, and the symbols near it are not finite. Carried from block to block: t, rate, y'. A gap
/// makes it begin anew, with the first sample.
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
  std::int64_t whole = 0;  // of t: the sample at or before it, and what is left
  double part = 0;
  double rate = 0;
  cf32 before;  // y'
};

/// What is in memory of a stream.
struct Input {
  const cf32* x;
  std::int64_t first;
  std::int64_t end;
};

class Loop {
 public:
  explicit Loop(const Config& config);
  /// Samples before an instant that its symbol and its error are made of, and behind it.
  std::int64_t past() const noexcept;
  static constexpr std::int64_t kFuture = 2;
  std::int64_t most_symbols(std::int64_t samples) const noexcept;

  /// The symbol at t; then t is that of the next.
  cf32 step(State& state, const Input& in) const noexcept;

 private:
  double error(cf32 y, cf32 before, cf32 middle) const noexcept;

  double period_;
  Method method_;
  dsp::LoopGains gains_;
  double most_;
};

}  // namespace iqd::clock_recovery
