// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/crew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "pipeline/stages/math/python/keeper.hpp"

namespace iqd::python {
namespace {

constexpr std::int64_t kFirstRestNs = 100'000'000;
constexpr std::int64_t kMostRestNs = 5 * kSecondNs;
constexpr int kFewFailures = 2;  // after which blocks wait for the next attempt

std::int64_t ns_of(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

/// A process that has answered is started again at once; one that fails before its first answer, later each time.
std::int64_t rest_after(int failures) {
  return failures == 0 ? 0 : std::min(kFirstRestNs << std::min(failures - 1, 10), kMostRestNs);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

int number_in(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Crew::Crew(Job job, const Areas& areas)
    : job_(std::move(job)), areas_(areas), limit_ns_(ns_of(job_.limit_s)), log_(job_.label) {
  for (int w = 0; w < job_.workers; ++w) places_.emplace_back();
  Keeper::instance().add(*this);
}

Crew::~Crew() {
  Keeper::instance().remove(*this);
  for (Place& place : places_)
    if (place.worker_) hear(place);
}

Refusal Crew::wait_until_ready() {
  std::unique_lock lock(mutex_);
  is_ready_.wait(lock, [this] { return is_refused_ || ready_ == places_.size(); });
  return refusal_;
}

bool Crew::can_take(const Areas& areas) const {
  const std::lock_guard lock(mutex_);
  return !is_refused_ && areas.inputs <= areas_.inputs && areas.results <= areas_.results;
}

std::vector<std::string> Crew::parameters() const {
  const std::lock_guard lock(mutex_);
  return parameters_;
}

/// One that comes later does not overtake those that wait.
Crew::Place* Crew::take() noexcept {
  bool is_queued = false;
  std::int64_t until = 0;  // while no process computes
  for (;;) {
    const std::uint32_t heard = changes_.load();
    bool serves = false, comes = false;
    for (Place& place : places_) {
      State state = State::idle;
      if ((is_queued || waiting_.load() == 0) && place.state_.compare_exchange_strong(state, State::busy)) {
        if (is_queued) waiting_.fetch_sub(1);
        return &place;
      }
      state = place.state_.load();
      serves = serves || state == State::idle || state == State::busy;
      comes = comes || state == State::starting || state == State::returned ||
              (state == State::resting && place.comes_soon_.load(std::memory_order_relaxed));
    }
    const std::int64_t now = steady_ns();
    until = serves ? 0 : until == 0 ? now + limit_ns_ : until;
    if (!serves && (!comes || now >= until)) {
      if (is_queued) waiting_.fetch_sub(1);
      changed();
      return nullptr;
    }
    if (is_queued)
      futex_wait(changes_, heard, serves ? kSecondNs : until - now);
    else
      waiting_.fetch_add(1);
    is_queued = true;
  }
}

void Crew::give_back(Place& place, Ending ending) noexcept {
  if (ending == Ending::late || ending == Ending::died) {
    place.is_late_.store(ending == Ending::late);
    place.state_.store(State::returned);
    Keeper::instance().ring();
  } else {
    place.state_.store(State::idle);
  }
  changed();
}

void Crew::changed() noexcept {
  changes_.fetch_add(1);
  if (waiting_.load() > 0) futex_wake(changes_);
}

void Crew::look(std::int64_t now_ns) {
  for (Place& place : places_) look_at(place, now_ns);
}

std::int64_t Crew::add_files(std::vector<pollfd>& files) const {
  std::int64_t due = std::numeric_limits<std::int64_t>::max();
  for (const Place& place : places_) {
    const State state = place.state_.load();
    if (place.worker_)
      for (const int file : place.worker_->files()) files.push_back({file, POLLIN, 0});
    if (state == State::starting) due = std::min(due, place.worker_ ? place.start_ns_ + ns_of(job_.start_s) : 0);
    if (state == State::resting && place.start_ns_ > 0) due = std::min(due, place.start_ns_);
  }
  return due;
}

void Crew::look_at(Place& place, std::int64_t now_ns) {
  if (!place.worker_ && !is_refused_ && place.start_ns_ <= now_ns) start(place, now_ns);
  if (place.worker_) hear(place);
  if (is_refused_) return give_up(place);
  if (!place.worker_) return;
  log_.printed(place.worker_->printed(), now_ns);
  if (place.worker_->has_ended()) {
    State idle = State::idle;
    place.state_.compare_exchange_strong(idle, State::returned);
    place.worker_->end();
  }
  const State state = place.state_.load();
  const bool is_slow = state == State::starting && now_ns - place.start_ns_ > ns_of(job_.start_s);
  if (state == State::returned || is_slow || (state == State::starting && place.worker_->has_ended()))
    replace(place, now_ns);
}

void Crew::start(Place& place, std::int64_t now_ns) try {
  place.start_ns_ = now_ns;
  place.setup = 0;
  place.worker_ = std::make_unique<Worker>(job_, areas_);
  place.state_.store(State::starting);
} catch (const SetupError& e) {
  if (!place.has_started_) return refuse({{}, 0, 0, e.what()});
  log_.lost(e.what(), now_ns);
  ++place.failures_;
  plan_start(place, now_ns);
}

void Crew::hear(Place& place) {
  for (const std::string& message : place.worker_->messages()) take_message(place, message);
}

void Crew::take_message(Place& place, std::string_view message) {
  const std::string_view kind = take_line(message);
  if (kind == "raised") {
    const std::string what(take_line(message));
    log_.raised(what, message);
  } else if (kind == "refused" && !place.has_started_) {
    const std::string file(take_line(message));
    const int line = number_in(take_line(message)), column = number_in(take_line(message));
    refuse({file, line, column, std::string(message)});
  } else if (kind == "ready" && place.state_.load() == State::starting) {
    const std::lock_guard lock(mutex_);
    parameters_.clear();
    while (!message.empty()) parameters_.emplace_back(take_line(message));
    if (!place.has_started_) ++ready_;
    if (place.has_started_) restarts_.fetch_add(1, std::memory_order_relaxed);
    place.has_started_ = true;
    place.state_.store(State::idle);
    is_ready_.notify_all();
    changed();
  }
}

void Crew::refuse(Refusal refusal) {
  const std::lock_guard lock(mutex_);
  if (!is_refused_) refusal_ = std::move(refusal);
  is_refused_ = true;
  is_ready_.notify_all();
}

/// Nothing is started again before the program has changed.
void Crew::give_up(Place& place) noexcept {
  place.worker_.reset();
  place.start_ns_ = 0;
  place.comes_soon_.store(false, std::memory_order_relaxed);
  place.state_.store(State::resting);
}

void Crew::replace(Place& place, std::int64_t now_ns) {
  const bool is_loading = place.state_.load() == State::starting;
  const bool is_slow = is_loading ? !place.worker_->has_ended() : place.is_late_.exchange(false);
  const std::string status = text_of_status(place.worker_->end());
  hear(place);
  place.failures_ = place.worker_->has_answered() ? 0 : place.failures_ + 1;
  const std::string why =
      is_slow ? fmt::format("{} within {} s: its process is killed", is_loading ? "is not loaded" : "does not return",
                            is_loading ? job_.start_s : job_.limit_s)
              : fmt::format("its process ended, {}", status);
  place.worker_.reset();
  if (!place.has_started_) return refuse({job_.program.name, 0, 0, why});
  log_.lost(why + "; another one is started", now_ns);
  plan_start(place, now_ns);
}

void Crew::plan_start(Place& place, std::int64_t now_ns) {
  const std::int64_t rest = rest_after(place.failures_);
  place.start_ns_ = now_ns + rest;
  place.comes_soon_.store(place.failures_ <= kFewFailures, std::memory_order_relaxed);
  place.state_.store(rest > 0 ? State::resting : State::starting);
  changed();
  if (rest == 0) start(place, now_ns);
}

}  // namespace iqd::python
