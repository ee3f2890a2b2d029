// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/recall/ring.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/integer.hpp"

namespace iqd::radio::recall {

std::int64_t Kept::duration_ns(std::int64_t n) const noexcept {
  return std::llround(static_cast<double>(n) * 1e9 / rate_hz);
}

Ring::Ring(const Kept& kept)
    : kept_(kept),
      row_bytes_(static_cast<std::size_t>(kept.samples) * size_of(kept.element)),
      memory_(row_bytes_ * static_cast<std::size_t>(kept.channels)) {}

std::size_t Ring::bytes(const Kept& kept) noexcept {
  return bounded_bytes(kept.channels, bounded_bytes(kept.samples, size_of(kept.element)));
}

std::int64_t Ring::end_ns() const noexcept {
  return pieces_.back().time_ns + kept_.duration_ns(pieces_.back().length);
}

/// Calls span(index in the ring, samples before, length) for the one or two runs that hold `n` samples from `first` on.
template <class F> void Ring::spans(std::int64_t first, std::int64_t n, F span) const noexcept {
  const std::int64_t place = first % kept_.samples;
  const std::int64_t up = std::min(n, kept_.samples - place);
  span(place, std::int64_t{0}, up);
  if (up < n) span(std::int64_t{0}, up, n - up);
}

void Ring::write(std::int64_t time_ns, const std::byte* from, std::int64_t n) {
  if (n <= 0) return;
  const std::size_t size = size_of(kept_.element);
  const std::int64_t left_out = std::max<std::int64_t>(0, n - kept_.samples);
  for (std::int64_t c = 0; c < kept_.channels; ++c) {
    std::byte* const row = memory_.data() + static_cast<std::size_t>(c) * row_bytes_;
    const std::byte* const x = from + static_cast<std::size_t>(c * n + left_out) * size;
    spans(written_ + left_out, n - left_out, [&](std::int64_t place, std::int64_t before, std::int64_t length) {
      std::memcpy(row + static_cast<std::size_t>(place) * size, x + static_cast<std::size_t>(before) * size,
                  static_cast<std::size_t>(length) * size);
    });
  }
  note(time_ns, n);
  while (pieces_.front().first + pieces_.front().length <= written_ - kept_.samples) pieces_.pop_front();
}

/// Times are rounded to a nanosecond. A larger deviation starts a piece with its own time, so that errors do not add
/// up; a deviation of half a sample or more does not continue the previous samples.
void Ring::note(std::int64_t time_ns, std::int64_t n) {
  const std::int64_t first = written_;
  written_ += n;
  const std::int64_t off = pieces_.empty() ? 0 : time_ns - end_ns();
  const bool exact = !pieces_.empty() && std::abs(off) <= 1;
  const bool joined = !pieces_.empty() && std::fabs(static_cast<double>(off)) * kept_.rate_hz < 0.5e9;
  if (exact) {
    pieces_.back().length += n;
    return;
  }
  if (!joined && off < 0) pieces_.clear();
  pieces_.push_back({first, n, time_ns, joined});
}

/// Calls part(index in the stretch, first, length) for the parts of a stretch that exist.
template <class F> void Ring::visit(std::int64_t start_ns, std::int64_t n, F part) const noexcept {
  const std::int64_t oldest = written_ - kept_.samples;
  std::int64_t next = 0;
  bool goes_on = false;
  for (const Piece& p : pieces_) {
    const double where = static_cast<double>(p.time_ns - start_ns) * kept_.rate_hz / 1e9;
    const bool near = where < static_cast<double>(n) + 1 && where + static_cast<double>(p.length) > -1;
    const std::int64_t at = goes_on && p.joined ? next : near ? std::llround(where) : n;
    goes_on = near;
    next = at + p.length;
    const std::int64_t from = std::max({std::int64_t{0}, -at, oldest - p.first});
    const std::int64_t to = std::min(p.length, n - at);
    if (near && from < to) part(at + from, p.first + from, to - from);
  }
}

std::int64_t Ring::held(std::int64_t start_ns, std::int64_t n) const noexcept {
  std::int64_t sum = 0;
  visit(start_ns, n, [&](std::int64_t, std::int64_t, std::int64_t length) { sum += length; });
  return std::min(sum, n);
}

void Ring::copy(std::int64_t start_ns, std::int64_t n, std::span<std::byte* const> rows) const noexcept {
  const std::size_t size = size_of(kept_.element);
  visit(start_ns, n, [&](std::int64_t at, std::int64_t first, std::int64_t length) {
    spans(first, length, [&](std::int64_t place, std::int64_t before, std::int64_t up) {
      for (std::size_t c = 0; c < rows.size(); ++c)
        std::memcpy(rows[c] + static_cast<std::size_t>(at + before) * size,
                    memory_.data() + c * row_bytes_ + static_cast<std::size_t>(place) * size,
                    static_cast<std::size_t>(up) * size);
    });
  });
}

}  // namespace iqd::radio::recall
