// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/driver.hpp"

namespace iqd::radio {

/// Whether the items of a port follow each other in time: [n] or [channel][n].
inline bool is_stream(const PortFormat& format) noexcept {
  return (format.dims.size() == 1 || format.dims.size() == 2) &&
         format.varying == static_cast<int>(format.dims.size()) - 1 && format.item_rate_hz > 0;
}

/// `n` items of a message from the item `from` on, which is 0 unless the port is a stream. If rows must be moved
/// together, they go to `storage`, which must outlive the result. A single row, or a whole message, is not copied.
inline Message part_of(const Message& message, std::int64_t from, std::int64_t n, std::vector<std::byte>& storage) {
  const PortFormat& format = *message.format;
  Message part = message;
  part.extent = n;
  if (from > 0) {
    const auto items = static_cast<double>(from);
    const double period = format.rate_hz > 0 ? format.rate_hz / format.item_rate_hz : 1;
    part.sample += std::llround(items * period);
    part.position += from;
    if (part.time_ns != 0) part.time_ns += std::llround(items * 1e9 / format.item_rate_hz);
    part.gap = 0;
    if (part.tuned < part.sample) part.tuned = -1;  // the part before has reported it
    part.trigger = nullptr;                         // and this
    part.facts = {};
  }
  auto item = size_of(format.element);
  for (auto d = static_cast<std::size_t>(format.varying) + 1; format.varying >= 0 && d < format.dims.size(); ++d)
    item *= static_cast<std::size_t>(format.dims[d].extent);
  const std::size_t row = static_cast<std::size_t>(message.extent) * item;
  const std::size_t kept = static_cast<std::size_t>(n) * item;
  const std::size_t rows = row ? message.payload.size() / row : 0;
  const std::byte* const first = message.payload.data() + static_cast<std::size_t>(from) * item;
  if (kept == row) return part;
  if (rows <= 1) {
    part.payload = {first, kept};
    return part;
  }
  storage.resize(rows * kept);
  for (std::size_t r = 0; r < rows; ++r) std::memcpy(storage.data() + r * kept, first + r * row, kept);
  part.payload = storage;
  return part;
}

}  // namespace iqd::radio
