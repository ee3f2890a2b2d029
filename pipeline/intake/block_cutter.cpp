// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/block_cutter.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace iqd {
namespace {

/// Additional past that is handed over to the next engine, in case the one after it needs more.
constexpr std::int64_t kSpare = 65536;

}  // namespace

BlockCutter::BlockCutter(std::int64_t block, Reach reach, const StreamClock& clock, TuningLog& tunings,
                         const Excerpt& excerpt) noexcept
    : block_(block),
      reach_(reach),
      clock_(clock),
      tunings_(tunings),
      excerpt_(excerpt),
      position_(excerpt.at),
      block_first_(excerpt.at),
      block_end_(boundary_after(excerpt.at)),
      valid_from_(excerpt.at) {
  find_place();
}

std::int64_t BlockCutter::wanted(std::int64_t samples) const noexcept {
  const SampleIndex first = std::max(position_, excerpt_.first);
  return std::max<std::int64_t>(std::min(position_ + samples, excerpt_.end) - first, 0);
}

/// The next place where a block ends.
SampleIndex BlockCutter::boundary_after(SampleIndex sample) const noexcept {
  SampleIndex next = (sample / block_ + 1) * block_;
  for (const SampleIndex edge : {excerpt_.first - excerpt_.warm, excerpt_.first, excerpt_.end})
    if (sample < edge) next = std::min(next, edge);
  return next;
}

std::int64_t BlockCutter::arrived(std::int64_t samples) {
  std::int64_t dropped = 0;
  while (samples > 0) {
    const std::int64_t n = std::min(samples, left_in_block());
    samples -= n;
    if (dropping_) {
      dropped += wanted(n);
      leave_out(n);
      if (position_ < block_end_) continue;
      block_end_ = boundary_after(position_);
      dropping_ = false;
      find_place();
      continue;
    }
    position_ += n;
    ring_.end = place_of(position_);
    if (position_ == block_end_) cut();
  }
  complete_held(false);
  return dropped;
}

void BlockCutter::skip(std::int64_t samples) {
  finish();
  leave_out(samples);
  block_end_ = boundary_after(position_);
  dropping_ = false;
  find_place();
}

void BlockCutter::start_dropping() {
  complete_held(true);
  dropping_ = true;
}

void BlockCutter::end_piece() {
  finish();
  valid_from_ = position_;
}

void BlockCutter::finish() {
  cut();
  complete_held(true);
}

void BlockCutter::take_complete() {
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(std::exchange(complete_, 0)));
}

void BlockCutter::leave_out(std::int64_t samples) noexcept {
  position_ += samples;
  gap_ += samples;
  missing_ += samples;
  valid_from_ = position_;
  block_first_ = position_;
}

/// After missing samples, the ring continues at the same offset within a block as the stream, so that windows get the
/// same addresses again; see Engine::rehearse.
void BlockCutter::find_place() noexcept {
  ring_.skipped = (position_ - ring_.end) / block_ * block_;
}

void BlockCutter::cut() {
  if (position_ > block_first_) {
    SampleBlock block;
    block.first = block_first_;
    block.skipped = ring_.skipped;
    block.length = position_ - block_first_;
    block.past = std::min(reach_.past, block_first_ - valid_from_);
    block.gap = std::exchange(gap_, 0);
    block.fresh = block_first_ == valid_from_ && !is_within(block_first_);
    block.dropped = missing_;
    block.time_ns = clock_.time_of(block_first_);
    block.time = clock_.source();
    tunings_.mark(block);
    block.warms = block.first < excerpt_.first;
    if (is_cut(block.first)) held_.push_back(block);
  }
  block_first_ = position_;
  if (position_ >= block_end_) block_end_ = boundary_after(position_);
}

/// `all`: nothing follows them.
void BlockCutter::complete_held(bool all) {
  for (; complete_ < held_.size(); ++complete_) {
    SampleBlock& block = held_[complete_];
    const std::int64_t behind = position_ - block.end();
    if (!all && behind < reach_.future) break;
    block.future = std::min(reach_.future, behind);
  }
}

BlockCutter::HandOver BlockCutter::hand_over(std::int64_t block, Reach reach, std::int64_t most) {
  assert(complete_ == 0);
  const SampleIndex from = held_.empty() ? block_first_ : held_.front().first;
  const SampleIndex end = position_;
  if (!held_.empty()) gap_ = held_.front().gap;
  tunings_.unmark(held_);
  held_.clear();
  block_ = block;
  reach_ = reach;
  const SampleIndex kept = std::max({valid_from_, ring_.from, end - most, from - reach.past - kSpare});
  const HandOver over{kept, place_of(kept), std::max<std::int64_t>(end - kept, 0), end - from};
  if (kept > from - reach.past) valid_from_ = kept;
  dropping_ = false;
  position_ = block_first_ = from;
  ring_ = {.from = kept, .skipped = 0, .end = from};
  block_end_ = boundary_after(from);
  return over;
}

}  // namespace iqd
