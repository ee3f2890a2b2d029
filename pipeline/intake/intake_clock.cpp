// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What time stamps and counts of a driver tell, held against the host's clock: what is missing, what was set, and what
// cannot be.
#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "base/integer.hpp"
#include "pipeline/intake/intake.hpp"

namespace iqd {
namespace {

/// A step of a clock by less cannot be told from samples that are missing.
constexpr std::int64_t kLeastJumpNs = 50'000'000;
/// Earlier than the quickest ones by more, samples cannot have come.
constexpr std::int64_t kEarlyNs = 10'000'000;
/// Where it is not known how quickly samples come, a clock that runs ahead of the time that has passed by more was set.
constexpr std::int64_t kClockSlackNs = 500'000'000;
/// A clock that goes back by no more may be one that trembles.
constexpr std::int64_t kMostJitterNs = 5'000'000;
constexpr int kInStep = 64;
/// A time further from the Unix epoch than the year 2100 is no driver's honest answer. Any two within may be subtracted
/// from each other, and be moved by years.
constexpr std::int64_t kMostTimeNs = 4'102'444'800'000'000'000;

}  // namespace

/// What cannot be true. Where the driver cannot be believed any more it says why.
std::string Intake::doubt(Received& received, std::int64_t most) {
  if (received.event != Received::Event::samples) return {};
  if (received.samples < 0 || received.samples > most)
    return fmt::format("the driver wrote {} samples where {} were asked for", received.samples, most);
  if (received.lost < 0 || received.lost > kMostPosition) {
    if (info_.reconnects) return fmt::format("the driver says that {} samples are missing", received.lost);
    received.lost = 0;
    lost_some(counters_.time_jumps);
  }
  if (received.has_time && (received.time_ns > kMostTimeNs || received.time_ns < -kMostTimeNs)) {
    received.has_time = false;
    counters_.time_jumps.add();
  }
  if (received.samples == 0 && received.lost == 0) received.event = Received::Event::nothing;
  return {};
}

/// How many samples are missing before those received: what the driver says, or what its clock says. A clock that goes
/// back, or further on than the host's, was set: that is counted, and nothing is missing.
std::int64_t Intake::missing_before(Received& received) {
  const bool uncertain = std::exchange(uncertain_, false);
  if (received.lost > 0 || info_.rate_hz <= 0 || !timed_) return received.lost;
  const std::int64_t now = steady_ns();
  if (received.has_time) {
    const std::int64_t late_ns = saturated_sub(received.time_ns, time_of(position_));
    if (std::fabs(static_cast<double>(late_ns) / 1e9 * info_.rate_hz) < 0.5) {
      if (++in_step_ >= kInStep) jitter_ns_ = 0;
      return 0;
    }
    in_step_ = 0;
    if (!uncertain && is_jitter(late_ns)) {
      received.has_time = false;
      return 0;
    }
    if (late_ns > 0 && !was_set(received, late_ns, now)) return samples_in(late_ns);
    note_jump(late_ns);
  }
  return uncertain ? missing_by_host(received, now) : 0;
}

/// Without a clock that holds, the host's tells how long nothing came.
std::int64_t Intake::missing_by_host(const Received& received, std::int64_t now) noexcept {
  counters_.drift.begin_anew();
  arrivals_.forget();
  return std::max<std::int64_t>(1, samples_in(now - last_data_ns_) - received.samples);
}

/// Whether a clock that goes on by `late_ns` was set: had so many samples been lost, those behind them would have come
/// earlier than any did. What was held up on its way comes late, and may say nothing about it.
bool Intake::was_set(const Received& received, std::int64_t late_ns, std::int64_t now) const noexcept {
  if (info_.can_wait || !arrivals_.knows()) return late_ns > now - last_data_ns_ + kClockSlackNs;
  if (late_ns < kLeastJumpNs) return false;
  return arrivals_.early_ns(saturated_add(received.time_ns, ns_of(received.samples)), now) > kEarlyNs;
}

void Intake::note_jump(std::int64_t by_ns) {
  counters_.time_jumps.add();
  if (std::uint64_t more = 0; jump_lines_.allow(more))
    log::warn("{}: its clock jumped by {:.6f} s{}", options_.name, static_cast<double>(by_ns) / 1e9,
              log::more_times(more));
  counters_.drift.begin_anew();
  arrivals_.clock_was_set(by_ns);
}

/// Time stamps may come from a clock that is not the samples': a host's, or one that counts microseconds. Such go back
/// by a little now and then, which the time of samples cannot. From then on those that differ as little tell of no
/// loss, and what they say is followed slowly, until enough of them in a row agree to the sample.
bool Intake::is_jitter(std::int64_t late_ns) noexcept {
  const bool little = late_ns <= jitter_ns_ && late_ns >= -jitter_ns_;
  if (little) {
    time_ns_ = time_of(position_) + late_ns / kInStep;
    time_index_ = position_;
  } else if (late_ns < 0 && late_ns >= -kMostJitterNs) {
    jitter_ns_ = -2 * late_ns;
  }
  return little;
}

/// No further than positions may go; what is beyond is no honest answer, and counts as a jump that lost a sample.
std::int64_t Intake::within_reach(std::int64_t missing) noexcept {
  if (missing <= std::max<std::int64_t>(1, most_position_ - position_)) return missing;
  counters_.time_jumps.add();
  counters_.drift.begin_anew();
  arrivals_.forget();
  return 1;
}

void Intake::set_clock(const Received& received) noexcept {
  time_index_ = position_;
  time_ns_ = received.has_time ? received.time_ns : wall_ns() - ns_of(received.samples);
  timed_ = true;
}

void Intake::watch_clock(SampleIndex end) noexcept {
  if (info_.can_wait || info_.rate_hz <= 0) return;
  const std::int64_t end_ns = time_of(end);
  arrivals_.saw(end_ns, last_data_ns_);
  if (!counters_.drift.saw(end_ns, last_data_ns_)) return;
  const std::int64_t host_clocks_ns = wall_ns() - steady_ns();
  if (info_.time == TimeSource::radio)
    counters_.ahead_s.set(-static_cast<double>(counters_.drift.delay_ns() + host_clocks_ns) / 1e9);
}

/// How long they last; no longer than times reach.
std::int64_t Intake::ns_of(std::int64_t samples) const noexcept {
  constexpr auto kMost = static_cast<double>(kMostTimeNs);
  const double ns = info_.rate_hz > 0 ? static_cast<double>(samples) * 1e9 / info_.rate_hz : 0;
  return ns >= kMost ? kMostTimeNs : ns <= -kMost ? -kMostTimeNs : std::llround(ns);
}

/// How many last so long; no more than there are positions.
std::int64_t Intake::samples_in(std::int64_t ns) const noexcept {
  return std::llround(std::min(static_cast<double>(ns) / 1e9 * info_.rate_hz, static_cast<double>(kMostPosition)));
}

std::int64_t Intake::time_of(SampleIndex sample) const noexcept {
  return std::clamp(time_ns_ + ns_of(sample - time_index_), -kMostTimeNs, kMostTimeNs);
}

}  // namespace iqd
