// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/key_table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/columns.hpp"
#include "config/quantity.hpp"

namespace iqd {
namespace {

using nlohmann::json;

Unit unit_named(const std::string& name) {
  constexpr std::array kUnits{Unit::hertz, Unit::rate, Unit::seconds, Unit::decibel, Unit::bytes};
  for (const Unit unit : kUnits)
    if (base_unit(unit) == name) return unit;
  return Unit::none;
}

std::string list_text(const json& list, const std::string& unit) {
  constexpr std::size_t kEnough = 8;
  std::string text;
  for (std::size_t i = 0; i < list.size() && i < kEnough; ++i) text += (i > 0 ? ", " : "") + value_text(list[i], unit);
  return text + (list.size() > kEnough ? ", …" : "");
}

std::string range_text(const json& key, const std::string& unit) {
  if (key.contains("choices")) return list_text(key["choices"], unit);
  if (!key.contains("range")) return "";
  const json &low = key["range"][0], &high = key["range"][1];
  if (high.is_null()) return "≥ " + value_text(low, unit);
  if (low.is_null()) return "≤ " + value_text(high, unit);
  return value_text(low, unit) + " … " + value_text(high, unit);
}

/// Seconds since 1970 as local time.
std::string time_text(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm local{};
  ::localtime_r(&whole, &local);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

}  // namespace

std::string value_text(const json& value, const std::string& unit) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() && unit.empty()) return value.dump();
  if (value.is_number()) return quantity_text(value.get<double>(), unit_named(unit));
  if (value.is_array()) return "[" + list_text(value, unit) + "]";
  if (!value.is_object()) return value.dump();
  std::string text;
  for (const auto& [key, one] : value.items())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key, value_text(one, unit));
  return "{" + text + "}";
}

std::string key_table(const json& keys, const std::string& only) {
  std::vector<std::vector<std::string>> rows{{"key", "value", "range", "default", "live", "by", "since"}};
  for (const auto& [name, key] : keys.items()) {
    if (!only.empty() && name != only && !name.starts_with(only + ".")) continue;
    const std::string unit = key.value("unit", "");
    rows.push_back({name, set_text(key), range_text(key, unit),
                    key.contains("default") ? value_text(key["default"], unit) : "(required)",
                    key.value("live", false) ? "live" : "", key.value("by", ""), time_text(key.value("since", 0.0))});
  }
  return in_columns(rows);
}

std::string set_text(const json& key) {
  const std::string unit = key.value("unit", "");
  const std::string value = key.contains("value") ? value_text(key["value"], unit) : "";
  return key.contains("asked") ? fmt::format("{} (asked for {})", value, value_text(key["asked"], unit)) : value;
}

}  // namespace iqd
