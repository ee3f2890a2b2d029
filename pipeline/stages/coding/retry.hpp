// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

/// A second pass over the frames in which a word failed: failed_frames takes them out of a block, in order, and merge_words
/// puts what became of their words back.
namespace iqd::coding {

/// Which words of a block's frames failed: [frame][word], not 0.
struct FailedWords {
  const std::uint8_t* failed;
  std::int64_t words;  // of a frame

  IQD_HOST_DEVICE bool word(std::int64_t frame, std::int64_t w) const noexcept {
    return failed[frame * words + w] != 0;
  }
  IQD_HOST_DEVICE bool any(std::int64_t frame) const noexcept {
    for (std::int64_t w = 0; w < words; ++w)
      if (word(frame, w)) return true;
    return false;
  }
};

}  // namespace iqd::coding
