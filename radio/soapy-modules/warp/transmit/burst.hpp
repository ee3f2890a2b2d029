// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace iqd::warp {

/// The samples of a burst, gathered until it is whole: a row for each chain. One thread.
class Burst {
 public:
  Burst(std::size_t chains, std::uint32_t most) : most_(most), rows_(chains, Row(std::size_t{2} * most)) {}

  /// The caller's samples of all chains.
  class Rows {
   public:
    virtual ~Rows() = default;
    /// Copies `count` samples from `at` on, I and Q interleaved.
    virtual void copy(std::size_t row, std::uint32_t at, std::uint32_t count, std::int16_t* to) const = 0;
  };
  /// Appends `count` samples from `at` on; there must be room.
  void append(const Rows& from, std::uint32_t at, std::uint32_t count) {
    for (std::size_t c = 0; c < rows_.size() && count > 0; ++c)
      from.copy(c, at, count, &rows_[c][std::size_t{2} * size_]);
    size_ += count;
  }
  void clear() noexcept { size_ = 0; }

  /// Samples of each chain.
  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t room() const noexcept { return most_ - size_; }
  const std::int16_t* iq(std::size_t chain, std::uint32_t at) const noexcept {
    return &rows_[chain][std::size_t{2} * at];
  }

 private:
  using Row = std::vector<std::int16_t>;  // I and Q interleaved
  std::uint32_t most_;
  std::vector<Row> rows_;
  std::uint32_t size_ = 0;
};

}  // namespace iqd::warp
