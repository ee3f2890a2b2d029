// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shape.hpp"

namespace iqd {

/// Where the traces of a port lie in its messages. A trace has one entry of each picked dimension, and all entries of
/// the others.
class WatchGrid {
 public:
  static constexpr std::size_t kMostDims = 8;

  /// `picked`: dimensions in ascending order, not the varying one. The format has at most kMostDims.
  WatchGrid(const PortFormat& format, std::vector<std::size_t> picked);
  std::int64_t traces() const noexcept { return traces_; }
  const std::vector<std::size_t>& picked() const noexcept { return picked_; }
  /// The entry that a trace has of picked()[i].
  std::int64_t entry(std::int64_t trace, std::size_t i) const noexcept;

  /// Offsets in elements, for messages of one extent.
  class Layout {
   public:
    /// How many elements a trace has.
    std::int64_t count() const noexcept { return count_; }
    /// Where a trace begins.
    std::int64_t begin(std::int64_t trace) const noexcept;
    /// How far behind that its element i is.
    std::int64_t at(std::int64_t i) const noexcept;

   private:
    friend class WatchGrid;
    struct Step {
      std::int64_t extent;
      std::int64_t stride;
    };
    std::array<Step, kMostDims> own_{}, pooled_{};  // innermost first
    std::size_t owns_ = 0, pools_ = 0;
    std::int64_t count_ = 1;
  };
  Layout layout(std::int64_t extent) const noexcept;

 private:
  struct Extent {
    std::int64_t most;
    bool varies;
    bool is_picked;
  };
  std::vector<std::size_t> picked_;
  std::vector<Extent> dims_;
  std::int64_t traces_ = 1;
};

}  // namespace iqd
