// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

namespace iqd {

/// Which of the symbols behind a frame's training are midambles, for host and device. Symbols are counted from the
/// training's end; a midamble ends each of `count` equal parts.
struct Midambles {
  std::int32_t symbols = 0;  // behind the training
  std::int32_t count = 0;

  /// The symbol of midamble j: (j + 1) symbols / count, rounded, less one.
  IQD_HOST_DEVICE constexpr std::int32_t at(std::int32_t j) const noexcept {
    return (2 * (j + 1) * symbols + count) / (2 * count) - 1;
  }
  /// The midamble in a symbol; -1: it holds data.
  IQD_HOST_DEVICE constexpr std::int32_t in(std::int32_t symbol) const noexcept {
    for (std::int32_t j = 0; j < count; ++j)
      if (at(j) == symbol) return j;
    return -1;
  }
  /// The symbol of data symbol d.
  IQD_HOST_DEVICE constexpr std::int32_t data(std::int32_t d) const noexcept {
    for (std::int32_t j = 0; j < count; ++j) d += at(j) <= d;
    return d;
  }
  /// Data symbols before a symbol: its number, if it is one.
  IQD_HOST_DEVICE constexpr std::int32_t data_before(std::int32_t symbol) const noexcept {
    std::int32_t d = symbol;
    for (std::int32_t j = 0; j < count; ++j) d -= at(j) < symbol;
    return d;
  }
  friend bool operator==(const Midambles&, const Midambles&) = default;
};

}  // namespace iqd
