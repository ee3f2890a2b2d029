// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of samples that were received: their place in the stream, gaps, times, blocks.
#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "pipeline/intake/intake.hpp"

namespace iqd {

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

void Intake::take(Received received) {
  const std::int64_t missing = within_reach(missing_before(received));
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
  if (received.has_time || !timed_) set_clock(received);
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

/// What is there is a block, and goes on its way; the next begins anew, at whatever time.
void Intake::end_piece() {
  cut_block();
  offer_held(true);
  valid_from_ = position_;
  timed_ = false;
  counters_.drift.begin_anew();
  arrivals_.forget();
  expect_nothing();
}

/// Samples that were set aside go where they belong, block by block as far as there is room.
void Intake::put_back(std::int64_t samples) {
  const std::size_t size = size_of(info_.element);
  std::int64_t done = 0;
  while (done < samples && make_room()) {
    const std::int64_t n = std::min(samples - done, block_end_ - position_);
    for (std::size_t c = 0; c < into_.size() && !dropping_; ++c)
      std::memcpy(in_ring(c, position_), aside_[c].data() + static_cast<std::size_t>(done) * size,
                  static_cast<std::size_t>(n) * size);
    arrived(n);
    done += n;
  }
  counters_.drops(Drop::stopped).add(static_cast<std::uint64_t>(samples - done));
}

/// The stream goes on `samples` later.
void Intake::skip(std::int64_t samples) {
  cut_block();
  offer_held(true);
  leave_out(samples);
  block_end_ = (position_ / block_ + 1) * block_;
  dropping_ = false;
  find_place();
}

/// These samples are missing: they have positions, and no place in the ring.
void Intake::leave_out(std::int64_t samples) noexcept {
  position_ += samples;
  gap_ += samples;
  missing_ += samples;
  valid_from_ = position_;
  block_first_ = position_;
}

/// Behind what is missing the ring goes on as far into a block as the stream does, so that windows come back to the
/// same addresses; see Engine::rehearse.
void Intake::find_place() noexcept {
  skipped_ = (position_ - ring_end_) / block_ * block_;
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
    ring_end_ = place_of(position_);
    if (position_ == block_end_) cut_block();
  }
  offer_held(false);
}

void Intake::discard(std::int64_t samples) {
  counters_.drops(engine_->slots_are_out() ? Drop::slots : Drop::lanes).add(static_cast<std::uint64_t>(samples));
  leave_out(samples);
  if (position_ < block_end_) return;
  block_end_ += block_;
  dropping_ = false;
  find_place();
}

/// What has arrived since the last block becomes one.
void Intake::cut_block() {
  if (position_ > block_first_) {
    SampleBlock block;
    block.first = block_first_;
    block.skipped = skipped_;
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
  const std::int64_t left_ns = std::max<std::int64_t>(0, ahead_ns_ - (now - last_data_ns_));
  ahead_ns_ = std::min(left_ns + ns_of(samples), options_.silent_ns / 2);
  const std::int64_t few_blocks_ns = std::max<std::int64_t>(ns_of(2 * block_), 50'000'000);
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

}  // namespace iqd
