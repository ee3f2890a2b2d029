// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/positions.hpp"
#include "pipeline/stages/telemetry/preamble_search/starts.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/soqpsk.hpp"

/// Finds packets by their preamble and sync word, without knowing phase, frequency or gain, and cuts them out.
///
///   c(n) = sum over l < period of r(n+l) q*(l)          q: one period of the preamble, its energy 1
///   L(n) = sum over m < repeats of |c(n + m period)|^2
///   T(n) = L(n) / (sum over l < span of |r(n+l)|^2)     span = period repeats; T is 0 … 1
///   S(n): the same for the sync word behind the preamble, in blocks of one period; the last may be shorter
///
/// A candidate is an n with T(n) >= threshold and S(n) >= 0.2 (or 0.8 threshold, if that is less), where U = T + S is the largest of such n within half a
/// preamble; of equal ones the first. The starts are the candidates of the chain with the largest sum of U, in which
/// none is closer to the next than a packet less a quarter of the preamble, and each that follows at a packet's length,
/// to within 2 bits, counts 0.5 more. Of chains within 2 % of the best, the one that begins first is taken: a copy of
/// the pilot in each payload makes a chain as good as the packets', but a later one.
///
/// The chain goes through the candidates of the block and of a packet's length on both sides; with `chain: carry`,
/// through those of the block and behind it, after the last start, which counts 0.5 for each of up to four starts in a
/// row. With `flywheel`, three starts in a row are a lock; then up to three missing ones in a row are put where they
/// are due.
///
/// r            cf32 or sc16 [n + halo]
/// windows      cf32 [packet][guard + samples + guard]; zeros before the stream's first sample
/// start        i64 [packet]
/// metric       f32 [packet]: T(start); 0 for a start that was put
/// correlation  f32 [n]: T(n), 0 where fewer than span samples follow
/// events       i64 [event]: kEvents
/// flywheel     u8 [packet]: 1 for a start that was put; none without `flywheel`
/// lock         f32 [packet]: 1 in lock; none without `flywheel`
///
/// A packet belongs to the block whose new samples contain its start. It is `cut` if it starts before the stream's
/// first sample or its window ends behind the last one; `not_finite` if its window holds a NaN or an infinity, or an
/// energy outside 1e-30 … 1e30; `crowded` if there is no room for it. A T or an S whose parts are not finite, or whose
/// energy is 0, is 0. With `chain: block` and without `flywheel`, nothing is kept between calls.
namespace iqd::preamble_search {

enum class Chain : std::uint8_t {
  block,  // of a block and its surroundings
  carry,  // continues from the last start of the block before
};
inline std::span<const std::string_view> enum_names(Chain) {
  static constexpr std::string_view names[] = {"block", "carry"};
  return names;
}

struct Config {
  double threshold = 0.25;
  Chain chain = Chain::block;
  bool flywheel = false;
  soqpsk::Template form = soqpsk::Template::exact;
  PacketFormat format;

  void fields(FieldVisitor& visitor);
};

inline constexpr std::array<std::string_view, 7> kEvents{"found",    "cut",    "not_finite", "crowded",
                                                         "flywheel", "locked", "lost_lock"};
enum Event : std::uint8_t { kFound, kCut, kNotFinite, kCrowded, kFlywheel, kLocked, kLostLock };

/// Least S of a candidate: at the default threshold and above it, and as a part of lower ones.
inline constexpr double kLeastShare = 0.2;
inline constexpr double kShareOfThreshold = 0.8;

/// Limits of a window's energy.
inline constexpr float kLeastEnergy = 1e-30f;
inline constexpr float kMostEnergy = 1e30f;

/// What the search looks for, and how far around a start it has to look; all in samples.
struct Pattern {
  explicit Pattern(const Config& config);

  static constexpr std::int64_t kGuard = PacketFormat::kGuard;
  float threshold;    // least T
  float least_share;  // least S
  bool carry;
  bool flywheel;
  std::int64_t period;
  std::int64_t repeats;
  std::int64_t span;            // of the preamble
  std::int64_t near;            // around a candidate, which is the best within it
  Spacing spacing;              // of starts
  std::vector<cf32> preamble;   // q
  std::vector<cf32> sync_word;  // begins `span` behind the start

  std::int64_t word() const noexcept { return static_cast<std::int64_t>(sync_word.size()); }
  std::int64_t window() const noexcept { return spacing.samples + 2 * kGuard; }
  bool keeps_track() const noexcept { return carry || flywheel; }
  std::int64_t past() const noexcept;
  std::int64_t future() const noexcept;
  /// Room for packets in a block with that many new samples.
  std::int64_t most_packets(std::int64_t most_new) const noexcept {
    return (most_new + spacing.samples - 1) / spacing.samples + 2;
  }
  /// Starts before the first sample are found while a period of their preamble is left: so far before it.
  std::int64_t before() const noexcept { return span - period; }
  /// Where the candidates lie that the chain goes through.
  Positions candidates(Positions fresh) const noexcept {
    return {carry ? fresh.first == 0 ? -before() : fresh.first : fresh.first - spacing.samples,
            fresh.end + spacing.samples};
  }
  /// Where U is needed for them, of `length` existing samples.
  Positions searched(std::int64_t length, Positions fresh) const noexcept {
    const Positions all = candidates(fresh);
    return {std::max(-before(), all.first - near), std::min(length - span - word() + 1, all.end + near)};
  }
  /// Most candidates of a block: they are more than `near` apart.
  std::int64_t most_candidates(std::int64_t most_new) const noexcept {
    return (most_new + 2 * spacing.samples + before()) / (near + 1) + 1;
  }
  /// Echoes may make a start some samples early. Up to that far before the first sample, it is a start at the first
  /// sample.
  static constexpr std::int64_t kEarly = 4;
  IQD_HOST_DEVICE static constexpr std::int64_t settled(std::int64_t start) noexcept {
    return start < 0 && start >= -kEarly ? 0 : start;
  }
};

/// Where results are written. Positions count from the first sample that exists.
struct Output {
  View<cf32, 2> windows;
  std::int64_t* start;
  float* metric;
  float* correlation;    // null if not wanted
  Positions correlated;  // range of T to write
  std::uint8_t* flywheel = nullptr;
  float* lock = nullptr;
  std::array<std::int64_t, kEvents.size()> events{};
};

std::size_t scratch_bytes(const Pattern& pattern, std::int64_t most_new);

/// x: all samples that exist, with up to `past` and `future` around the new ones; the first is at `origin`. Sample: cf32
/// or sc16. `track` is changed; it is fresh for each block unless the pattern keeps track.
template <class Sample> void run_cpu(const Pattern& pattern, View<const Sample, 1> x, Positions fresh,
                                     std::int64_t origin, Track& track, std::byte* scratch, std::int64_t most_new,
                                     Output& out) noexcept;

/// The stage's outputs, in order.
enum Port : std::uint8_t { kWindows, kStart, kMetric, kCorrelation, kTally, kPut, kLock };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pattern& pattern, std::int64_t most_new, Element element);

}  // namespace iqd::preamble_search
