// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/receive/receiver.hpp"

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {
namespace {

/// A node that is still not ready so long after the end of a capture never got its trigger.
constexpr std::int64_t kLateNs = 250'000'000;
constexpr int kMostFailures = 10;

bool wait_until(std::int64_t ns, std::int64_t deadline_ns) {
  const std::int64_t left = std::min(ns, deadline_ns) - steady_ns();
  if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
  return steady_ns() >= ns;
}

std::int64_t ns_of(double samples, double rate_hz) {
  return std::llround(samples * 1e9 / rate_hz);
}

}  // namespace

Receiver::Receiver(Trigger& trigger, std::vector<Chain> chains, const Options& options)
    : trigger_(trigger),
      chains_(std::move(chains)),
      masks_(masks_of(chains_)),
      options_(options),
      pieces_(chains_.size(), options.length),
      ids_(chains_.size()) {}

void Receiver::start() {
  for (const NodeMask& m : masks_) m.node->ask(Command::rx_length, {options_.length});
  for (const Chain& c : chains_) c.node->ask(Command::receive_enable, {rf_select(c.number)});
  state_ = State::idle;
  next_ns_ = 0;
  pieces_.drop();
}

void Receiver::stop() {
  trigger_.end_capture();
  for (const NodeMask& m : masks_) m.node->ask(Command::buffers_disable, {m.buffers});
  for (const Chain& c : chains_) c.node->ask(Command::both_off, {rf_select(c.number)});
}

Receiver::Event Receiver::advance(std::int64_t deadline_ns) {
  while (available() == 0) {
    switch (state_) {
      case State::idle:
        if (!wait_until(next_ns_, deadline_ns)) return Event::nothing;
        step_ = 0;
        state_ = State::arming;
        break;
      case State::arming:
        if (!arm(deadline_ns)) return Event::nothing;
        break;
      case State::armed:
        if (!begin(deadline_ns)) return Event::nothing;
        break;
      case State::running:
        if (!wait_until(ready_ns(), deadline_ns)) return Event::nothing;
        pieces_.rewind();
        ids_.begin();
        state_ = State::reading;
        next_piece();
        break;
      case State::reading:
        if (const Event event = read(deadline_ns); event != Event::samples) return event;
        break;
    }
  }
  return Event::samples;
}

bool Receiver::arm(std::int64_t deadline_ns) {
  if (doubtful_ && !recognise(deadline_ns)) return false;
  for (; step_ < masks_.size(); ++step_)
    if (!masks_[step_].node->ask(Command::rx_buffers_enable, {masks_[step_].buffers}, deadline_ns)) return false;
  if (options_.with_bursts) trigger_.await_burst();
  state_ = State::armed;
  return true;
}

bool Receiver::begin(std::int64_t deadline_ns) {
  if (!options_.with_bursts) {
    if (!trigger_.begin_capture(deadline_ns)) return false;
    shot_ = trigger_.fire();
  } else if (const auto shot = trigger_.burst(deadline_ns)) {
    shot_ = *shot;
  } else {
    return false;
  }
  next_ns_ = shot_.steady_ns + options_.every_ns;
  state_ = State::running;
  return true;
}

void Receiver::next_piece() {
  pieces_.begin(chains_);
  step_ = 0;
}

/// Fetches a piece of all chains. Returns `samples` if a piece is available or another state has work to do.
Receiver::Event Receiver::read(std::int64_t deadline_ns) {
  using Outcome = Node::Read::Outcome;
  if (!pieces_.at_start() && step_ == chains_.size()) next_piece();
  for (; step_ < chains_.size(); ++step_) {
    const Node::Read got = chains_[step_].node->read(pieces_[step_], ids_[step_], deadline_ns);
    switch (got.outcome) {
      case Outcome::later: return Event::nothing;
      case Outcome::not_ready:
        if (steady_ns() > ready_ns() + kLateNs) return give_up();
        return wait_until(steady_ns() + got.wait_ns, deadline_ns) ? Event::samples : Event::nothing;
      case Outcome::other_capture: return give_up();
      case Outcome::failed:
        if (++failures_ > kMostFailures)
          throw std::runtime_error("warp: " + chains_[step_].node->name() + " cannot deliver its capture");
        return give_up();
      case Outcome::whole: break;
    }
    if (pieces_.at_start() && is_repeated(step_)) return give_up();
  }
  if (pieces_.at_start() && !recognise(deadline_ns)) return Event::nothing;
  failures_ = 0;
  pieces_.finish();
  if (!at_end()) return Event::samples;
  trigger_.end_capture();
  ids_.accept();
  ++captures_;
  state_ = State::idle;
  return Event::samples;
}

/// A restarted node answers as before, but receives at another frequency.
bool Receiver::recognise(std::int64_t deadline_ns) {
  for (const NodeMask& m : masks_)
    if (!m.node->recognise(deadline_ns)) return false;
  doubtful_ = false;
  return true;
}

/// Whether a channel has the previous capture again, because the trigger was lost.
bool Receiver::is_repeated(std::size_t channel) {
  const CaptureIds::Verdict verdict = ids_.check(channel);
  if (verdict == CaptureIds::Verdict::unnumbered)
    SoapySDR::logf(SOAPY_SDR_WARNING, "warp: %s does not number its captures, so lost triggers go unnoticed",
                   chains_[channel].node->name().c_str());
  return verdict == CaptureIds::Verdict::repeated;
}

/// Starts the next capture. The rest of this one is lost.
Receiver::Event Receiver::give_up() {
  if (pieces_.at_start()) ++lost_triggers_;
  doubtful_ = true;
  trigger_.end_capture();
  step_ = 0;
  state_ = State::arming;
  return pieces_.at_start() ? Event::samples : Event::lost;
}

/// When the capture is over.
std::int64_t Receiver::ready_ns() const noexcept {
  return shot_.steady_ns + ns_of(options_.length, options_.rate_hz);
}

std::int64_t Receiver::time_ns() const noexcept {
  return shot_.wall_ns + ns_of(pieces_.first(), options_.rate_hz);
}

}  // namespace iqd::warp
