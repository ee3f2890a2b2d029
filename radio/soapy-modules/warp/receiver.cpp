// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/receiver.hpp"

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/front_end.hpp"

namespace iqd::warp {
namespace {

/// Some 45 packets of 1500 bytes, which a socket's usual buffer holds though nobody reads meanwhile.
constexpr std::uint32_t kPiece = 16384;
/// A node that is not ready so long after the end of a capture never saw its trigger.
constexpr std::int64_t kLateNs = 250'000'000;
constexpr int kMostStale = 3;
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

std::vector<NodeMask> masks_of(const std::vector<Chain>& chains) {
  std::vector<NodeMask> masks;
  for (const Chain& c : chains) {
    auto at = std::find_if(masks.begin(), masks.end(), [&](const NodeMask& m) { return m.node == c.node; });
    if (at == masks.end()) at = masks.insert(at, {c.node, 0, 0});
    at->buffers |= buffer_select(c.number);
    at->rf |= rf_select(c.number);
  }
  return masks;
}

Receiver::Receiver(Trigger& trigger, std::vector<Chain> chains, const Options& options)
    : trigger_(trigger),
      chains_(std::move(chains)),
      masks_(masks_of(chains_)),
      options_(options),
      pieces_(chains_.size()),
      ids_(chains_.size()),
      last_ids_(chains_.size()) {}

void Receiver::start() {
  for (const NodeMask& m : masks_) m.node->ask(Command::rx_length, {options_.length});
  for (const Chain& c : chains_) c.node->ask(Command::receive_enable, {rf_select(c.number)});
  state_ = State::idle;
  next_ns_ = 0;
  given_from_ = given_to_ = 0;
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
        if (!wait_until(ready_ns_, deadline_ns)) return Event::nothing;
        position_ = 0;
        std::fill(ids_.begin(), ids_.end(), std::nullopt);
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
  ready_ns_ = shot_.steady_ns + ns_of(options_.length, options_.rate_hz);
  next_ns_ = shot_.steady_ns + options_.every_ns;
  state_ = State::running;
  return true;
}

void Receiver::next_piece() {
  const std::uint32_t count = std::min(kPiece, options_.length - position_);
  for (std::size_t i = 0; i < chains_.size(); ++i) pieces_[i].begin(buffer_select(chains_[i].number), position_, count);
  step_ = 0;
}

/// Brings a piece of all chains. `samples`: it is in hand, or there is something else to do.
Receiver::Event Receiver::read(std::int64_t deadline_ns) {
  using Outcome = Node::Read::Outcome;
  if (position_ > 0 && step_ == chains_.size()) next_piece();
  for (; step_ < chains_.size(); ++step_) {
    const Node::Read got = chains_[step_].node->read(pieces_[step_], ids_[step_], deadline_ns);
    switch (got.outcome) {
      case Outcome::later: return Event::nothing;
      case Outcome::not_ready:
        if (steady_ns() > ready_ns_ + kLateNs) return give_up();
        return wait_until(steady_ns() + got.wait_ns, deadline_ns) ? Event::samples : Event::nothing;
      case Outcome::other_capture: return give_up();
      case Outcome::failed:
        if (++failures_ > kMostFailures)
          throw std::runtime_error("warp: " + chains_[step_].node->name() + " cannot give what it received");
        return give_up();
      case Outcome::whole: break;
    }
    if (position_ == 0 && stale(step_)) return give_up();
  }
  if (position_ == 0 && !recognise(deadline_ns)) return Event::nothing;
  failures_ = 0;
  given_from_ = 0;
  given_to_ = pieces_[0].coverage.end() - position_;
  position_ += given_to_;
  if (!at_end()) return Event::samples;
  trigger_.end_capture();
  last_ids_ = ids_;
  ++captures_;
  state_ = State::idle;
  return Event::samples;
}

/// A node that was restarted answers as before, but receives at another frequency.
bool Receiver::recognise(std::int64_t deadline_ns) {
  for (const NodeMask& m : masks_)
    if (!m.node->recognise(deadline_ns)) return false;
  doubtful_ = false;
  return true;
}

/// Whether this is the capture before once more, since the trigger was lost.
bool Receiver::stale(std::size_t row) {
  if (!ids_count_ || ids_[row] != last_ids_[row]) {
    if (row + 1 == chains_.size()) stale_ = 0;
    return false;
  }
  if (++stale_ < kMostStale) return true;
  SoapySDR::logf(SOAPY_SDR_WARNING, "warp: %s gives its captures no numbers, so a lost trigger cannot be noticed",
                 chains_[row].node->name().c_str());
  return ids_count_ = false;
}

/// Begins anew. What was handed on of this capture is all that there is of it.
Receiver::Event Receiver::give_up() {
  if (position_ == 0) ++lost_triggers_;
  doubtful_ = true;
  trigger_.end_capture();
  step_ = 0;
  state_ = State::arming;
  return position_ == 0 ? Event::samples : Event::lost;
}

std::int64_t Receiver::time_ns() const noexcept {
  const double at = static_cast<double>(position_ - given_to_) + given_from_;
  return shot_.wall_ns + ns_of(at, options_.rate_hz);
}

}  // namespace iqd::warp
