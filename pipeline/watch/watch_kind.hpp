// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/shape.hpp"

namespace iqd {

/// What the live page shows of a port.
enum class WatchKind : std::uint8_t {
  samples,  // a spectrum of the last samples of a block
  bins,     // a spectrum or transform, as it is
  symbols,  // the constellation
  values,   // a histogram of LLRs or soft values
  items,    // facts about packets or frames
};

/// How a port is shown, by its name, element and dimensions; none if the page has no picture of it. Its facts are
/// shown besides.
struct Watchable {
  WatchKind kind;
  std::vector<std::size_t> picked;  // dimensions; each entry of one has its own trace
};
std::optional<Watchable> watchable(const PortFormat& format);
/// Whether its messages have facts about counted items.
bool has_items(const PortFormat& format) noexcept;

}  // namespace iqd
