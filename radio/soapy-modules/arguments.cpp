// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace iqd::soapy_module {

void refuse(const std::string& module, const std::string& key, const std::string& value, const std::string& wanted) {
  throw std::invalid_argument(module + ": " + key + "=" + value + ": " + wanted);
}

void Arguments::refuse(const std::string& key, const std::string& value, const std::string& wanted) const {
  soapy_module::refuse(module_, key, value, wanted);
}

std::optional<double> Arguments::number(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (end == found->second.c_str() || *end != '\0' || !std::isfinite(value)) refuse(key, found->second, "not a number");
  return value;
}

double Arguments::number_up_to(const std::string& key, double otherwise, double high) const {
  const double value = number(key, otherwise);
  check_up_to(key, value, high);
  return value;
}

void Arguments::check_up_to(const std::string& key, double value, double high) const {
  if (value >= 0 && value <= high) return;
  std::ostringstream wanted;
  wanted << "expected a number from 0 to " << high;
  refuse(key, values_.at(key), wanted.str());
}

std::vector<double> Arguments::list(const std::string& key, const std::string& otherwise) const {
  std::vector<double> values;
  std::istringstream stream(text(key, otherwise));
  for (std::string one; std::getline(stream, one, '/');)
    values.push_back(*Arguments(module_, {{key, one}}).number(key));
  return values;
}

std::vector<double> Arguments::numbers(const std::string& key, std::int64_t count, const std::string& each) const {
  const std::string all = text(key, "");
  if (all.empty()) return std::vector<double>(static_cast<std::size_t>(count), 0.0);
  std::vector<double> values = list(key);
  if (std::ssize(values) != count)
    refuse(key, all, "expected " + std::to_string(count) + " numbers separated by /, " + each);
  return values;
}

std::vector<double> Arguments::numbers_or_one(const std::string& key, std::int64_t count,
                                              const std::string& each) const {
  const std::string all = text(key, "");
  if (all.empty()) return {};
  if (all.find('/') == std::string::npos) return std::vector<double>(static_cast<std::size_t>(count), *number(key));
  return numbers(key, count, each);
}

std::vector<double> Arguments::numbers_up_to(const std::string& key, std::int64_t count, const std::string& each,
                                             double high) const {
  std::vector<double> values = numbers_or_one(key, count, each);
  for (const double value : values) check_up_to(key, value, high);
  return values;
}

std::int64_t Arguments::count(const std::string& key, std::int64_t otherwise, std::int64_t low,
                              std::int64_t high) const {
  const std::optional<double> value = number(key);
  if (!value) return otherwise;
  if (*value != std::floor(*value) || *value < static_cast<double>(low) || *value > static_cast<double>(high))
    refuse(key, values_.at(key), "expected a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return static_cast<std::int64_t>(*value);
}

bool Arguments::flag(const std::string& key, bool otherwise) const {
  const std::string value = text(key, otherwise ? "true" : "false");
  if (value == "true" || value == "1" || value == "yes" || value == "on") return true;
  if (value == "false" || value == "0" || value == "no" || value == "off") return false;
  refuse(key, value, "expected true or false");
}

std::string Arguments::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

std::size_t Arguments::choice(const std::string& key, std::string_view otherwise,
                              std::span<const std::string_view> names) const {
  const std::string value = text(key, std::string(otherwise));
  const auto found = std::find(names.begin(), names.end(), value);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string known;
  for (const std::string_view name : names) known.append(known.empty() ? "" : ", ").append(name);
  refuse(key, value, "expected one of: " + known);
}

std::vector<std::size_t> Arguments::choices(const std::string& key, std::string_view otherwise,
                                            std::span<const std::string_view> names, std::int64_t count,
                                            const std::string& each) const {
  const std::string all = text(key, std::string(otherwise));
  std::vector<std::size_t> chosen;
  std::istringstream stream(all);
  for (std::string one; std::getline(stream, one, '/');)
    chosen.push_back(Arguments(module_, {{key, one}}).choice(key, otherwise, names));
  if (chosen.size() == 1) chosen.resize(static_cast<std::size_t>(count), chosen.front());
  if (std::ssize(chosen) != count)
    refuse(key, all, "expected one word, or " + std::to_string(count) + " separated by /, " + each);
  return chosen;
}

std::optional<std::string> Arguments::unknown(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : values_)
    if (std::find(known.begin(), known.end(), key) == known.end()) return key;
  return std::nullopt;
}

}  // namespace iqd::soapy_module
