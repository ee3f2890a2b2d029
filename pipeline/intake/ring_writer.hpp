// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/driver.hpp"
#include "pipeline/engine/sample_ring.hpp"

namespace iqd {

/// Where the driver writes: to a place in the ring, or aside, for samples that are dropped or whose place is not known
/// yet. One thread.
class RingWriter {
 public:
  /// The most samples per call: small blocks come several at a time, large ones in pieces.
  static constexpr std::int64_t kMost = 65536;

  RingWriter(const StreamInfo& info, const SampleRing& ring);
  /// The size of the memory aside, for such a stream.
  static std::size_t aside_bytes(const StreamInfo& info) noexcept;

  /// One pointer for each channel.
  std::span<std::byte* const> at(SampleIndex place) noexcept;
  std::span<std::byte* const> aside() noexcept;
  /// The pointers that were returned last.
  std::span<std::byte* const> last() const noexcept { return into_; }
  /// Copies what was written to `last` aside.
  void set_aside(std::int64_t samples) noexcept;
  /// Copies samples, from number `from` aside, to their place.
  void put_back(std::int64_t from, SampleIndex place, std::int64_t samples) noexcept;
  /// Changes to another ring, and copies samples from the previous one.
  void move_to(const SampleRing& ring, SampleIndex place, SampleIndex place_before, std::int64_t samples) noexcept;

 private:
  std::size_t bytes(std::int64_t samples) const noexcept { return static_cast<std::size_t>(samples) * sample_bytes_; }

  std::size_t sample_bytes_;
  const SampleRing* ring_;
  std::vector<std::byte*> into_;
  std::vector<std::vector<std::byte>> aside_;
};

}  // namespace iqd
