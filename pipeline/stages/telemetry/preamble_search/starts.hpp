// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"
#include "pipeline/stage/positions.hpp"

/// Which candidates are starts: the chain with the largest sum, and what is put where a start is missing. For host and
/// device: one thread goes through the candidates of a block.
namespace iqd::preamble_search {

/// A place where a packet may start. Candidates are in order, and more than half a preamble apart.
struct Candidate {
  std::int64_t n = 0;
  float metric = 0;  // T
  float share = 0;   // U = T + S
};

/// A chain that begins with a candidate.
struct Link {
  double sum = 0;         // the largest one
  std::int32_t next = 0;  // its second candidate; -1: none
};

/// A start.
struct Start {
  std::int64_t n = 0;
  float metric = 0;           // 0: put there by the flywheel
  std::uint8_t flywheel = 0;  // nothing was found there
  std::uint8_t lock = 0;      // starts follow each other at a packet's length
};

/// Kept from block to block. Starts are absolute.
struct Track {
  std::int64_t last = 0;
  std::int32_t run = 0;     // starts in a row at a packet's length, up to kLongestRun; 0: nothing is known
  std::int32_t missed = 0;  // starts in a row that the flywheel put
  std::int32_t locked = 0;
};

inline constexpr std::int32_t kLongestRun = 4;
inline constexpr std::int32_t kRunToLock = 3;
inline constexpr std::int32_t kMostMissed = 3;
inline constexpr double kNextBonus = 0.5;  // for a candidate that follows at a packet's length
inline constexpr double kAsGood = 0.98;    // of the largest sum: the chain that begins first is taken

/// In samples.
struct Spacing {
  std::int64_t samples = 0;  // of a packet
  std::int64_t closest = 0;  // of two starts
  std::int64_t late = 0;     // by which the next start may be early or late

  IQD_HOST_DEVICE bool follows(std::int64_t apart, std::int32_t missed = 0) const noexcept {
    const std::int64_t off = apart - samples;
    const std::int64_t most = late * (missed > 1 ? missed : 1);
    return off >= -most && off <= most;
  }
};

/// Fills the links of all candidates, from the last to the first. Of equal sums, the nearer second one counts.
IQD_HOST_DEVICE inline void link_candidates(const Spacing& spacing, const Candidate* c, std::int32_t count,
                                            Link* links) noexcept {
  std::int32_t open = count;  // from here on, candidates are far enough behind
  Link best{0, -1};           // of them
  for (std::int32_t i = count - 1; i >= 0; --i) {
    for (; open > 0 && c[open - 1].n - c[i].n >= spacing.closest; --open)
      if (links[open - 1].sum >= best.sum) best = {links[open - 1].sum, open - 1};
    Link after = best;
    // At most one candidate is within the closest distance and a packet's length.
    if (open < count && spacing.follows(c[open].n - c[i].n) && links[open].sum + kNextBonus >= best.sum)
      after = {links[open].sum + kNextBonus, open};
    links[i] = {double{c[i].share} + after.sum, after.next};
  }
}

/// The first candidate of the chain to take, -1 if there is none. `last`: the start before them, if `run` is not 0.
IQD_HOST_DEVICE inline std::int32_t first_of_chain(const Spacing& spacing, const Candidate* c, std::int32_t count,
                                                   const Link* links, std::int64_t last, std::int32_t run) noexcept {
  const auto sum_of = [&](std::int32_t i) {
    const std::int64_t apart = c[i].n - last;
    if (run > 0 && apart < spacing.closest) return -1.0;
    return links[i].sum + (run > 0 && spacing.follows(apart) ? kNextBonus * run : 0);
  };
  double largest = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const double sum = sum_of(i);
    if (sum > largest) largest = sum;
  }
  for (std::int32_t i = 0; i < count; ++i)
    if (largest > 0 && sum_of(i) >= kAsGood * largest) return i;
  return -1;
}

/// Goes from start to start. `To` takes each: to(const Start&).
template <class To> class StartWalk {
 public:
  /// Positions count from the first sample that exists, which is `origin`. `track` is changed.
  IQD_HOST_DEVICE StartWalk(const Spacing& spacing, Positions fresh, std::int64_t origin, bool flywheel, Track& track,
                            To& to)
      : spacing_(spacing), fresh_(fresh), origin_(origin), flywheel_(flywheel), track_(track), to_(to) {}

  /// The next start of the chain, and with `none` that there is no other. Those outside the new samples belong to other
  /// blocks, but no missing start is put too close to them; those before the first sample belong to its block.
  IQD_HOST_DEVICE void found(std::int64_t n, float metric) noexcept {
    if (n < fresh_.first && !(n < 0 && fresh_.has(0))) return;
    fill(n);
    if (n >= fresh_.end) return;
    const std::int64_t apart = n + origin_ - track_.last;
    const bool in_row = track_.run > 0 && spacing_.follows(apart, track_.missed);
    if (!in_row) end_lock();
    track_.run = in_row ? track_.run + (track_.run < kLongestRun) : 1;
    track_.last = n + origin_;
    track_.missed = 0;
    if (track_.run >= kRunToLock && !track_.locked) {
      track_.locked = 1;
      ++locks;
    }
    to_({n, metric, 0, static_cast<std::uint8_t>(track_.locked)});
  }
  IQD_HOST_DEVICE void none() noexcept { fill(fresh_.end + spacing_.samples + spacing_.closest); }

  std::int64_t locks = 0;
  std::int64_t losses = 0;

 private:
  /// Puts the starts that are missing before the next one that was found.
  IQD_HOST_DEVICE void fill(std::int64_t found) noexcept {
    while (flywheel_ && track_.locked) {
      const std::int64_t n = track_.last + spacing_.samples - origin_;
      if (n >= fresh_.end || found - n < spacing_.closest) return;
      if (track_.missed == kMostMissed) return end_lock();
      track_.last += spacing_.samples;
      ++track_.missed;
      if (n >= fresh_.first) to_({n, 0, 1, 1});
    }
  }
  IQD_HOST_DEVICE void end_lock() noexcept {
    losses += track_.locked;
    track_.locked = 0;
    track_.run = 0;
    track_.missed = 0;
  }

  Spacing spacing_;
  Positions fresh_;
  std::int64_t origin_;
  bool flywheel_;
  Track& track_;
  To& to_;
};

}  // namespace iqd::preamble_search
