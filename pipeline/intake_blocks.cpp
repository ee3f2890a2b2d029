// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of samples that were received: their place in the stream, gaps, times, blocks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "pipeline/intake.hpp"

namespace iqd {
namespace {

/// A clock that runs ahead of the time that has passed by more was set anew. Less may be a loss in a stream that comes
/// faster than real time.
constexpr double kClockSlackSeconds = 0.5;
/// A clock that goes back by no more may be one that trembles.
constexpr std::int64_t kMostJitterNs = 5'000'000;
constexpr int kInStep = 64;
/// Positions and times beyond are no driver's honest answer: a float of 64 bits holds every position before, and times
/// may be subtracted from each other.
constexpr SampleIndex kMostPosition = SampleIndex{1} << 53;
constexpr std::int64_t kMostTimeNs = (std::int64_t{1} << 62) - 1;

std::int64_t bounded_ns(double ns) noexcept {
  constexpr auto kMost = static_cast<double>(kMostTimeNs);
  return ns >= kMost ? kMostTimeNs : ns <= -kMost ? -kMostTimeNs : std::llround(ns);
}

}  // namespace

/// A piece has ended, and the next one comes when it comes.
void Intake::expect_nothing() noexcept {
  due_ns_.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
  all_is_well();
}

void Intake::all_is_well() noexcept {
  if (counters_.state.load(std::memory_order_relaxed) == SourceState::streaming) return;
  counters_.state = SourceState::streaming;
  const std::lock_guard lock(trouble_mutex_);
  trouble_.clear();
}

/// What cannot be true. Where the driver cannot be believed any more it says why.
std::string Intake::doubt(Received& received, std::int64_t most) {
  if (received.event != Received::Event::samples) return {};
  if (received.samples < 0 || received.samples > most)
    return fmt::format("the driver wrote {} samples where {} were asked for", received.samples, most);
  if (received.lost < 0 || received.lost > kMostPosition - position_)
    return fmt::format("the driver says that {} samples are missing", received.lost);
  if (received.has_time && (received.time_ns > kMostTimeNs || received.time_ns < -kMostTimeNs)) {
    received.has_time = false;
    counters_.time_jumps.add();
    uncertain_ = true;
  }
  if (received.samples == 0 && received.lost == 0) received.event = Received::Event::nothing;
  return {};
}

void Intake::take(Received received) {
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
  const std::int64_t now = steady_ns();
  expect_more(now, received.samples);
  last_data_ns_ = now;
  if (received.tuned >= 0 && received.tuned < received.samples)
    tuned_from(position_ + received.tuned, *source_options_);
  watch_clock(position_ + received.samples);
  if (missing > 0)
    put_back(received.samples);
  else
    arrived(received.samples);
  if (received.ends) end_piece();
}

void Intake::watch_clock(SampleIndex end) noexcept {
  if (info_.can_wait || info_.rate_hz <= 0 || !counters_.drift.saw(time_of(end), last_data_ns_)) return;
  const std::int64_t host_clocks_ns = wall_ns() - steady_ns();
  if (info_.time == TimeSource::radio)
    counters_.ahead_s.set(-static_cast<double>(counters_.drift.delay_ns() + host_clocks_ns) / 1e9);
}

/// What is there is a block, and goes on its way; the next begins anew, at whatever time.
void Intake::end_piece() {
  cut_block();
  offer_held(true);
  valid_from_ = position_;
  timed_ = false;
  counters_.drift.begin_anew();
  expect_nothing();
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
std::int64_t Intake::missing_before(Received& received) {
  const bool uncertain = std::exchange(uncertain_, false);
  if (received.lost > 0 || info_.rate_hz <= 0 || !timed_) return received.lost;
  const auto passed = static_cast<double>(steady_ns() - last_data_ns_) / 1e9;
  if (received.has_time) {
    std::int64_t late_ns = 0;
    if (__builtin_sub_overflow(received.time_ns, time_of(position_), &late_ns)) late_ns = kMostTimeNs;
    const double late_s = static_cast<double>(late_ns) / 1e9;
    if (std::fabs(late_s * info_.rate_hz) < 0.5) {
      if (++in_step_ >= kInStep) jitter_ns_ = 0;
      return 0;
    }
    in_step_ = 0;
    if (!uncertain && is_jitter(late_ns)) {
      received.has_time = false;
      return 0;
    }
    if (late_s > 0 && late_s <= passed + kClockSlackSeconds) return std::llround(late_s * info_.rate_hz);
    counters_.time_jumps.add();
    if (std::uint64_t more = 0; jump_lines_.allow(more))
      log::warn("{}: its clock jumped by {:.6f} s{}", options_.name, late_s,
                more ? fmt::format(" ({} jumps more since the last line)", more) : "");
    counters_.drift.begin_anew();
  }
  if (!uncertain) return 0;
  // Without a clock that holds, the host's tells how long nothing came.
  counters_.drift.begin_anew();
  return std::max<std::int64_t>(1, std::llround(passed * info_.rate_hz) - received.samples);
}

/// Time stamps may come from a clock that is not the samples': a host's, or one that counts microseconds. Such go back
/// by a little now and then, which the time of samples cannot. From then on those that differ as little tell of no
/// loss, and what they say is followed slowly, until enough of them in a row agree to the sample.
bool Intake::is_jitter(std::int64_t late_ns) noexcept {
  const bool little = std::abs(late_ns) <= jitter_ns_;
  if (little) {
    time_ns_ = time_of(position_) + late_ns / kInStep;
    time_index_ = position_;
  } else if (late_ns < 0 && -late_ns <= kMostJitterNs) {
    jitter_ns_ = -2 * late_ns;
  }
  return little;
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
    mark_tuning(block);
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

/// Samples that a radio gives many at once are those of a while, and it takes as long until the next come.
void Intake::expect_more(std::int64_t now, std::int64_t samples) noexcept {
  const double sample_ns = info_.rate_hz > 0 ? 1e9 / info_.rate_hz : 0;
  const std::int64_t given_ns = bounded_ns(static_cast<double>(samples) * sample_ns);
  const std::int64_t left_ns = std::max<std::int64_t>(0, ahead_ns_ - (now - last_data_ns_));
  ahead_ns_ = std::min(left_ns + given_ns, options_.silent_ns / 2);
  const auto few_blocks_ns =
      std::max<std::int64_t>(bounded_ns(2 * static_cast<double>(block_) * sample_ns), 50'000'000);
  const std::int64_t patience_ns = options_.stalled_ns ? options_.stalled_ns : few_blocks_ns;
  due_ns_.store(now + ahead_ns_ + patience_ns, std::memory_order_relaxed);
}

bool Intake::is_overdue(std::int64_t now) const noexcept {
  return !info_.can_wait && now > due_ns_.load(std::memory_order_relaxed);
}

void Intake::note_silence(std::int64_t now) {
  if (counters_.state.load(std::memory_order_relaxed) != SourceState::streaming || !is_overdue(now)) return;
  counters_.state = SourceState::stalled;
  counters_.stalls.add();
}

std::int64_t Intake::time_of(SampleIndex sample) const noexcept {
  if (info_.rate_hz <= 0) return time_ns_;
  return time_ns_ + bounded_ns(static_cast<double>(sample - time_index_) * 1e9 / info_.rate_hz);
}

}  // namespace iqd
