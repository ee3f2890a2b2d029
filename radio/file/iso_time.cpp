// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/iso_time.hpp"

#include <fmt/format.h>

#include <chrono>

namespace iqd::radio {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kFirstYear = 1900, kLastYear = 2150;

constexpr std::int64_t begin_of(int year) {
  const std::chrono::sys_days day = std::chrono::year(year) / std::chrono::January / 1;
  return std::chrono::nanoseconds(day.time_since_epoch()).count();
}
constexpr std::int64_t kFirst = begin_of(kFirstYear), kEnd = begin_of(kLastYear + 1);

bool take(std::string_view& rest, char c) noexcept {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

/// Takes a number of exactly `digits` digits that is at most `most`.
bool take_number(std::string_view& rest, std::size_t digits, int most, int& into) noexcept {
  if (rest.size() < digits) return false;
  into = 0;
  for (const char c : rest.substr(0, digits)) {
    if (c < '0' || c > '9') return false;
    into = 10 * into + (c - '0');
  }
  rest.remove_prefix(digits);
  return into <= most;
}

/// Takes the digits after the point. Returns false if there is a point without a digit.
bool take_fraction(std::string_view& rest, IsoTime& time) noexcept {
  time.resolution_ns = kSecond;
  if (!take(rest, '.')) return true;
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') return false;
  for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1)) {
    if (time.resolution_ns == 1) continue;
    time.resolution_ns /= 10;
    time.ns += (rest.front() - '0') * time.resolution_ns;
  }
  return true;
}

bool take_offset(std::string_view& rest, std::int64_t& minutes) noexcept {
  minutes = 0;
  if (take(rest, 'Z') || take(rest, 'z')) return true;
  const bool east = take(rest, '+');
  if (!east && !take(rest, '-')) return false;
  int h = 0;
  int m = 0;
  if (!take_number(rest, 2, 23, h) || !take(rest, ':') || !take_number(rest, 2, 59, m)) return false;
  minutes = (east ? 1 : -1) * (60 * h + m);
  return true;
}

}  // namespace

std::optional<IsoTime> parse_iso_time(std::string_view text) noexcept {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::int64_t offset = 0;
  IsoTime time;
  // The difference of any two such times fits 64 bits of nanoseconds.
  const bool date = take_number(text, 4, kLastYear, year) && take(text, '-') && take_number(text, 2, 12, month) &&
                    take(text, '-') && take_number(text, 2, 31, day);
  const std::chrono::year_month_day ymd{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                        std::chrono::day(static_cast<unsigned>(day))};
  if (!date || year < kFirstYear || !ymd.ok()) return std::nullopt;
  if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return std::nullopt;
  if (!take_number(text, 2, 23, hour) || !take(text, ':') || !take_number(text, 2, 59, minute) || !take(text, ':') ||
      !take_number(text, 2, 60, second))
    return std::nullopt;
  if (!take_fraction(text, time) || !take_offset(text, offset) || !text.empty()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(ymd).time_since_epoch().count();
  time.ns += ((days * 24 + hour) * 3600 + (minute - offset) * 60 + second) * kSecond;
  // The year must be valid in UTC as well, so that the time can be written and read again.
  return is_plausible_time(time.ns) ? std::optional(time) : std::nullopt;
}

bool is_plausible_time(std::int64_t ns) noexcept {
  return ns >= kFirst && ns < kEnd;
}

bool is_date(std::int64_t ns) noexcept {
  constexpr std::int64_t kYearNs = 365 * 86'400'000'000'000;
  return ns < 0 || ns >= kYearNs;
}

std::string format_iso_time(std::int64_t ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> at{std::chrono::nanoseconds(ns)};
  const auto midnight = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss time{at - midnight};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace iqd::radio
