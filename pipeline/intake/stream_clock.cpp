// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/stream_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "base/integer.hpp"

namespace iqd {
namespace {

/// A smaller step of a clock looks like missing samples.
constexpr std::int64_t kLeastJumpNs = 50'000'000;
/// Samples cannot come more than this earlier than the quickest ones.
constexpr std::int64_t kEarlyNs = 10'000'000;
/// Without a quickest arrival to compare with, a clock that is further ahead of the elapsed time was set.
constexpr std::int64_t kClockSlackNs = 500'000'000;
/// A clock that goes back by at most this may jitter.
constexpr std::int64_t kMostJitterNs = 5'000'000;
constexpr int kInStep = 64;

}  // namespace

StreamClock::StreamClock(std::string name, const StreamInfo& info, Counters& counters)
    : name_(std::move(name)), info_(info), durations_(info.rate_hz), counters_(counters) {}

std::string StreamClock::verify(Received& received, std::int64_t most) {
  if (received.event != Received::Event::samples) return {};
  if (received.samples < 0 || received.samples > most)
    return fmt::format("the driver returned {} samples; {} were requested", received.samples, most);
  if (received.lost < 0 || received.lost > kMostPosition) {
    if (info_.reconnects) return fmt::format("the driver reports {} missing samples", received.lost);
    received.lost = 0;
    counters_.time_jumps.add();
    expect_loss();
  }
  if (received.has_time && (received.time_ns > SampleTime::kMostNs || received.time_ns < -SampleTime::kMostNs)) {
    received.has_time = false;
    counters_.time_jumps.add();
  }
  if (received.samples == 0 && received.lost == 0) received.event = Received::Event::nothing;
  return {};
}

std::int64_t StreamClock::missing_before(Received& received, SampleIndex position, std::int64_t now_ns,
                                         std::int64_t last_data_ns) {
  const std::int64_t missing = missing_by_stamp(received, position, now_ns, last_data_ns);
  if (missing <= std::max<std::int64_t>(1, most_position_ - position)) return missing;
  counters_.time_jumps.add();
  forget_arrivals();
  return 1;
}

std::int64_t StreamClock::missing_by_stamp(Received& received, SampleIndex position, std::int64_t now_ns,
                                           std::int64_t last_data_ns) {
  const bool uncertain = std::exchange(uncertain_, false);
  if (received.lost > 0 || !durations_.is_known() || !timed_) return received.lost;
  if (received.has_time) {
    const std::int64_t ahead_ns = saturated_sub(received.time_ns, time_of(position));
    if (std::fabs(durations_.samples_of(ahead_ns)) < 0.5) {
      if (++in_step_ >= kInStep) jitter_ns_ = 0;
      return 0;
    }
    in_step_ = 0;
    if (!uncertain && is_jitter(ahead_ns, position)) {
      received.has_time = false;
      return 0;
    }
    if (ahead_ns > 0 && !was_set(received, ahead_ns, now_ns, last_data_ns)) return durations_.samples_in(ahead_ns);
    note_jump(ahead_ns);
  }
  return uncertain ? missing_by_host(received, now_ns - last_data_ns) : 0;
}

/// If the radio's clock is of no help, the host's shows how long nothing came.
std::int64_t StreamClock::missing_by_host(const Received& received, std::int64_t idle_ns) noexcept {
  forget_arrivals();
  return std::max<std::int64_t>(1, durations_.samples_in(idle_ns) - received.samples);
}

/// If that many samples had been lost, the ones after them would have come earlier than any so far. Samples that were
/// delayed come late, and prove nothing.
bool StreamClock::was_set(const Received& received, std::int64_t ahead_ns, std::int64_t now_ns,
                          std::int64_t last_data_ns) const noexcept {
  if (info_.can_wait || !arrivals_.knows()) return ahead_ns > now_ns - last_data_ns + kClockSlackNs;
  if (ahead_ns < kLeastJumpNs) return false;
  return arrivals_.early_ns(saturated_add(received.time_ns, durations_.ns_of(received.samples)), now_ns) > kEarlyNs;
}

/// Time stamps may come from a clock other than the sample clock: the host's, or one that counts microseconds. Such a
/// clock sometimes goes back a little, which the sample clock cannot. From then on, stamps with as small a difference
/// report no loss and are followed slowly, until enough consecutive ones agree to the sample.
bool StreamClock::is_jitter(std::int64_t ahead_ns, SampleIndex position) noexcept {
  const bool little = ahead_ns <= jitter_ns_ && ahead_ns >= -jitter_ns_;
  if (little) {
    time_ns_ = time_of(position) + ahead_ns / kInStep;
    time_index_ = position;
  } else if (ahead_ns < 0 && ahead_ns >= -kMostJitterNs) {
    jitter_ns_ = -2 * ahead_ns;
  }
  return little;
}

void StreamClock::note_jump(std::int64_t by_ns) {
  counters_.time_jumps.add();
  if (std::uint64_t more = 0; jump_lines_.allow(more))
    log::warn("{}: its clock jumped by {:.6f} s{}", name_, static_cast<double>(by_ns) / 1e9, log::more_times(more));
  counters_.drift.begin_anew();
  arrivals_.clock_was_set(by_ns);
}

void StreamClock::forget_arrivals() noexcept {
  counters_.drift.begin_anew();
  arrivals_.forget();
}

void StreamClock::arrived(const Received& received, SampleIndex position, std::int64_t now_ns) noexcept {
  if (received.has_time || !timed_) {
    const bool has_origin = received.has_time && received.since > 0;
    time_index_ = position - (has_origin ? received.since : 0);
    time_ns_ = has_origin          ? received.since_ns
               : received.has_time ? received.time_ns
                                   : wall_ns() - durations_.ns_of(received.samples);
    timed_ = true;
  }
  if (info_.can_wait || !durations_.is_known()) return;
  const std::int64_t end_ns = time_of(position + received.samples);
  arrivals_.saw(end_ns, now_ns);
  if (!counters_.drift.saw(end_ns, now_ns)) return;
  const std::int64_t host_clocks_ns = wall_ns() - steady_ns();
  if (info_.time == TimeSource::radio)
    counters_.ahead_s.set(-static_cast<double>(counters_.drift.delay_ns() + host_clocks_ns) / 1e9);
}

void StreamClock::end_piece() noexcept {
  timed_ = false;
  forget_arrivals();
}

void StreamClock::reopened(TimeSource time) noexcept {
  info_.time = time;
  forget_arrivals();
  expect_loss();
}

std::int64_t StreamClock::time_of(SampleIndex sample) const noexcept {
  return std::clamp(time_ns_ + durations_.ns_of(sample - time_index_), -SampleTime::kMostNs, SampleTime::kMostNs);
}

SampleIndex StreamClock::first_after(std::optional<std::int64_t> time_ns, SampleIndex position,
                                     std::int64_t idle_ns) const noexcept {
  constexpr std::int64_t kMostAheadNs = 10'000'000'000;
  if (!durations_.is_known() || !timed_) return position;
  std::int64_t ahead_ns = idle_ns;
  if (time_ns && __builtin_sub_overflow(*time_ns, time_of(position), &ahead_ns)) ahead_ns = 0;
  const double samples = durations_.samples_of(std::clamp<std::int64_t>(ahead_ns, 0, kMostAheadNs));
  return position + static_cast<SampleIndex>(std::ceil(samples));
}

}  // namespace iqd
