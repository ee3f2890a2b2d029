// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "base/integer.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

/// A 64-bit float holds every position of the source up to here exactly.
inline constexpr std::int64_t kMostPosition = std::int64_t{1} << 53;

/// Positions of a port per source sample, in lowest terms.
struct Rate {
  std::int64_t num = 1;
  std::int64_t den = 1;
  friend bool operator==(const Rate&, const Rate&) = default;

  /// n / d of this rate; nothing if the terms of the result overflow.
  constexpr std::optional<Rate> times_within(std::int64_t n, std::int64_t d) const noexcept {
    const std::int64_t common = std::gcd(n, d);
    n /= common, d /= common;
    const std::int64_t g = std::gcd(num, d), h = std::gcd(n, den);
    Rate r;
    const bool too_large =
        __builtin_mul_overflow(num / g, n / h, &r.num) || __builtin_mul_overflow(den / h, d / g, &r.den);
    return too_large ? std::nullopt : std::optional(r);
  }
  /// The same if it is known that they do not overflow.
  constexpr Rate times(std::int64_t n, std::int64_t d) const noexcept { return times_within(n, d).value_or(Rate{}); }
  /// The source sample that a position belongs to.
  constexpr std::int64_t sample_of(std::int64_t position) const noexcept {
    // position = whole * num + rest, so that only the result has to fit.
    return position / num * den + mul_div(position % num, den, num);
  }
};

/// The positions of a port in one block: those that exist, and which of them are new.
struct Span {
  std::int64_t first = 0;  // exists
  std::int64_t end = 0;
  std::int64_t first_new = 0;
  std::int64_t end_new = 0;

  constexpr std::int64_t length() const noexcept { return end > first ? end - first : 0; }
};

/// How far a port reaches beyond its new part, for its readers.
struct Reach {
  std::int64_t past = 0;
  std::int64_t future = 0;
  friend bool operator==(const Reach&, const Reach&) = default;
};

/// n up / down, rounded up, even if n times up overflows.
constexpr std::int64_t scale_up(std::int64_t n, std::int64_t up, std::int64_t down) noexcept {
  const std::int64_t whole = floor_div(n, down);
  return whole * up + ceil_div((n - whole * down) * up, down);
}
/// The first output position whose granule starts at or after input position n.
constexpr std::int64_t first_from(const Footprint& f, std::int64_t n) noexcept {
  return f.whole ? ceil_div(n, f.granule) * f.yield : scale_up(n, f.yield, f.granule);
}
/// One past the last output position that can be made from the input positions before n.
constexpr std::int64_t makeable_before(const Footprint& f, std::int64_t n) noexcept {
  return f.whole ? floor_div(n, f.granule) * f.yield : scale_up(n, f.yield, f.granule);
}
/// The largest number of output positions that any n consecutive input positions give.
constexpr std::int64_t most_from(const Footprint& f, std::int64_t n) noexcept {
  return f.whole ? ceil_div(n, f.granule) * f.yield : scale_up(n, f.yield, f.granule);
}

/// The output's span for the input's: everything that exists, limited to what its readers need.
constexpr Span advance(const Footprint& f, const Span& in, const Reach& out) noexcept {
  Span s;
  s.first_new = first_from(f, in.first_new);
  s.end_new = first_from(f, in.end_new);
  s.first = std::max(first_from(f, in.first), s.first_new - out.past);
  s.end = std::min(makeable_before(f, in.end), s.end_new + out.future);
  return s;
}

/// How far the input must reach for the output to reach `out`. `aligned`: blocks start at granules.
constexpr Reach reach_before(const Footprint& f, const Reach& out, bool aligned) noexcept {
  const std::int64_t straddling = f.whole && !aligned ? f.granule - 1 : 0;
  return {
      f.past + ceil_div(ceil_div(out.past, f.whole ? f.yield : 1) * f.granule, f.whole ? 1 : f.yield),
      f.future + straddling + ceil_div(ceil_div(out.future, f.whole ? f.yield : 1) * f.granule, f.whole ? 1 : f.yield)};
}

}  // namespace iqd
