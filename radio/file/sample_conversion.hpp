// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "radio/file/disk_format.hpp"

namespace iqd::radio {

/// Converts samples that are `step` bytes apart to contiguous ones of the format's element.
void read_samples(const DiskFormat& format, const std::byte* from, std::int64_t step, std::int64_t samples,
                  std::byte* to) noexcept;
/// Whether samples of this element can be stored like this.
bool can_write(const DiskFormat& format, Element element) noexcept;
/// Stores contiguous samples `step` bytes apart, rounded to the nearest number. Returns how many parts are beyond full
/// scale, or not a number, and were clipped.
std::int64_t write_samples(const DiskFormat& format, Element element, const std::byte* from, std::int64_t samples,
                           std::byte* to, std::int64_t step) noexcept;

}  // namespace iqd::radio
