// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iqd::radio {

/// A time as written in a file, and how finely it was written.
struct IsoTime {
  std::int64_t ns = 0;             // since the Unix epoch
  std::int64_t resolution_ns = 1;  // of its last digit
};

/// Reads `2025-03-31T12:00:00.25Z`; an offset such as `+01:00` is taken for the Z, digits behind the ns are left out.
/// Years from 1900 to 2150, in UTC.
std::optional<IsoTime> parse_iso_time(std::string_view text) noexcept;
/// UTC with nine digits behind the point.
std::string format_iso_time(std::int64_t ns);

}  // namespace iqd::radio
