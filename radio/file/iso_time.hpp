// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iqd::radio {

/// A time from a file, and its resolution.
struct IsoTime {
  std::int64_t ns = 0;             // since the Unix epoch
  std::int64_t resolution_ns = 1;  // of its last digit
};

/// Reads `2025-03-31T12:00:00.25Z`. An offset such as `+01:00` may replace the Z; digits after the nanoseconds are
/// ignored. Accepts the years 1900 to 2150, in UTC.
std::optional<IsoTime> parse_iso_time(std::string_view text) noexcept;
/// Whether a time is within these years.
bool is_plausible_time(std::int64_t ns) noexcept;
/// Whether a time is a date. Where no clock is known, as for an array in `iqd exec`, times count from 0 instead.
bool is_date(std::int64_t ns) noexcept;
/// Formats UTC with nine decimals.
std::string format_iso_time(std::int64_t ns);

}  // namespace iqd::radio
