// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/soqpsk.hpp"

/// Finds packets by their preamble, without knowing phase, frequency or gain, and cuts them out.
///
///   c(n) = sum over l < period of r(n+l) q*(l)          q: one period of the preamble, its energy 1
///   L(n) = sum over m < repeats of |c(n + m period)|^2
///   T(n) = L(n) / (sum over l < span of |r(n+l)|^2)     span = period repeats; T is 0 … 1
///
/// A peak is an n with T(n) >= threshold and L(n) the largest within half a packet, of equal ones the first. Of n, one
/// and two periods before and behind it, the packet starts where the sync word fits best: that is the largest sum of
/// |correlation|^2 over blocks of one period, of equal ones the first. All periods back to n - span that lie before the
/// first sample are tried as well.
///
/// r            cf32 or sc16 [n + halo]
/// windows      cf32 [packet][guard + samples + guard]; zeros before the first sample of all
/// start        i64 [packet]
/// metric       f32 [packet]: T(peak)
/// correlation  f32 [n]: T(n), 0 where fewer than span samples follow
/// events       i64 [event]: found, cut, not_finite, crowded
///
/// A packet belongs to the block in whose new part it starts. Where it starts before the first sample of all,
/// or its window has an end that does not exist, it is `cut`; where that holds something not finite, or has an energy
/// outside 1e-30 … 1e30, it is `not_finite`; what is more than there is room for is `crowded`. An L that is not finite
/// counts as 0, and T is 0 where the energy is 0 or not finite. Keeps nothing between calls; the same bits however a
/// stream is cut.
namespace iqd::preamble_search {

struct Config {
  double threshold = 0.25;
  bool refine = true;
  soqpsk::Template form = soqpsk::Template::exact;
  PacketFormat format;

  void fields(FieldVisitor& visitor);
};

inline constexpr std::array<std::string_view, 4> kEvents{"found", "cut", "not_finite", "crowded"};
enum Event : std::uint8_t { kFound, kCut, kNotFinite, kCrowded };

/// The energies that a window may have.
inline constexpr float kLeastEnergy = 1e-30f;
inline constexpr float kMostEnergy = 1e30f;

/// From `first` on, before `end`.
struct Range {
  std::int64_t first = 0;
  std::int64_t end = 0;

  constexpr std::int64_t length() const noexcept { return end > first ? end - first : 0; }
  IQD_HOST_DEVICE constexpr bool holds(std::int64_t n) const noexcept { return n >= first && n < end; }
};

/// What is searched for, and how far around it one has to look; all in samples.
struct Pattern {
  explicit Pattern(const Config& config);

  static constexpr std::int64_t kGuard = PacketFormat::kGuard;
  float threshold;
  bool refine;
  std::int64_t period;
  std::int64_t repeats;
  std::int64_t span;            // of the preamble
  std::int64_t samples;         // of a packet
  std::int64_t half;            // within which a peak is the largest
  std::int64_t steps;           // periods to each side that the sync word is tried at
  std::vector<cf32> preamble;   // q
  std::vector<cf32> sync_word;  // begins `span` behind the start

  std::int64_t reach() const noexcept { return steps * period; }
  std::int64_t window() const noexcept { return samples + 2 * kGuard; }
  std::int64_t past() const noexcept;
  std::int64_t future() const noexcept;
  /// The most packets that a block with so many new samples is expected to have.
  std::int64_t most_packets(std::int64_t most_new) const noexcept { return (most_new + samples - 1) / samples + 2; }
  /// Where L has to be known to find the packets that start within `fresh`, of so many samples that exist.
  Range searched(std::int64_t length, Range fresh) const noexcept {
    const std::int64_t around = reach() + half;
    return {std::max<std::int64_t>(0, fresh.first - around), std::min(length - span + 1, fresh.end + around)};
  }
  /// Echoes may move a peak some samples to the front. That far before the first sample it is a start there.
  static constexpr std::int64_t kEarly = 4;
  IQD_HOST_DEVICE static constexpr std::int64_t settled(std::int64_t start) noexcept {
    return start < 0 && start >= -kEarly ? 0 : start;
  }
  /// Where a peak may lie whose packet starts within `fresh`.
  Range peaks(Range fresh) const noexcept { return {fresh.first - reach(), fresh.end + reach()}; }
};

/// Where results go. Positions count from the first sample that exists.
struct Output {
  View<cf32, 2> windows;
  std::int64_t* start;
  float* metric;
  float* correlation;  // null: not wanted
  Range correlated;    // which T to write
  std::array<std::int64_t, kEvents.size()> events{};
};

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new);

/// x: all samples that exist, `past` and `future` around the new ones as far as they do. Sample: cf32 or sc16.
template <class Sample> void run_cpu(const Pattern& pattern, View<const Sample, 1> x, Range fresh, std::byte* scratch,
                                     std::int64_t most_new, Output& out) noexcept;

/// The stage's outputs, in order.
enum Port : std::uint8_t { kWindows, kStart, kMetric, kCorrelation, kTally };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pattern& pattern, std::int64_t most_new, Element element);

}  // namespace iqd::preamble_search
