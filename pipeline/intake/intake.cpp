// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "pipeline/backend/prepare_thread.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kLongestPatienceNs = 5'000'000;  // less than any radio's buffer holds
/// A call takes 100 ms if nothing comes. A call longer than this may hang; a shorter one may have waited for its CPU.
constexpr std::int64_t kLongCallNs = 250'000'000;

BlockNeeds needs_of(const Plan& plan) {
  return {plan.block, plan.window().past, plan.window().future};
}

}  // namespace

Intake::Intake(const SourceOptions& source, std::unique_ptr<Source> opened, Engine& engine, IntakeOptions options,
               Counters& counters)
    : options_(std::move(options)),
      counters_(counters),
      link_(options_.name, source, std::move(opened), needs_of(engine.plan())),
      meter_(options_.name, link_.info(), counters_.channels),
      clock_(options_.name, link_.info(), counters_),
      tunings_(link_.now().frequency_hz, engine.plan().ports.front().shape.frequency_hz, counters_),
      cutter_(engine.plan().block, engine.plan().window(), clock_, tunings_, link_.excerpt()),
      feed_(engine, cutter_),
      writer_(link_.info(), engine.ring()),
      silence_(options_.name, link_.info(), counters_) {
  cutter_.reserve(engine.offers_left());
  clock_.limit_gaps(engine.plan().most_position());
  silence_.set_patience(options_, clock_.durations().ns_of(cutter_.block()));
  tunings_.watch(options_.calibration, source, link_.now());
}

Intake::~Intake() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void Intake::start() {
  counters_.state = SourceState::opening;
  thread_ = std::thread([this] { run(); });
}

void Intake::stop() noexcept {
  stop_ = true;
  feed_.engine().room().ring();
}

void Intake::abandon() noexcept {
  if (thread_.joinable()) thread_.detach();
}

void Intake::join_closed() const noexcept {
  for (Phase at = phase_.load(); at != Phase::closed; at = phase_.load()) phase_.wait(at, std::memory_order_acquire);
}

SourceState Intake::state() const noexcept {
  const SourceState state = counters_.state.load();
  const bool silent =
      state == SourceState::streaming && in_driver_ns() > kLongCallNs && silence_.is_overdue(steady_ns());
  return silent ? SourceState::stalled : state;
}

void Intake::look_for_silence() {
  if (in_driver_ns() > kLongCallNs) silence_.look_during_call(steady_ns());
}

std::string Intake::trouble() const {
  std::string why = link_.trouble();
  const SourceState now = state();
  const bool waits = now == SourceState::stalled || now == SourceState::opening;
  return why.empty() && waits ? silence_.trouble(steady_ns()) : why;
}

std::int64_t Intake::idle_ns() const noexcept {
  return ended() ? 0 : silence_.idle_ns(steady_ns());
}

std::string Intake::failure() const {
  if (!ended() || counters_.state.load() != SourceState::failed) return {};
  return options_.name + ": the source failed and cannot be opened again";
}

void Intake::run() {
  prepare_thread({"iqd-radio", options_.priority, options_.cpus});
  silence_.excuse(steady_ns());
  silence_.opened(steady_ns());
  Outcome outcome = stream();
  while (outcome == Outcome::failed && link_.info().reconnects) outcome = reopen() ? stream() : Outcome::stopped;

  cutter_.finish();
  feed_.offer_complete();
  meter_.finish();
  counters_.state = outcome == Outcome::failed ? SourceState::failed : SourceState::ended;
  feed_.engine().close();
  phase_.store(Phase::ended, std::memory_order_release);
  link_.close();
  phase_.store(Phase::closed, std::memory_order_release);
  phase_.notify_all();
}

Intake::Outcome Intake::stream() {
  while (!stopping()) {
    take_change();
    if (!make_room()) return Outcome::stopped;
    const Received received = receive();
    const auto lost_some = [this](Counter& count) {
      count.add();
      clock_.expect_loss();
    };
    switch (received.event) {
      case Received::Event::samples: take(received); continue;
      case Received::Event::overflow: lost_some(counters_.overflows); break;
      case Received::Event::late: lost_some(counters_.late); break;
      case Received::Event::sequence: lost_some(counters_.sequence_errors); break;
      case Received::Event::end: return Outcome::ended;
      case Received::Event::failed: return Outcome::failed;
      case Received::Event::nothing: break;
    }
    if (received.event == Received::Event::nothing && received.ends) {
      silence_.expect_nothing();
      all_is_well();
    } else if (!received.ends && is_silent_too_long()) {
      return Outcome::failed;
    }
  }
  return Outcome::stopped;
}

/// At the beginning of a block: checks whether the ring has room for all of it; if not, waits or begins to drop.
/// Returns false if stopped while waiting.
bool Intake::make_room() {
  if (cutter_.is_dropping() || !cutter_.is_between_blocks()) return true;
  if (feed_.has_room()) return true;
  if (options_.overrun == Overrun::drop) {
    // A driver's backlog comes at once, faster than lanes wake up. A wait shorter than a block adds less than a block
    // to the backlog.
    const std::int64_t block_ns = clock_.durations().ns_of(cutter_.block());
    const std::int64_t give_up = steady_ns() + std::min(block_ns * 3 / 4, kLongestPatienceNs);
    while (steady_ns() < give_up && !stopping()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (feed_.has_room()) return true;
    }
    cutter_.start_dropping();
    feed_.offer_complete();
    return true;
  }
  while (!feed_.has_room() && !stopping()) {
    feed_.engine().room().wait_until([&] { return feed_.has_room() || changes_.is_posted() || stop_; });
    take_change();
  }
  silence_.excuse(steady_ns());
  return !stopping();
}

Received Intake::receive() {
  // A stream that can wait for room needs no spare.
  const std::int64_t most = feed_.most_at_once(options_.overrun == Overrun::drop);
  const std::span<std::byte* const> into =
      cutter_.is_dropping() ? writer_.aside() : writer_.at(cutter_.place_of(cutter_.position()));
  const std::int64_t began = steady_ns();
  Received received = link_.receive(into, most);
  if (const std::int64_t now = steady_ns(); now - began > kLongCallNs) silence_.look(now);
  std::string doubt = clock_.verify(received, most);
  return doubt.empty() ? received : link_.failed(std::move(doubt));
}

void Intake::take(Received received) {
  const std::int64_t now = steady_ns();
  const std::int64_t missing = clock_.missing_before(received, cutter_.position(), now, silence_.last_data_ns());
  if (!received.again) meter_.look(writer_.last(), received.samples);
  all_is_well();
  if (missing > 0) {
    // They were written before the gap was known; their place is further on.
    if (!cutter_.is_dropping()) writer_.set_aside(received.samples);
    counters_.lost.add(static_cast<std::uint64_t>(cutter_.wanted(missing)));
    cutter_.skip(missing);
    feed_.offer_complete();
  }
  counters_.received.add(static_cast<std::uint64_t>(cutter_.wanted(received.samples)));
  clock_.arrived(received, cutter_.position(), now);
  silence_.arrived(now, clock_.durations().ns_of(received.samples));
  if (received.tuned >= 0 && received.tuned < received.samples) {
    link_.was_retuned();
    tunings_.add(cutter_.position() + received.tuned, link_.options(), link_.now());
  }
  if (missing > 0)
    put_back(received.samples);
  else
    arrived(received.samples);
  if (!received.ends) return;
  cutter_.end_piece();
  feed_.offer_complete();
  clock_.end_piece();
  silence_.expect_nothing();
}

/// Copies samples that were set aside to their places, block by block while there is room.
void Intake::put_back(std::int64_t samples) {
  std::int64_t done = 0;
  while (done < samples && make_room()) {
    const std::int64_t n = std::min(samples - done, cutter_.left_in_block());
    if (!cutter_.is_dropping()) writer_.put_back(done, cutter_.place_of(cutter_.position()), n);
    arrived(n);
    done += n;
  }
  counters_.drops(Drop::stopped).add(static_cast<std::uint64_t>(cutter_.wanted(samples - done)));
}

void Intake::arrived(std::int64_t samples) {
  if (const std::int64_t dropped = cutter_.arrived(samples); dropped > 0)
    counters_.drops(feed_.engine().slots_are_out() ? Drop::slots : Drop::lanes)
        .add(static_cast<std::uint64_t>(dropped));
  feed_.offer_complete();
}

bool Intake::is_silent_too_long() {
  const std::int64_t now = steady_ns();
  silence_.look(now);
  const std::int64_t silent_ns = silence_.silent_ns(now);
  if (!link_.info().reconnects || silent_ns <= options_.silent_ns) return false;
  link_.set_trouble(fmt::format("no samples for {:.1f} s", static_cast<double>(silent_ns) / 1e9));
  log::warn("{}: {}; reconnecting", options_.name, trouble());
  return true;
}

void Intake::all_is_well() noexcept {
  if (counters_.state.load(std::memory_order_relaxed) == SourceState::streaming) return;
  counters_.state = SourceState::streaming;
  link_.clear_trouble();
}

/// Closes the source and tries until it is open again, waiting longer each time. Returns false if stopped.
bool Intake::reopen() {
  counters_.state = SourceState::reconnecting;
  // Nothing follows what has arrived, so it is processed now and not when the source is back.
  cutter_.end_piece();
  feed_.offer_complete();
  link_.close();
  std::int64_t backoff = options_.backoff_ns;
  do {
    if (!pause(backoff)) return false;
    backoff = std::min(2 * backoff, std::max(options_.longest_backoff_ns, options_.backoff_ns));
  } while (!link_.open_again());
  silence_.opened(steady_ns());
  if (std::uint64_t more = 0; reconnect_lines_.allow(more))
    log::info("{}: open again{}", options_.name, log::more_times(more));
  counters_.reconnects.add();
  clock_.reopened(link_.info().time);
  tunings_.add(cutter_.position(), link_.options(), link_.now());
  return true;
}

/// Waits until it is time to try, or the device is seen again. Returns false if stopped.
bool Intake::pause(std::int64_t ns) {
  constexpr std::int64_t kLookNs = 1'000'000'000;
  const std::int64_t until = steady_ns() + ns;
  std::int64_t look = steady_ns() + kLookNs;
  for (std::int64_t now = steady_ns(); now < until && !stopping(); now = steady_ns()) {
    take_change();
    if (now >= look) {
      if (link_.came_back()) break;
      look = steady_ns() + kLookNs;
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp<std::int64_t>(until - steady_ns(), 0, 50'000'000)));
  }
  return !stopping();
}

}  // namespace iqd
