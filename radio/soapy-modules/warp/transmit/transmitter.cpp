// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/transmitter.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {
namespace {

/// Limits how early samples are taken that will be skipped; those of a burst are taken without limit.
constexpr std::int64_t kAheadNs = 100'000'000;
/// A trigger that leaves later than this after its time is useless.
constexpr std::int64_t kLatestNs = 1'000'000;
/// Nothing confirms a trigger, so buffers stay enabled until it must have arrived.
constexpr std::int64_t kOnTheWayNs = 2'000'000;
/// Sleeping is not precise to the microsecond, so the last part is a busy wait.
constexpr std::int64_t kAwakeNs = 200'000;
constexpr std::size_t kMostReports = 64;
constexpr int kEarly = -2;

void sleep_for(std::int64_t ns) {
  if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

}  // namespace

Transmitter::Transmitter(Trigger& trigger, std::vector<Chain> chains, const Options& options)
    : trigger_(trigger),
      chains_(std::move(chains)),
      masks_(masks_of(chains_)),
      options_(options),
      burst_(chains_.size(), options.length),
      schedule_(options.every_ns, options.rate_hz),
      writer_(chains_) {}

void Transmitter::start() {
  for (const NodeMask& m : masks_) m.node->ask(Command::tx_mode, {options_.continuous ? kContinuous : kSingle});
  for (const Chain& c : chains_) c.node->ask(Command::transmit_enable, {rf_select(c.number)});
  forget();
  schedule_.clear();
  reports_.clear();
}

/// Forgets the burst that was gathered.
void Transmitter::forget() {
  state_ = State::gathering;
  burst_.clear();
  writer_.clear();
  step_ = 0;
  schedule_.begin_at({});
}

void Transmitter::stop() {
  trigger_.end_burst();
  on_air_ = false;
  for (const NodeMask& m : masks_) m.node->ask(Command::buffers_disable, {m.buffers});
  for (const NodeMask& m : masks_) m.node->ask(Command::tx_mode, {kSingle});
  for (const Chain& c : chains_) c.node->ask(Command::both_off, {rf_select(c.number)});
}

int Transmitter::write(const Burst::Rows& rows, std::uint32_t count, std::optional<std::int64_t> time_ns, bool ends,
                       std::int64_t deadline_ns) {
  if (!advance(deadline_ns)) return 0;
  if (time_ns && burst_.size() > 0 && !schedule_.continues(*time_ns)) {
    // A new time starts a new burst.
    state_ = State::writing;
    if (!advance(deadline_ns)) return 0;
  }
  if (time_ns) schedule_.set_time(*time_ns);
  const int skipped = count > 0 ? place(count, deadline_ns) : 0;
  if (skipped < 0) return skipped == kLate ? kLate : 0;
  const auto at = static_cast<std::uint32_t>(skipped);
  const std::uint32_t n = std::min(count - at, burst_.room());
  burst_.append(rows, at, n);
  schedule_.pass(at + n);
  const bool last = ends && at + n == count;
  if (burst_.room() == 0 || (last && burst_.size() > 0)) state_ = State::writing;
  if (last && burst_.size() == 0) report(Report::Kind::sent, wall_ns());
  if (last) schedule_.end_stream();
  advance(deadline_ns);
  return static_cast<int>(at + n);
}

/// Returns how many of these samples lie before the next burst: all of them while its start is still ahead. kLate: the
/// time has passed; kEarly: it is too far ahead.
int Transmitter::place(std::uint32_t count, std::int64_t deadline_ns) {
  if (burst_.size() > 0) return 0;
  const auto [skipped, begins] = schedule_.next_start(count);
  schedule_.begin_at(begins);
  if (!begins) return 0;
  if (skipped > 0) {
    const std::int64_t wait = *begins - kAheadNs - wall_ns();
    sleep_for(std::min(wait, deadline_ns - steady_ns()));
    if (*begins - kAheadNs > wall_ns()) return kEarly;
    skipped_ += skipped;
  }
  if (skipped == count) return static_cast<int>(count);
  if (*begins < wall_ns()) {
    report(Report::Kind::late, *begins);
    return kLate;
  }
  return static_cast<int>(skipped);
}

bool Transmitter::advance(std::int64_t deadline_ns) {
  for (;;) {
    switch (state_) {
      case State::gathering: return true;
      case State::writing:
        if (!write_out(deadline_ns)) return false;
        break;
      case State::ready:
        if (!arm(deadline_ns)) return false;
        break;
      case State::armed:
        if (!fire(deadline_ns)) return false;
        break;
      case State::sending:
        if (!finish(deadline_ns)) return false;
        break;
    }
  }
}

bool Transmitter::write_out(std::int64_t deadline_ns) {
  writer_.start_clock();
  if (on_air_ && !disable(deadline_ns)) return false;
  on_air_ = false;
  if (!writer_.write(burst_, deadline_ns)) return false;
  state_ = State::ready;
  return true;
}

/// Arms as late as possible: anybody's trigger starts whatever is armed.
bool Transmitter::arm(std::int64_t deadline_ns) {
  constexpr std::int64_t kArmNs = 10'000'000;
  const std::int64_t left = schedule_.left_ns();
  if (left > kArmNs) {
    sleep_for(std::min(left - kArmNs, deadline_ns - steady_ns()));
    if (steady_ns() >= deadline_ns) return false;
  }
  for (const NodeMask& m : masks_)
    if (step_ == 0 && !m.node->recognise(deadline_ns)) return false;  // otherwise it might send at another frequency
  if (!trigger_.begin_burst(deadline_ns)) return false;
  for (; step_ < 2 * masks_.size(); ++step_) {
    const NodeMask& m = masks_[step_ / 2];
    const bool enable = step_ % 2;
    if (!m.node->ask(enable ? Command::tx_buffers_enable : Command::tx_length, {enable ? m.buffers : burst_.size()},
                     deadline_ns))
      return false;
  }
  step_ = 0;
  state_ = State::armed;
  return true;
}

bool Transmitter::fire(std::int64_t deadline_ns) {
  if (schedule_.left_ns() > kAwakeNs) {
    sleep_for(std::min(schedule_.left_ns() - kAwakeNs, deadline_ns - steady_ns()));
    if (schedule_.left_ns() > kAwakeNs && steady_ns() >= deadline_ns) return false;
  }
  while (schedule_.left_ns() > 0) {
  }
  const std::optional<std::int64_t> begins = schedule_.begins_ns();
  if (begins && schedule_.left_ns() < -kLatestNs) {
    if (!disable(deadline_ns)) return false;
    end(Report::Kind::late, *begins);
    return true;
  }
  const Shot shot = trigger_.fire_burst(begins);
  ++bursts_;
  const std::int64_t lasts = schedule_.ns_of(burst_.size());
  over_ns_ = shot.steady_ns + lasts + kOnTheWayNs;
  schedule_.began(shot);
  if (options_.continuous) {
    on_air_ = true;
    end(Report::Kind::sent, shot.wall_ns + lasts);
  } else {
    state_ = State::sending;
  }
  return true;
}

bool Transmitter::finish(std::int64_t deadline_ns) {
  const std::int64_t left = over_ns_ - steady_ns();
  sleep_for(std::min(left, deadline_ns - steady_ns()));
  if (steady_ns() < over_ns_ || !disable(deadline_ns)) return false;
  end(Report::Kind::sent, *schedule_.begins_ns() + schedule_.ns_of(burst_.size()));
  return true;
}

/// So that another trigger does not send the burst again.
bool Transmitter::disable(std::int64_t deadline_ns) {
  for (const NodeMask& m : masks_)
    if (!m.node->ask(Command::buffers_disable, {m.buffers}, deadline_ns)) return false;
  return true;
}

void Transmitter::end(Report::Kind kind, std::int64_t time_ns) {
  trigger_.end_burst();
  report(kind, time_ns);
  forget();
}

void Transmitter::report(Report::Kind kind, std::int64_t time_ns) {
  reports_.push_back({kind, time_ns});
  if (reports_.size() > kMostReports) reports_.pop_front();
}

std::optional<Report> Transmitter::next_report() {
  if (reports_.empty()) return {};
  const Report report = reports_.front();
  reports_.pop_front();
  return report;
}

}  // namespace iqd::warp
