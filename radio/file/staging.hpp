// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace iqd::radio {

/// The memory for samples as they are on disk, unless one frame is larger.
inline constexpr std::size_t kStagingBytes = 256u << 10;  // fits a core's L2 cache

/// The same in whole frames: at least one. A frame is one sample of all channels.
constexpr std::size_t staging_bytes(std::size_t frame) noexcept {
  return std::max(kStagingBytes / frame, std::size_t{1}) * frame;
}

}  // namespace iqd::radio
