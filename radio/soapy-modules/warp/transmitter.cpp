// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmitter.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/front_end.hpp"

namespace iqd::warp {
namespace {

constexpr std::uint32_t kWriteAtOnce = 8192;
constexpr std::int64_t kMostWritingNs = 5'000'000'000;
/// Samples that are not to be sent are taken so long before their time, and those of a burst without a limit.
constexpr std::int64_t kAheadNs = 100'000'000;
/// A trigger that leaves later than this after its time is of no use.
constexpr std::int64_t kLatestNs = 1'000'000;
/// Nothing tells that a trigger has arrived; before it is sure to have, the buffers are not disabled.
constexpr std::int64_t kOnTheWayNs = 2'000'000;
/// Nothing wakes up to the microsecond: the last of it is waited for awake.
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
      burst_(chains_.size(), std::vector<std::int16_t>(std::size_t{2} * options.length)) {}

std::int64_t Transmitter::ns_of(std::int64_t samples) const noexcept {
  return std::llround(static_cast<double>(samples) * 1e9 / options_.rate_hz);
}

void Transmitter::start() {
  for (const NodeMask& m : masks_) m.node->ask(Command::tx_mode, {options_.continuous ? kContinuous : kSingle});
  for (const Chain& c : chains_) c.node->ask(Command::transmit_enable, {rf_select(c.number)});
  forget();
  stream_ns_.reset();
  window_ns_ = next_ns_ = 0;
  reports_.clear();
}

/// The burst that was gathered.
void Transmitter::forget() {
  state_ = State::gathering;
  gathered_ = written_ = 0;
  step_ = 0;
  since_ns_ = 0;
  begins_ns_.reset();
}

void Transmitter::stop() {
  trigger_.end_burst();
  on_air_ = false;
  for (const NodeMask& m : masks_) m.node->ask(Command::buffers_disable, {m.buffers});
  for (const NodeMask& m : masks_) m.node->ask(Command::tx_mode, {kSingle});
  for (const Chain& c : chains_) c.node->ask(Command::both_off, {rf_select(c.number)});
}

int Transmitter::write(const Rows& rows, std::uint32_t count, std::optional<std::int64_t> time_ns, bool ends,
                       std::int64_t deadline_ns) {
  if (!advance(deadline_ns)) return 0;
  const bool follows = time_ns && stream_ns_ && std::llabs(*time_ns - *stream_ns_) <= ns_of(1) / 2;
  if (time_ns && gathered_ > 0 && !follows) {
    // Another time begins another burst.
    state_ = State::writing;
    if (!advance(deadline_ns)) return 0;
  }
  if (time_ns) stream_ns_ = time_ns;
  const int skipped = count > 0 ? place(count, deadline_ns) : 0;
  if (skipped < 0) return skipped == kLate ? kLate : 0;
  const auto at = static_cast<std::uint32_t>(skipped);
  const std::uint32_t n = std::min(count - at, options_.length - gathered_);
  for (std::size_t c = 0; c < burst_.size() && n > 0; ++c) rows.copy(c, at, n, &burst_[c][std::size_t{2} * gathered_]);
  gathered_ += n;
  if (stream_ns_) *stream_ns_ += ns_of(at + n);
  const bool last = ends && at + n == count;
  if (gathered_ == options_.length || (last && gathered_ > 0)) state_ = State::writing;
  if (last && gathered_ == 0) report(Report::Kind::sent, wall_ns());
  if (last) stream_ns_.reset();
  advance(deadline_ns);
  return static_cast<int>(at + n);
}

/// Where a burst begins, how many of these samples lie before it: all, as long as it is not time for one. kLate where
/// the time is over, kEarly where it is too far off.
int Transmitter::place(std::uint32_t count, std::int64_t deadline_ns) {
  if (gathered_ > 0) return 0;
  begins_ns_ = stream_ns_;
  if (!stream_ns_) return 0;
  const std::int64_t early_ns = options_.every_ns > 0 ? window_ns_ - *stream_ns_ : 0;
  const double early = static_cast<double>(early_ns) * options_.rate_hz / 1e9;
  const auto skipped = static_cast<std::uint32_t>(std::clamp(std::ceil(early), 0.0, static_cast<double>(count)));
  const std::int64_t begins = *stream_ns_ + ns_of(skipped);
  if (skipped > 0) {
    const std::int64_t wait = begins - kAheadNs - wall_ns();
    sleep_for(std::min(wait, deadline_ns - steady_ns()));
    if (begins - kAheadNs > wall_ns()) return kEarly;
    skipped_ += skipped;
  }
  if (skipped == count) return static_cast<int>(count);
  if (begins < wall_ns()) {
    report(Report::Kind::late, begins);
    return kLate;
  }
  begins_ns_ = begins;
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
  if (since_ns_ == 0) since_ns_ = steady_ns();
  if (on_air_ && !disable(deadline_ns)) return false;
  on_air_ = false;
  for (; step_ < chains_.size(); ++step_, written_ = 0) {
    const Chain& c = chains_[step_];
    while (written_ < gathered_) {
      const std::uint32_t n = std::min(kWriteAtOnce, gathered_ - written_);
      const Node::Part part{written_ == 0, written_ + n == gathered_};
      const auto wrote = c.node->write(buffer_select(c.number), written_, n, &burst_[step_][std::size_t{2} * written_],
                                       deadline_ns, part);
      if (wrote != Node::Write::done) {
        if (steady_ns() - since_ns_ > kMostWritingNs)
          throw std::runtime_error("warp: " + c.node->name() + " does not take what is to be sent");
        if (wrote == Node::Write::not_ready) sleep_for(std::min<std::int64_t>(1'000'000, deadline_ns - steady_ns()));
        return false;
      }
      written_ += n;
    }
  }
  state_ = State::ready;
  step_ = 0;
  return true;
}

/// As late as can be: whatever is armed begins with anybody's trigger.
bool Transmitter::arm(std::int64_t deadline_ns) {
  constexpr std::int64_t kArmNs = 10'000'000;
  const std::int64_t left = begins_ns_ ? *begins_ns_ - wall_ns() : next_ns_ - steady_ns();
  if (left > kArmNs) {
    sleep_for(std::min(left - kArmNs, deadline_ns - steady_ns()));
    if (steady_ns() >= deadline_ns) return false;
  }
  for (const NodeMask& m : masks_)
    if (step_ == 0 && !m.node->recognise(deadline_ns)) return false;  // else it might send at another frequency
  if (!trigger_.begin_burst(deadline_ns)) return false;
  for (; step_ < 2 * masks_.size(); ++step_) {
    const NodeMask& m = masks_[step_ / 2];
    const bool enable = step_ % 2;
    if (!m.node->ask(enable ? Command::tx_buffers_enable : Command::tx_length, {enable ? m.buffers : gathered_},
                     deadline_ns))
      return false;
  }
  step_ = 0;
  state_ = State::armed;
  return true;
}

bool Transmitter::fire(std::int64_t deadline_ns) {
  const auto left = [this] { return begins_ns_ ? *begins_ns_ - wall_ns() : next_ns_ - steady_ns(); };
  if (left() > kAwakeNs) {
    sleep_for(std::min(left() - kAwakeNs, deadline_ns - steady_ns()));
    if (left() > kAwakeNs && steady_ns() >= deadline_ns) return false;
  }
  while (left() > 0) {
  }
  if (begins_ns_ && left() < -kLatestNs) {
    if (!disable(deadline_ns)) return false;
    end(Report::Kind::late, *begins_ns_);
    return true;
  }
  const Shot shot = trigger_.fire_burst(begins_ns_);
  ++bursts_;
  const std::int64_t lasts = ns_of(gathered_);
  over_ns_ = shot.steady_ns + lasts + kOnTheWayNs;
  next_ns_ = shot.steady_ns + options_.every_ns;
  window_ns_ = shot.wall_ns + options_.every_ns;
  if (options_.continuous) {
    on_air_ = true;
    end(Report::Kind::sent, shot.wall_ns + lasts);
  } else {
    begins_ns_ = shot.wall_ns;
    state_ = State::sending;
  }
  return true;
}

bool Transmitter::finish(std::int64_t deadline_ns) {
  const std::int64_t left = over_ns_ - steady_ns();
  sleep_for(std::min(left, deadline_ns - steady_ns()));
  if (steady_ns() < over_ns_ || !disable(deadline_ns)) return false;
  end(Report::Kind::sent, *begins_ns_ + ns_of(gathered_));
  return true;
}

/// A trigger that is another's is not to send it again.
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
