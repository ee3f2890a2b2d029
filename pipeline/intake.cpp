// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {
namespace {

/// The most samples received at once: small blocks come several at a time, large ones in pieces.
constexpr std::int64_t kReceiveMost = 65536;
/// A clock that runs ahead of the time that has passed by more was set anew. Less may be a loss in a stream that comes
/// faster than real time.
constexpr double kClockSlackSeconds = 0.5;
/// Of the past, more than is needed goes along to another engine, for a third one that needs more.
constexpr std::int64_t kSpare = 65536;

}  // namespace

Intake::Intake(const SourceOptions& source, std::unique_ptr<Source> opened, Engine& engine, IntakeOptions options,
               Counters& counters)
    : source_options_(&source),
      source_(std::move(opened)),
      info_(source_->info()),
      engine_(&engine),
      engine_for_others_(&engine),
      options_(std::move(options)),
      counters_(counters),
      meter_(options_.name, info_, counters_.channels),
      block_(engine.plan().block),
      reach_(engine.plan().window()),
      block_end_(block_),
      into_(static_cast<std::size_t>(info_.channels)),
      aside_(into_.size(), std::vector<std::byte>(static_cast<std::size_t>(kReceiveMost) * size_of(info_.element))) {
  held_.reserve(static_cast<std::size_t>(engine_->offers_left()));
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
  engine_for_others_.load()->room().ring();
}

void Intake::abandon() noexcept {
  if (thread_.joinable()) thread_.detach();
}

std::int64_t Intake::in_driver_ns() const noexcept {
  const std::int64_t began = call_began_ns_.load(std::memory_order_acquire);
  return began ? steady_ns() - began : 0;
}

void Intake::run() {
  prepare_thread({"iqd-radio", options_.priority, options_.cpus});
  last_data_ns_ = steady_ns();
  Outcome outcome = stream();
  while (outcome == Outcome::failed && info_.reconnects && !stop_.load(std::memory_order_acquire))
    outcome = reopen() ? stream() : Outcome::stopped;

  cut_block();
  offer_held(true);
  meter_.finish();
  if (outcome == Outcome::failed) failure_ = options_.name + ": the source failed and cannot be opened again";
  counters_.state = outcome == Outcome::failed ? SourceState::failed : SourceState::ended;
  engine_->close();
  ended_.store(true, std::memory_order_release);
  call_began_ns_ = steady_ns();
  source_.reset();
  call_began_ns_ = 0;
}

Intake::Outcome Intake::stream() {
  while (!stop_.load(std::memory_order_acquire)) {
    take_change();
    if (!make_room()) return Outcome::stopped;
    const Received received = receive(writable());
    switch (received.event) {
      case Received::Event::samples: take(received); break;
      case Received::Event::overflow:
        counters_.overflows.add();
        uncertain_ = true;
        break;
      case Received::Event::late:
        counters_.late.add();
        uncertain_ = true;
        break;
      case Received::Event::sequence:
        counters_.sequence_errors.add();
        uncertain_ = true;
        break;
      case Received::Event::end: return Outcome::ended;
      case Received::Event::failed: return Outcome::failed;
      case Received::Event::nothing:
        if (received.ends) all_is_well();
        break;
    }
    if (received.event != Received::Event::samples) {
      const std::int64_t now = steady_ns();
      note_silence(now);
      if (info_.reconnects && now - last_data_ns_ > options_.silent_ns) {
        log::warn("{}: no samples for {:.1f} s, opening it again", options_.name,
                  static_cast<double>(now - last_data_ns_) / 1e9);
        return Outcome::failed;
      }
    }
  }
  return Outcome::stopped;
}

/// Closes the source and tries until it is open again, waiting longer each time; false when told to stop.
bool Intake::reopen() {
  counters_.state = SourceState::reconnecting;
  call_began_ns_ = steady_ns();
  source_.reset();
  call_began_ns_ = 0;
  for (std::int64_t backoff = options_.backoff_ns;; backoff = std::min(2 * backoff, 30 * options_.backoff_ns)) {
    if (!pause(backoff)) return false;
    call_began_ns_ = steady_ns();
    try {
      source_ = source_options_->open();
      const StreamInfo now = source_->info();
      if (now.element == info_.element && now.channels == info_.channels && now.rate_hz == info_.rate_hz) {
        call_began_ns_ = 0;
        break;
      }
      log::error("{}: it came back with another format or rate", options_.name);
      source_.reset();
    } catch (const std::exception& e) {
      log::warn("{}: cannot be opened again yet: {}", options_.name, e.what());
    } catch (...) {
      log::warn("{}: cannot be opened again yet", options_.name);
    }
    call_began_ns_ = 0;
  }
  log::info("{}: open again", options_.name);
  counters_.reconnects.add();
  uncertain_ = true;
  return true;
}

/// Waits, unless told to stop.
bool Intake::pause(std::int64_t ns) {
  const std::int64_t until = steady_ns() + ns;
  while (steady_ns() < until && !stop_.load(std::memory_order_acquire)) {
    take_change();
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::int64_t>(50'000'000, until - steady_ns())));
  }
  return !stop_.load(std::memory_order_acquire);
}

/// Guards the driver: whatever it throws is a failed radio.
Received Intake::receive(std::int64_t most) {
  for (std::size_t c = 0; c < into_.size(); ++c)
    into_[c] = dropping_ ? aside_[c].data() : engine_->ring_at(c, position_);
  Received received;
  call_began_ns_.store(steady_ns(), std::memory_order_release);
  try {
    received = source_->receive(into_, most);
  } catch (const std::exception& e) {
    log::error("{}: {}", options_.name, e.what());
    received.event = Received::Event::failed;
  } catch (...) {
    log::error("{}: the driver threw something that is no exception of the standard library", options_.name);
    received.event = Received::Event::failed;
  }
  call_began_ns_.store(0, std::memory_order_release);
  if (received.event == Received::Event::samples && received.samples == 0 && received.lost <= 0)
    received.event = Received::Event::nothing;
  if (received.event == Received::Event::samples && (received.samples < 0 || received.samples > most)) {
    log::error("{}: the driver wrote {} samples where {} were asked for", options_.name, received.samples, most);
    received.event = Received::Event::failed;
  }
  return received;
}

SampleIndex Intake::oldest_needed() const noexcept {
  const SampleIndex own = (held_.empty() ? block_first_ : held_.front().first) - reach_.past;
  return engine_->tail(own);
}

/// At the beginning of a block: sees that the ring can take all of it. When it cannot, waits or begins to drop.
/// False when told to stop while waiting.
bool Intake::make_room() {
  if (dropping_ || position_ != block_first_) return true;
  const auto room = [this] {
    return block_end_ <= oldest_needed() + engine_->ring_samples() && engine_->offers_left() > std::ssize(held_);
  };
  if (room()) return true;
  if (options_.overrun == Overrun::drop) {
    offer_held(true);
    dropping_ = true;
    return true;
  }
  while (!room() && !stop_.load(std::memory_order_acquire)) {
    engine_->room().wait_until([&] { return room() || changing() || stop_; });
    take_change();
  }
  last_data_ns_ = steady_ns();  // it was we who were slow
  return !stop_.load(std::memory_order_acquire);
}

Intake::Answer Intake::change(StreamChange change, std::int64_t patience_ns, std::string& why) {
  change_ = std::move(change);
  change_refused_.clear();
  change_state_.store(ChangeState::asked, std::memory_order_release);
  const std::int64_t until = steady_ns() + patience_ns;
  while (change_state_.load(std::memory_order_acquire) != ChangeState::done) {
    engine_for_others_.load()->room().ring();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    ChangeState expected = ChangeState::asked;
    const bool late = steady_ns() > until || ended();
    if (late && change_state_.compare_exchange_strong(expected, ChangeState::none, std::memory_order_acq_rel))
      return Answer::too_late;
  }
  change_state_.store(ChangeState::none, std::memory_order_release);
  why = change_refused_;
  return why.empty() ? Answer::done : Answer::refused;
}

/// In the radio thread.
void Intake::take_change() {
  ChangeState expected = ChangeState::asked;
  if (!changing() || !change_state_.compare_exchange_strong(expected, ChangeState::at_work, std::memory_order_acq_rel))
    return;
  try {
    call_began_ns_ = steady_ns();
    if (change_.source && source_) source_->retune(*change_.source);
  } catch (const std::exception& e) {
    change_refused_ = e.what();
  } catch (...) {
    change_refused_ = "the driver does not say why";
  }
  call_began_ns_ = 0;
  std::int64_t rest = 0;
  if (change_refused_.empty()) {
    if (change_.reopen) source_options_ = change_.reopen;
    if (change_.plan) engine_->retune(std::move(change_.plan));
    if (change_.engine) rest = hand_over(*change_.engine);
  }
  change_state_.store(ChangeState::done, std::memory_order_release);
  // May wait for room, and so for the engine before: whoever asked does not.
  if (rest > 0) arrived(rest);
}

/// Everything from the first sample that was not offered yet, and as much of the past as there is, goes to the other
/// engine's ring; the one before gets no more. Says how many samples lie there, to be taken as if they came now.
std::int64_t Intake::hand_over(Engine& next) {
  const SampleIndex from = held_.empty() ? block_first_ : held_.front().first;
  const SampleIndex end = position_;
  gap_ = held_.empty() ? gap_ : held_.front().gap;
  held_.clear();
  assert(end - from + next.plan().window().past <= next.ring_samples());
  Engine& before = *std::exchange(engine_, &next);
  engine_for_others_ = &next;
  block_ = next.plan().block;
  reach_ = next.plan().window();
  const SampleIndex kept =
      std::max({valid_from_, ring_from_, end - std::min(before.ring_samples(), next.ring_samples()),
                from - reach_.past - kSpare});
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(end - kept, 0)) * size_of(info_.element);
  for (std::size_t c = 0; c < into_.size() && bytes > 0; ++c)
    std::memcpy(next.ring_at(c, kept), before.ring_at(c, kept), bytes);
  ring_from_ = kept;
  if (kept > from - reach_.past) valid_from_ = kept;
  if (options_.priority != change_.options.priority || options_.cpus != change_.options.cpus)
    prepare_thread({"iqd-radio", change_.options.priority, change_.options.cpus});
  options_ = change_.options;
  dropping_ = false;
  position_ = block_first_ = from;
  block_end_ = (from / block_ + 1) * block_;
  before.close_for_successor();
  held_.reserve(static_cast<std::size_t>(next.offers_left()));
  return end - from;
}

std::int64_t Intake::writable() const noexcept {
  if (dropping_ || block_end_ - position_ >= kReceiveMost) return std::min(kReceiveMost, block_end_ - position_);
  const std::int64_t most = std::min(oldest_needed() + engine_->ring_samples(), position_ + kReceiveMost);
  const std::int64_t blocks = std::min((most - block_end_) / block_, engine_->offers_left() - std::ssize(held_) - 1);
  return block_end_ + std::max<std::int64_t>(blocks, 0) * block_ - position_;
}

void Intake::all_is_well() noexcept {
  if (counters_.state.load(std::memory_order_relaxed) != SourceState::streaming)
    counters_.state = SourceState::streaming;
}

void Intake::take(const Received& received) {
  const std::int64_t missing = missing_before(received);
  counters_.received.add(static_cast<std::uint64_t>(received.samples));
  meter_.look(into_, received.samples);
  all_is_well();
  if (missing > 0) {
    // They were written where the stream stood before the gap was known; their place is further on.
    for (std::size_t c = 0; c < into_.size() && !dropping_; ++c)
      std::memcpy(aside_[c].data(), into_[c], static_cast<std::size_t>(received.samples) * size_of(info_.element));
    counters_.lost.add(static_cast<std::uint64_t>(missing));
    skip(missing);
  }
  if (received.has_time || !timed_) {
    const double duration = info_.rate_hz > 0 ? static_cast<double>(received.samples) * 1e9 / info_.rate_hz : 0;
    time_index_ = position_;
    time_ns_ = received.has_time ? received.time_ns : wall_ns() - static_cast<std::int64_t>(duration);
    timed_ = true;
  }
  last_data_ns_ = steady_ns();
  if (missing > 0)
    put_back(received.samples);
  else
    arrived(received.samples);
  if (received.ends) end_piece();
}

/// What is there is a block, and goes on its way; the next begins anew, at whatever time.
void Intake::end_piece() {
  cut_block();
  offer_held(true);
  valid_from_ = position_;
  timed_ = false;
}

/// Samples that were set aside go where they belong, block by block as far as there is room.
void Intake::put_back(std::int64_t samples) {
  const std::size_t size = size_of(info_.element);
  std::int64_t done = 0;
  while (done < samples && make_room()) {
    const std::int64_t n = std::min(samples - done, block_end_ - position_);
    for (std::size_t c = 0; c < into_.size() && !dropping_; ++c)
      std::memcpy(engine_->ring_at(c, position_), aside_[c].data() + static_cast<std::size_t>(done) * size,
                  static_cast<std::size_t>(n) * size);
    arrived(n);
    done += n;
  }
  counters_.drops(Drop::stopped).add(static_cast<std::uint64_t>(samples - done));
}

/// How many samples are missing before those received: what the driver says, or what its clock says. A clock that goes
/// back, or further on than time has passed, was set anew: that is counted, and nothing is missing.
std::int64_t Intake::missing_before(const Received& received) {
  const bool uncertain = std::exchange(uncertain_, false);
  if (received.lost > 0 || info_.rate_hz <= 0 || !timed_) return received.lost;
  const auto passed = static_cast<double>(steady_ns() - last_data_ns_) / 1e9;
  if (received.has_time) {
    const std::int64_t late_ns = received.time_ns - time_of(position_);
    const auto samples = std::llround(static_cast<double>(late_ns) * info_.rate_hz / 1e9);
    if (samples == 0) return 0;
    if (samples > 0 && static_cast<double>(late_ns) / 1e9 <= passed + kClockSlackSeconds) return samples;
    counters_.time_jumps.add();
    if (std::uint64_t more = 0; jump_lines_.allow(more))
      log::warn("{}: its clock jumped by {:.6f} s{}", options_.name, static_cast<double>(late_ns) / 1e9,
                more ? fmt::format(" ({} jumps more since the last line)", more) : "");
  }
  // Without a clock that holds, the host's tells how long nothing came.
  return uncertain ? std::max<std::int64_t>(1, std::llround(passed * info_.rate_hz) - received.samples) : 0;
}

/// The stream goes on `samples` later.
void Intake::skip(std::int64_t samples) {
  cut_block();
  offer_held(true);
  position_ += samples;
  gap_ += samples;
  missing_ += samples;
  block_first_ = position_;
  block_end_ = (position_ / block_ + 1) * block_;
  valid_from_ = position_;
}

void Intake::arrived(std::int64_t samples) {
  while (samples > 0) {
    const std::int64_t n = std::min(samples, block_end_ - position_);
    samples -= n;
    if (dropping_) {
      discard(n);
      continue;
    }
    position_ += n;
    if (position_ == block_end_) cut_block();
  }
  offer_held(false);
}

void Intake::discard(std::int64_t samples) {
  counters_.drops(engine_->slots_are_out() ? Drop::slots : Drop::lanes).add(static_cast<std::uint64_t>(samples));
  position_ += samples;
  gap_ += samples;
  missing_ += samples;
  valid_from_ = position_;
  block_first_ = position_;
  if (position_ < block_end_) return;
  block_end_ += block_;
  dropping_ = false;
}

/// What has arrived since the last block becomes one.
void Intake::cut_block() {
  if (position_ > block_first_) {
    SampleBlock block;
    block.first = block_first_;
    block.length = position_ - block_first_;
    block.past = std::min(reach_.past, block_first_ - valid_from_);
    block.gap = std::exchange(gap_, 0);
    block.fresh = block_first_ == valid_from_;
    block.dropped = missing_;
    block.time_ns = time_of(block_first_);
    block.time = info_.time;
    held_.push_back(block);
  }
  block_first_ = position_;
  if (position_ >= block_end_) block_end_ += block_;
}

/// Offers the blocks whose future has arrived, or all, when nothing will follow them.
void Intake::offer_held(bool all) {
  std::size_t offered = 0;
  for (SampleBlock& block : held_) {
    const bool complete = position_ >= block.end() + reach_.future;
    if (!complete && !all) break;
    block.future = std::min(reach_.future, position_ - block.end());
    block.received_ns = steady_ns();
    engine_->room().wait_until([this] { return engine_->offers_left() > 0; });
    engine_->offer(block);
    ++offered;
  }
  if (offered) held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(offered));
}

void Intake::note_silence(std::int64_t now) {
  const double block_ns = info_.rate_hz > 0 ? static_cast<double>(block_) * 1e9 / info_.rate_hz : 0;
  const auto few_blocks = std::max<std::int64_t>(static_cast<std::int64_t>(2 * block_ns), 50'000'000);
  if (now - last_data_ns_ < (options_.stalled_ns ? options_.stalled_ns : few_blocks)) return;
  if (counters_.state.load(std::memory_order_relaxed) != SourceState::streaming) return;
  if (info_.can_wait) return;
  counters_.state = SourceState::stalled;
  counters_.stalls.add();
}

std::int64_t Intake::time_of(SampleIndex sample) const noexcept {
  if (info_.rate_hz <= 0) return time_ns_;
  return time_ns_ +
         static_cast<std::int64_t>(std::llround(static_cast<double>(sample - time_index_) * 1e9 / info_.rate_hz));
}

}  // namespace iqd
