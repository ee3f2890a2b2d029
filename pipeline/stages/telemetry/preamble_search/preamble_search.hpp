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
#include "pipeline/stage/positions.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/soqpsk.hpp"

/// Finds packets by their preamble, without knowing phase, frequency or gain, and cuts them out.
///
///   c(n) = sum over l < period of r(n+l) q*(l)          q: one period of the preamble, its energy 1
///   L(n) = sum over m < repeats of |c(n + m period)|^2
///   T(n) = L(n) / (sum over l < span of |r(n+l)|^2)     span = period repeats; T is 0 … 1
///
/// A peak is an n with T(n) >= threshold and L(n) the largest within half a packet; of equal ones the first. Among n
/// and its neighbours one and two periods away, the packet starts where the sync word fits best: the largest sum of
/// |correlation|^2 over blocks of one period; of equal ones the first. All periods back to n - span that lie before the
/// first sample are tried as well.
///
/// r            cf32 or sc16 [n + halo]
/// windows      cf32 [packet][guard + samples + guard]; zeros before the stream's first sample
/// start        i64 [packet]
/// metric       f32 [packet]: T(peak)
/// correlation  f32 [n]: T(n), 0 where fewer than span samples follow
/// events       i64 [event]: found, cut, not_finite, crowded
///
/// A packet belongs to the block whose new samples contain its start. It is `cut` if it starts before the stream's
/// first sample or its window ends behind the last one; `not_finite` if its window holds a NaN or an infinity, or an
/// energy outside 1e-30 … 1e30; `crowded` if there is no room for it. An L that is not finite counts as 0, and T is 0
/// where the energy is 0 or not finite. Nothing is kept between calls; the result is the same bits however the stream
/// is cut.
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

/// Limits of a window's energy.
inline constexpr float kLeastEnergy = 1e-30f;
inline constexpr float kMostEnergy = 1e30f;

/// What the search looks for, and how far around a start it has to look; all in samples.
struct Pattern {
  explicit Pattern(const Config& config);

  static constexpr std::int64_t kGuard = PacketFormat::kGuard;
  float threshold;
  bool refine;
  std::int64_t period;
  std::int64_t repeats;
  std::int64_t span;            // of the preamble
  std::int64_t samples;         // of a packet
  std::int64_t half;            // around a peak, which is the largest within it
  std::int64_t steps;           // periods to each side at which the sync word is tried
  std::vector<cf32> preamble;   // q
  std::vector<cf32> sync_word;  // begins `span` behind the start

  std::int64_t reach() const noexcept { return steps * period; }
  std::int64_t window() const noexcept { return samples + 2 * kGuard; }
  std::int64_t past() const noexcept;
  std::int64_t future() const noexcept;
  /// Room for packets in a block with that many new samples.
  std::int64_t most_packets(std::int64_t most_new) const noexcept { return (most_new + samples - 1) / samples + 2; }
  /// Where L is needed to find the packets that start within `fresh`, of `length` existing samples.
  Positions searched(std::int64_t length, Positions fresh) const noexcept {
    const std::int64_t around = reach() + half;
    return {std::max<std::int64_t>(0, fresh.first - around), std::min(length - span + 1, fresh.end + around)};
  }
  /// Echoes may make a peak some samples early. Up to that far before the first sample, it is a start at the first
  /// sample.
  static constexpr std::int64_t kEarly = 4;
  IQD_HOST_DEVICE static constexpr std::int64_t settled(std::int64_t start) noexcept {
    return start < 0 && start >= -kEarly ? 0 : start;
  }
  /// Where the peaks of packets that start within `fresh` may lie.
  Positions peaks(Positions fresh) const noexcept { return {fresh.first - reach(), fresh.end + reach()}; }
};

/// Where results are written. Positions count from the first sample that exists.
struct Output {
  View<cf32, 2> windows;
  std::int64_t* start;
  float* metric;
  float* correlation;    // null if not wanted
  Positions correlated;  // range of T to write
  std::array<std::int64_t, kEvents.size()> events{};
};

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new);

/// x: all samples that exist, with up to `past` and `future` around the new ones. Sample: cf32 or sc16.
template <class Sample> void run_cpu(const Pattern& pattern, View<const Sample, 1> x, Positions fresh,
                                     std::byte* scratch, std::int64_t most_new, Output& out) noexcept;

/// The stage's outputs, in order.
enum Port : std::uint8_t { kWindows, kStart, kMetric, kCorrelation, kTally };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pattern& pattern, std::int64_t most_new, Element element);

}  // namespace iqd::preamble_search
