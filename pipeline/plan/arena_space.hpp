// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// Shares memory among pieces that are in use during different steps: each gets the first place that fits, in the order
/// of the steps. Knows offsets in bytes, but no memory. One thread.
class ArenaSpace {
 public:
  /// Frees what only earlier steps use.
  void begin_step(StepIndex step);
  /// Returns the offset of a piece that is in use up to step `until`, inclusive.
  std::size_t place(std::size_t bytes, StepIndex until);
  /// The size of the memory that all pieces so far need.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Piece {
    std::size_t offset;
    std::size_t bytes;
    StepIndex until;
  };
  std::vector<Piece> in_use_;  // by offset
  std::size_t bytes_ = 0;
};

}  // namespace iqd
