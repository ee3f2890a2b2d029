// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace iqd {

/// The whole number in JSON from anywhere. Throws json::exception if it is another value, or if T cannot hold it:
/// `get<T>` would convert a fraction, and what is too large in an undefined way.
template <class T> T whole_of(const nlohmann::json& value) {
  const auto fits = [](auto number) { return std::in_range<T>(number); };
  if (value.is_number_unsigned() && fits(value.get<std::uint64_t>())) return static_cast<T>(value.get<std::uint64_t>());
  if (value.is_number_integer() && !value.is_number_unsigned() && fits(value.get<std::int64_t>()))
    return static_cast<T>(value.get<std::int64_t>());
  throw nlohmann::json::type_error::create(302, "is not a whole number of its range", &value);
}

}  // namespace iqd
