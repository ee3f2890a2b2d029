// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/block.hpp"
#include "base/driver.hpp"
#include "pipeline/intake/stream_clock.hpp"
#include "pipeline/intake/tuning_log.hpp"
#include "pipeline/plan/positions.hpp"

namespace iqd {

/// Cuts the stream into blocks. Their boundaries are multiples of the block's length, whatever was lost, and both ends of
/// the excerpt. Knows where in the ring each sample is, but does not access the ring's memory. One thread.
///
/// A block is complete when its future has arrived, or when nothing will follow it; the caller takes complete blocks
/// after each call that may have completed one.
class BlockCutter {
 public:
  /// Only samples of the excerpt become blocks, and those of its warm start.
  BlockCutter(std::int64_t block, Reach reach, const StreamClock& clock, TuningLog& tunings,
              const Excerpt& excerpt = {}) noexcept;

  /// Of the next sample.
  SampleIndex position() const noexcept { return position_; }
  SampleIndex block_end() const noexcept { return block_end_; }
  std::int64_t block() const noexcept { return block_; }
  /// How many of the next samples are of the excerpt.
  std::int64_t wanted(std::int64_t samples) const noexcept;
  std::int64_t left_in_block() const noexcept { return block_end_ - position_; }
  bool is_between_blocks() const noexcept { return position_ == block_first_; }
  bool is_dropping() const noexcept { return dropping_; }
  SampleIndex place_of(SampleIndex sample) const noexcept { return sample - ring_.skipped; }
  /// The place of the oldest sample that blocks in here still need.
  SampleIndex oldest_place() const noexcept {
    return (held_.empty() ? place_of(block_first_) : held_.front().place()) - reach_.past;
  }
  /// The number of blocks that were not taken yet.
  std::int64_t held() const noexcept { return std::ssize(held_); }
  void reserve(std::int64_t blocks) { held_.reserve(static_cast<std::size_t>(blocks)); }

  /// Samples have arrived at their places, or are dropped if `is_dropping`. Returns how many were dropped.
  std::int64_t arrived(std::int64_t samples);
  /// Samples are missing: they have positions, but no place in the ring.
  void skip(std::int64_t samples);
  /// Drops what arrives up to the end of the next block.
  void start_dropping();
  /// The next samples have no past.
  void end_piece();
  /// Makes a block of what arrived since the last one; nothing follows it.
  void finish();

  std::span<SampleBlock> complete() noexcept { return {held_.data(), complete_}; }
  void take_complete();

  /// What another engine's ring has to hold.
  struct HandOver {
    SampleIndex kept;        // the first sample of the past that is handed over
    SampleIndex kept_place;  // in the previous ring; in the next one it is `kept`
    std::int64_t samples;    // from there on
    std::int64_t again;      // the last of them, which arrive again
  };
  /// From the first sample that was not taken on, blocks have this length and reach. `most`: how many samples both
  /// rings hold.
  HandOver hand_over(std::int64_t block, Reach reach, std::int64_t most);

 private:
  void cut();
  void complete_held(bool all);
  void leave_out(std::int64_t samples) noexcept;
  void find_place() noexcept;
  SampleIndex boundary_after(SampleIndex sample) const noexcept;
  /// Whether the stream continues here, though nothing before is delivered.
  bool is_within(SampleIndex sample) const noexcept { return sample > 0 && sample == excerpt_.at; }
  bool is_cut(SampleIndex sample) const noexcept {
    return sample >= excerpt_.first - excerpt_.warm && sample < excerpt_.end;
  }

  struct Ring {
    SampleIndex from = 0;     // it holds all samples from here on
    SampleIndex skipped = 0;  // samples that have no place in it: whole blocks
    SampleIndex end = 0;      // the place after the last sample that has one
  };
  std::int64_t block_;
  Reach reach_;
  const StreamClock& clock_;
  TuningLog& tunings_;
  const Excerpt excerpt_;
  SampleIndex position_;
  SampleIndex block_first_;
  SampleIndex block_end_;
  SampleIndex valid_from_;  // from here on nothing is missing
  Ring ring_;
  std::int64_t gap_ = 0;      // lost just before block_first_
  std::int64_t missing_ = 0;  // lost since the start
  bool dropping_ = false;
  std::vector<SampleBlock> held_;
  std::size_t complete_ = 0;  // how many of the held blocks are complete, first to last
};

}  // namespace iqd
