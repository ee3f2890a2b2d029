// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What a home does by the clock: it gives blocks up, sends and removes again, makes lost streams, and finds its room.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "hosts/pool_home.hpp"

namespace iqd::hosts {
namespace {

/// This thread ticks more often, unless the process was stopped; when it waits for the server is known.
constexpr std::int64_t kPauseNs = 1'000'000'000;
/// Blocks may be out as long as nothing is known of the pool's speed.
constexpr int kFirstRoom = 4;

}  // namespace

void PoolHome::look_at_clock() {
  const std::int64_t now = steady_ns();
  excuse_pause(now);
  std::vector<std::uint64_t> late, unstored;
  for (const auto& [number, out] : out_) {
    if (interrupted_ || now - out.since_ns > patience_ns_)
      late.push_back(number);
    else if (out.sequence == 0 && now > out.again_ns)
      unstored.push_back(number);
  }
  for (const std::uint64_t number : late) {
    const Out& out = out_.at(number);
    settle(number, interrupted_        ? PoolLoss::stopped
                   : out.sequence != 0 ? PoolLoss::lost
                   : out.is_refused    ? PoolLoss::full
                                       : PoolLoss::away);
  }
  check_streams(now);
  for (const std::uint64_t number : unstored)
    if (const auto at = out_.find(number); at != out_.end() && !interrupted_) publish(number, at->second);
  remove_blocks(now);
  find_room(now);
}

/// While this process did not run, nobody failed.
void PoolHome::excuse_pause(std::int64_t now_ns) {
  const std::int64_t pause = now_ns - std::exchange(ticked_ns_, now_ns);
  if (pause < kPauseNs) return;
  for (auto& [number, out] : out_) out.since_ns += pause;
}

/// Makes what a server has lost, and sends again what was in it: the samples are still here.
void PoolHome::check_streams(std::int64_t now_ns) {
  if (!streams_are_lost_ || !link_.is_connected() || now_ns - streams_checked_ns_ < kStreamCheckNs) return;
  streams_checked_ns_ = now_ns;
  if (owner() == PoolStreams::Owner::other) return has_waited();
  try {
    streams_are_lost_ = false;
    const bool is_new = streams_.make(PoolStreams::kAnswerMs);
    has_waited();
    trouble_.clear();
    if (!is_new) return;
    ++streams_made_;
    orders_.clear();
    numbers_.clear();
    removals_.clear();
    for (auto& [number, out] : out_) out.sequence = 0, out.again_ns = 0;
  } catch (const SetupError& e) {
    has_waited();
    streams_are_lost_ = true;
    trouble_ = e.what();
  }
}

/// Until the server answers. Of streams that may be another home's, the number may be that of another block.
void PoolHome::remove_blocks(std::int64_t now_ns) {
  if (is_taken_ || streams_are_lost_ || !link_.is_connected()) return;
  for (auto& [sequence, again_ns] : removals_) {
    if (now_ns < again_ns) continue;
    streams_.remove_block(sequence, fmt::format("{}removed.{}.{}", answers_, streams_made_, sequence));
    again_ns = now_ns + kLongestRetryNs;
  }
}

/// No more than the pool has done lately: what is too much for it is lost before it is sent, not after.
void PoolHome::find_room(std::int64_t now_ns) {
  while (!finished_ns_.empty() && now_ns - finished_ns_.front() > patience_ns_ / 2) finished_ns_.pop_front();
  workers_.forget_silent(now_ns);
  const bool usable = link_.is_connected() && workers_.workers() > 0 && !streams_are_lost_;
  const int first = std::max(kFirstRoom, 2 * workers_.lanes());
  const int room = usable ? std::min(most_out_, first + static_cast<int>(finished_ns_.size())) : 0;
  const int before = room_.exchange(room);
  if (workers_.workers() != said_workers_ && now_ns - began_ns_ > kQueueNs) {
    said_workers_ = workers_.workers();
    if (said_workers_ == 0)
      log::warn("pool {}: no worker is here", config_.name);
    else
      log::info("pool {}: {} worker(s) with {} lane(s)", config_.name, said_workers_, workers_.lanes());
  }
  {
    const std::lock_guard lock(status_mutex_);
    status_.workers = workers_.workers();
    status_.lanes = workers_.lanes();
    status_.room = room;
    status_.stored = static_cast<std::int64_t>(numbers_.size());
    status_.sending = static_cast<std::int64_t>(out_.size() - numbers_.size());
    status_.trouble = !trouble_.empty() ? trouble_ : workers_.workers() == 0 ? "no worker is here" : workers_.trouble();
  }
  if (room > before || interrupted_) wake();
}

}  // namespace iqd::hosts
