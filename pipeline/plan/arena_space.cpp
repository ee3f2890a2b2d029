// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/arena_space.hpp"

#include <algorithm>

namespace iqd {

void ArenaSpace::begin_step(StepIndex step) {
  std::erase_if(in_use_, [step](const Piece& piece) { return piece.until < step; });
}

std::size_t ArenaSpace::place(std::size_t bytes, StepIndex until) {
  std::size_t at = 0;
  auto behind = in_use_.begin();
  for (; behind != in_use_.end() && at + bytes > behind->offset; ++behind)
    at = std::max(at, behind->offset + behind->bytes);
  in_use_.insert(behind, {at, bytes, until});
  bytes_ = std::max(bytes_, at + bytes);
  return at;
}

}  // namespace iqd
