// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/intake.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/intake/thrown_text.hpp"

namespace iqd {
namespace {

/// The most samples received at once: small blocks come several at a time, large ones in pieces.
constexpr std::int64_t kReceiveMost = 65536;
constexpr std::int64_t kLongestPatienceNs = 5'000'000;  // less than what any radio's buffer holds
/// A call takes 100 ms where nothing comes. One that takes longer says nothing while it does; less may be a thread that
/// had to wait for its processor.
constexpr std::int64_t kLongCallNs = 250'000'000;

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
      most_position_(engine.plan().most_position()),
      block_end_(block_),
      into_(static_cast<std::size_t>(info_.channels)),
      aside_(into_.size(), std::vector<std::byte>(static_cast<std::size_t>(kReceiveMost) * size_of(info_.element))) {
  held_.reserve(static_cast<std::size_t>(engine_->offers_left()));
  frequency_hz_ = info_.frequency_hz;
  counters_.frequency_hz.set(frequency_hz_);
  calibrated_ = look_at_calibration(source);
}

std::size_t Intake::aside_bytes(const StreamInfo& info) noexcept {
  return static_cast<std::size_t>(kReceiveMost) * size_of(info.element) * static_cast<std::size_t>(info.channels);
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

SourceState Intake::state() const noexcept {
  const SourceState state = counters_.state.load();
  const bool silent = state == SourceState::streaming && in_driver_ns() > kLongCallNs && is_overdue(steady_ns());
  return silent ? SourceState::stalled : state;
}

void Intake::run() {
  prepare_thread({"iqd-radio", options_.priority, options_.cpus});
  last_data_ns_ = opened_ns_ = steady_ns();
  Outcome outcome = stream();
  while (outcome == Outcome::failed && info_.reconnects) outcome = reopen() ? stream() : Outcome::stopped;

  cut_block();
  offer_held(true);
  meter_.finish();
  if (outcome == Outcome::failed) failure_ = options_.name + ": the source failed and cannot be opened again";
  counters_.state = outcome == Outcome::failed ? SourceState::failed : SourceState::ended;
  engine_->close();
  ended_.store(true, std::memory_order_release);
  close_source();
  closed_.store(true, std::memory_order_release);
  closed_.notify_all();
}

void Intake::close_source() noexcept {
  in_driver([this] { source_.reset(); });
}

Intake::Outcome Intake::stream() {
  while (!stop_.load(std::memory_order_acquire)) {
    take_change();
    if (!make_room()) return Outcome::stopped;
    const Received received = receive(writable());
    switch (received.event) {
      case Received::Event::samples: take(received); break;
      case Received::Event::overflow: lost_some(counters_.overflows); break;
      case Received::Event::late: lost_some(counters_.late); break;
      case Received::Event::sequence: lost_some(counters_.sequence_errors); break;
      case Received::Event::end: return Outcome::ended;
      case Received::Event::failed: return Outcome::failed;
      case Received::Event::nothing:
        if (received.ends) expect_nothing();
        break;
    }
    if (received.event != Received::Event::samples && !received.ends) {
      const std::int64_t now = steady_ns();
      const std::int64_t silent_ns = now - std::max(last_data_ns_, opened_ns_);
      note_silence(now);
      if (info_.reconnects && silent_ns > options_.silent_ns) {
        in_trouble(fmt::format("no samples for {:.1f} s", static_cast<double>(silent_ns) / 1e9));
        log::warn("{}: {}, opening it again", options_.name, trouble());
        return Outcome::failed;
      }
    }
  }
  return Outcome::stopped;
}

/// How many, the next time stamp tells, or the host's clock.
void Intake::lost_some(Counter& count) noexcept {
  count.add();
  uncertain_ = true;
}

std::string Intake::trouble() const {
  const std::lock_guard lock(trouble_mutex_);
  return trouble_;
}

void Intake::in_trouble(std::string why) {
  const std::lock_guard lock(trouble_mutex_);
  trouble_ = std::move(why);
}

/// Closes the source and tries until it is open again, waiting longer each time; false when told to stop.
bool Intake::reopen() {
  counters_.state = SourceState::reconnecting;
  close_source();
  std::int64_t backoff = options_.backoff_ns;
  do {
    if (!pause(backoff)) return false;
    backoff = std::min(2 * backoff, std::max(options_.longest_backoff_ns, options_.backoff_ns));
  } while (!try_open());
  opened_ns_ = steady_ns();
  if (std::uint64_t more = 0; reconnect_lines_.allow(more))
    log::info("{}: open again{}", options_.name, log::more_times(more));
  counters_.reconnects.add();
  counters_.drift.begin_anew();
  arrivals_.forget();
  tuned_from(position_, *source_options_);
  uncertain_ = true;
  return true;
}

bool Intake::try_open() {
  try {
    const auto grace_ns = static_cast<std::int64_t>(source_options_->opening_wait_s() * 1e9);
    source_ = in_driver([this] { return source_options_->open(); }, grace_ns);
    const StreamInfo now = source_->info();
    if (now.element == info_.element && now.channels == info_.channels && now.rate_hz == info_.rate_hz) {
      info_.time = now.time;
      return true;
    }
    in_trouble("it came back with another format or rate");
    log::error("{}: {}", options_.name, trouble());
    close_source();
    return false;
  } catch (const std::exception& e) {
    in_trouble(fmt::format("it cannot be opened again yet: {}", e.what()));
  } catch (...) {
    in_trouble("it cannot be opened again yet");
  }
  close_source();
  log::warn("{}: {}", options_.name, trouble());
  return false;
}

/// Waits until it is time to try, or the device can be seen again that could not be; false when told to stop.
bool Intake::pause(std::int64_t ns) {
  constexpr std::int64_t kLookNs = 1'000'000'000;
  const std::int64_t until = steady_ns() + ns;
  std::int64_t look = steady_ns() + kLookNs;
  for (std::int64_t now = steady_ns(); now < until && !stop_.load(std::memory_order_acquire); now = steady_ns()) {
    take_change();
    if (now >= look) {
      const bool was_there = std::exchange(is_there_, is_there());
      if (is_there_ && !was_there) break;
      look = steady_ns() + kLookNs;
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp<std::int64_t>(until - steady_ns(), 0, 50'000'000)));
  }
  return !stop_.load(std::memory_order_acquire);
}

/// A driver that cannot look does not say no.
bool Intake::is_there() {
  try {
    return in_driver([this] { return source_options_->is_there(); });
  } catch (...) {
    return is_there_;
  }
}

/// Guards the driver: whatever it throws is a failed radio.
Received Intake::receive(std::int64_t most) {
  for (std::size_t c = 0; c < into_.size(); ++c) into_[c] = dropping_ ? aside_[c].data() : in_ring(c, position_);
  // What would be written over the ring's end goes to its beginning, by another call: the second mapping is for windows
  // alone, and what nobody reads there takes no memory.
  if (!dropping_) most = std::min(most, engine_->before_end(place_of(position_)));
  Received received;
  std::string why;
  const std::int64_t began = steady_ns();
  try {
    received = in_driver([&] { return source_->receive(into_, most); });
    if (const std::int64_t now = steady_ns(); now - began > kLongCallNs) note_silence(now);
    why = doubt(received, most);
  } catch (...) {
    why = thrown_text();
  }
  if (why.empty()) return received;
  received = {};
  received.event = Received::Event::failed;
  if (std::uint64_t more = 0; failure_lines_.allow(more)) log::error("{}: {}", options_.name, why);
  in_trouble(std::move(why));
  return received;
}

/// Its place in the ring.
SampleIndex Intake::oldest_needed() const noexcept {
  const SampleIndex own = held_.empty() ? place_of(block_first_) : held_.front().place();
  return engine_->tail(own - reach_.past);
}

/// At the beginning of a block: sees that the ring can take all of it. When it cannot, waits or begins to drop.
/// False when told to stop while waiting.
bool Intake::make_room() {
  if (dropping_ || position_ != block_first_) return true;
  const auto room = [this] {
    return place_of(block_end_) <= oldest_needed() + engine_->ring_samples() &&
           engine_->offers_left() > std::ssize(held_);
  };
  if (room()) return true;
  if (options_.overrun == Overrun::drop) {
    // What a driver has kept comes at once, faster than lanes wake up. Waiting for less than a block lasts never lets
    // it keep more than that.
    const std::int64_t give_up = steady_ns() + std::min(ns_of(block_) * 3 / 4, kLongestPatienceNs);
    while (steady_ns() < give_up && !stop_.load(std::memory_order_acquire)) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (room()) return true;
    }
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

std::int64_t Intake::writable() const noexcept {
  if (dropping_ || block_end_ - position_ >= kReceiveMost) return std::min(kReceiveMost, block_end_ - position_);
  // A gap before them moves samples on by less than a block. Who waits for room may do so then.
  const std::int64_t spare = options_.overrun == Overrun::drop ? block_ : 0;
  const SampleIndex end = place_of(block_end_);
  const SampleIndex most =
      std::min(oldest_needed() + engine_->ring_samples() - spare, place_of(position_) + kReceiveMost);
  const std::int64_t blocks = std::min((most - end) / block_, engine_->offers_left() - std::ssize(held_) - 1);
  return block_end_ + std::max<std::int64_t>(blocks, 0) * block_ - position_;
}

}  // namespace iqd
