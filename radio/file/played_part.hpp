// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// Which samples of a recording become results, as written: numbers of samples, or times at its rate.
struct PartKeys {
  std::string start{};
  std::string samples{};
  std::string warm{};    // so much before them, stages with a state begin
  std::string window{};  // K/N: the K-th of N parts of that, from 0
};

/// A part of a recording, and its window in that.
struct PlayedPart {
  Excerpt all{};  // of all windows
  std::int64_t warm = 0;
  std::int64_t window = 0;
  std::int64_t windows = 1;
  std::int64_t edges = 0;  // StreamInfo's

  /// The window, cut where blocks begin. It delivers nothing around it.
  Excerpt cut(std::int64_t block) const noexcept;
};

/// `3/16`: number and count; nothing if that is no window.
std::optional<std::pair<std::int64_t, std::int64_t>> window_in(const std::string& text);

/// The same in samples, counted from the recording's first, with those that are missing in it. `report` gets each
/// problem, with its key.
PlayedPart played_part(const PartKeys& keys, const Recording& recording,
                       const std::function<void(std::string_view key, std::string what)>& report);

}  // namespace iqd::radio
