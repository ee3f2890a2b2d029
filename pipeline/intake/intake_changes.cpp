// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes to a running stream: another engine or plan, a retune.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "pipeline/backend/prepare_thread.hpp"
#include "pipeline/intake/intake.hpp"

namespace iqd {

ChangeOutcome Intake::change(StreamChange change, std::int64_t patience_ns) {
  changes_.post(std::move(change));
  const std::int64_t until = steady_ns() + patience_ns;
  while (!changes_.is_done()) {
    feed_.engine().room().ring();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const bool late = steady_ns() > until || ended();
    if (late && changes_.withdraw())
      return {ChangeOutcome::Answer::not_now, ended() ? "the source has ended" : "the source did not answer in time"};
  }
  return changes_.collect();
}

void Intake::take_change() {
  StreamChange* const change = changes_.take();
  if (!change) return;
  ChangeOutcome outcome;
  try {
    if (change->source) retune(*change->source);
  } catch (const NotNow& e) {
    outcome = {ChangeOutcome::Answer::not_now, e.what()};
  } catch (const std::exception& e) {
    outcome = {ChangeOutcome::Answer::refused, e.what()};
  } catch (...) {
    outcome = {ChangeOutcome::Answer::refused, "the driver gives no reason"};
  }
  std::int64_t again = 0;
  if (outcome.is_done()) {
    if (change->reopen) link_.reopen_with(*change->reopen);
    if (change->plan) feed_.engine().replace_plan(std::move(change->plan));
    if (change->engine) again = hand_over(*change);
  }
  changes_.done(std::move(outcome));
  // May wait for room, and so for the previous engine. The sender does not wait.
  if (again > 0) arrived(again);
}

void Intake::retune(const SourceOptions& to) {
  // Whether the device takes the values would only be known when it is back, and it might never open with them.
  if (!link_.is_open()) throw NotNow("the radio is disconnected; try again when it is back");
  const std::optional<std::int64_t> time_ns = link_.retune(to);
  // A source that can be read late is not a radio.
  if (link_.info().can_wait) return;
  counters_.retunes.add();
  const std::int64_t idle_ns = steady_ns() - silence_.last_data_ns();
  tunings_.add(clock_.first_after(time_ns, cutter_.position(), idle_ns), to, link_.now());
}

/// Moves everything from the first sample that was not offered yet, and the available past, to the next engine's ring;
/// the previous engine gets no more. Returns how many of these samples count as arriving now.
std::int64_t Intake::hand_over(StreamChange& change) {
  Engine& before = feed_.engine();
  Engine& next = *change.engine;
  const std::int64_t most = std::min(before.ring().samples(), next.ring().samples());
  const BlockCutter::HandOver over = cutter_.hand_over(next.plan().block, next.plan().window(), most);
  assert(over.again + next.plan().window().past <= next.ring().samples());
  writer_.move_to(next.ring(), over.kept, over.kept_place, over.samples);
  clock_.limit_gaps(next.plan().most_position());
  tunings_.compare_with(next.plan().ports.front().shape.frequency_hz);
  feed_.change_to(next);
  if (options_.priority != change.options.priority || options_.cpus != change.options.cpus)
    prepare_thread({"iqd-radio", change.options.priority, change.options.cpus});
  if (options_.calibration != change.options.calibration)
    tunings_.watch(change.options.calibration, link_.options(),
                   link_.is_open() ? std::optional(link_.now()) : std::nullopt);
  options_ = change.options;
  silence_.set_patience(options_, clock_.durations().ns_of(cutter_.block()));
  before.close_for_successor();
  cutter_.reserve(next.offers_left());
  return over.again;
}

}  // namespace iqd
