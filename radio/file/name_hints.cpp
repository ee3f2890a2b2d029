// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/name_hints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace iqd::radio {
namespace {

constexpr std::pair<std::string_view, double> kFrequencies[] = {
    {"m", 1e6}, {"hz", 1}, {"khz", 1e3}, {"mhz", 1e6}, {"ghz", 1e9}};
constexpr std::pair<std::string_view, double> kRates[] = {
    {"k", 1e3}, {"sps", 1}, {"ksps", 1e3}, {"msps", 1e6}, {"gsps", 1e9}};

constexpr double kMostHz = 1e15;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
bool all_digits(std::string_view text, std::size_t length) noexcept {
  return text.size() == length && std::ranges::all_of(text, is_digit);
}

/// The parts between other characters, in lower case; a dot between digits belongs to its number.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool point = c == '.' && i > 0 && is_digit(name[i - 1]) && i + 1 < name.size() && is_digit(name[i + 1]);
    if (std::isalnum(static_cast<unsigned char>(c)) || point)
      parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!parts.back().empty())
      parts.emplace_back();
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

/// The number that a part begins with, and the rest of it.
std::optional<std::pair<double, std::string_view>> quantity(std::string_view part) {
  if (part.empty() || !is_digit(part.front())) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  return std::pair(value, part.substr(static_cast<std::size_t>(end - part.data())));
}

void read_part(std::string_view part, NameHints& hints) {
  const auto number = quantity(part);
  if (!number) {
    // Words such as `short` or `f32` are more often something else.
    const bool is_name = part.size() > 2 && part.front() == 'c' && is_digit(part.back());
    const DiskFormat* const named = is_name ? find_raw_format(part) : nullptr;
    if (named) hints.format = named;
    return;
  }
  for (const auto& [unit, factor] : kFrequencies)
    if (number->second == unit && number->first < kMostHz) hints.frequency_hz = number->first * factor;
  for (const auto& [unit, factor] : kRates)
    if (number->second == unit && number->first > 0) hints.rate_hz = number->first * factor;
}

/// `20150804`, `204851z`.
std::optional<IsoTime> time_of(std::string_view day, std::string_view time) {
  if (!all_digits(day, 8) || time.size() != 7 || time.back() != 'z' || !all_digits(time.substr(0, 6), 6)) return {};
  const auto two = [](std::string_view text, std::size_t at) { return std::string(text.substr(at, 2)); };
  return parse_iso_time(std::string(day.substr(0, 4)) + "-" + two(day, 4) + "-" + two(day, 6) + "T" + two(time, 0) +
                        ":" + two(time, 2) + ":" + two(time, 4) + "Z");
}

void read_gqrx(const std::vector<std::string>& parts, NameHints& hints) {
  if (parts.size() < 6 || parts[0] != "gqrx" || parts[5] != "fc") return;
  const auto frequency = quantity(parts[3]), rate = quantity(parts[4]);
  if (!frequency || !rate || !frequency->second.empty() || !rate->second.empty()) return;
  hints.frequency_hz = frequency->first;
  hints.rate_hz = rate->first;
  hints.format = find_raw_format("cf32");
}

}  // namespace

NameHints hints_in(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const std::vector<std::string> parts = parts_of(name);
  NameHints hints;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    read_part(parts[i], hints);
    if (i > 0 && !hints.time) hints.time = time_of(parts[i - 1], parts[i]);
  }
  read_gqrx(parts, hints);
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos || dot == 0) return hints;
  if (const DiskFormat* const ending = find_raw_format(name.substr(dot + 1))) hints.format = ending;
  return hints;
}

}  // namespace iqd::radio
