// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/element.hpp"

namespace iqd::radio::recall {

/// The format of a ring: samples, channels, rate and element type.
struct Kept {
  Element element = Element::cf32;
  std::int64_t channels = 1;
  double rate_hz = 0;
  std::int64_t samples = 0;

  std::int64_t duration_ns(std::int64_t n) const noexcept;
  friend bool operator==(const Kept&, const Kept&) = default;
};

/// The newest samples of a stream, each with its time. A gap in the stream leaves those times empty; if its clock goes
/// back, all earlier samples are forgotten.
/// Samples of the same time in two rings may differ by a fraction of a sample. A requested stretch is placed by the
/// time of its first sample, rounded to the nearest one, and continues sample by sample to the next gap.
class Ring {
 public:
  /// Throws std::bad_alloc; allocates all memory at once.
  explicit Ring(const Kept& kept);
  static std::size_t bytes(const Kept& kept) noexcept;
  const Kept& kept() const noexcept { return kept_; }

  /// Takes n samples of each channel, [channel][n]; the first one has this time.
  void write(std::int64_t time_ns, const std::byte* from, std::int64_t n);

  bool empty() const noexcept { return pieces_.empty(); }
  /// The time after the newest sample; the ring must not be empty.
  std::int64_t end_ns() const noexcept;
  /// How many of the n samples from `start_ns` on it holds.
  std::int64_t held(std::int64_t start_ns, std::int64_t n) const noexcept;
  /// Writes those samples to their places in each row, and nothing elsewhere.
  void copy(std::int64_t start_ns, std::int64_t n, std::span<std::byte* const> rows) const noexcept;

 private:
  /// Samples whose times follow from that of the first. `joined`: they continue the previous piece, whose times differ
  /// slightly.
  struct Piece {
    std::int64_t first;  // counted from the first sample ever written
    std::int64_t length;
    std::int64_t time_ns;
    bool joined;
  };
  template <class F> void visit(std::int64_t start_ns, std::int64_t n, F part) const noexcept;
  template <class F> void spans(std::int64_t first, std::int64_t n, F span) const noexcept;
  void note(std::int64_t time_ns, std::int64_t n);

  Kept kept_;
  std::size_t row_bytes_;
  std::vector<std::byte> memory_;  // [channel][samples]
  std::int64_t written_ = 0;
  std::deque<Piece> pieces_;
};

}  // namespace iqd::radio::recall
