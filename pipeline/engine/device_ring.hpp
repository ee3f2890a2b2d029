// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/backend.hpp"
#include "pipeline/engine/block_ports.hpp"
#include "pipeline/engine/sample_ring.hpp"

namespace iqd {

/// The newest samples of the source in a device's memory, so that each crosses to it once. Its places are those of the
/// host's ring. Windows lie in one piece: room before the first place and behind the last one holds what a window over
/// the end needs, and when a turn begins, it is copied there from the end of the last one.
///
/// What a block's window replaces is older than all blocks that the host's ring has room for, so no block still reads
/// it. One thread at a time.
class DeviceRing {
 public:
  /// The copies that complete a block's window, between places.
  struct Fill {
    SampleIndex begin = 0;  // from here on, if another turn has begun: within the ring
    SampleIndex have = 0;   // from here on: from the host
    SampleIndex end = 0;
    std::int64_t turn = 0;
    std::int64_t turn_before = 0;
    const std::int64_t* number = nullptr;  // of the fill, where the device reads it; null: the stream is in order
  };

  /// `lanes`: how many of the device's lanes read it. `within_works`: works contain their fills, so that a rehearsed one
  /// has its own.
  DeviceRing(const Plan& plan, std::int64_t host_samples, Backend& device, int lanes, bool within_works);
  /// Its memory on the device.
  static std::size_t bytes(const Plan& plan, std::int64_t host_samples) noexcept;

  /// Where the block's window lies.
  SourceWindow window(const SampleBlock& block) const noexcept;
  /// What completes the block's window. Blocks come in their order; of those of one lane, one runs at a time. `lane`: the
  /// device's lane.
  Fill next(const SampleBlock& block, int lane) noexcept;
  void enqueue(const Fill& fill, const SampleRing& host, StreamView stream) noexcept;
  /// Fills with equal keys enqueue the same operations.
  std::uint64_t layout_key(const Fill& fill, const SampleRing& host) const noexcept;
  /// After rehearsals: forgets them.
  void restart() noexcept;

 private:
  struct Layout {
    Layout(const Plan& plan, std::int64_t host_samples) noexcept;
    std::size_t sample_bytes;
    std::size_t rows;
    std::int64_t samples;  // of a turn: whole blocks
    std::int64_t before;   // the past of a turn's first sample
    std::size_t pitch;     // bytes from row to row
  };
  std::byte* at(SampleIndex place, std::int64_t turn) const noexcept {
    return memory_.data() +
           static_cast<std::size_t>(layout_.before + place - turn * layout_.samples) * layout_.sample_bytes;
  }
  std::int64_t turn_of(const SampleBlock& block) const noexcept { return block.place() / layout_.samples; }
  void copy(std::byte* to, const std::byte* from, std::size_t from_pitch, std::int64_t samples,
            StreamView stream) noexcept;

  const Layout layout_;
  Backend& device_;
  Buffer memory_;
  // What orders the copies of several lanes: on their streams, or within their works.
  std::unique_ptr<Fence> fence_;
  std::unique_ptr<Turns> turns_;
  Buffer numbers_;  // of each lane's fill
  std::int64_t fills_ = 0;
  SampleIndex filled_ = 0;  // the place behind the last sample that was copied
  std::int64_t turn_ = 0;   // where it lies
};

}  // namespace iqd
