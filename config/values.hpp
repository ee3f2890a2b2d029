// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/describe.hpp"

namespace iqd {

/// A copy of a field's value; of an enumeration, the name.
using KeyValue = std::variant<bool, std::int64_t, double, std::string, std::complex<double>, std::optional<double>,
                              std::vector<std::int64_t>, std::vector<double>, std::vector<std::complex<double>>,
                              std::vector<std::string>, StringMap>;

/// A key with its value. A group is one, whether it is given, followed by its keys as `group.key`.
struct KeyCopy {
  std::string key;
  KeyValue value;
  FieldInfo info{};
  std::span<const std::string_view> choices{};  // of an enumeration
  bool is_group = false;
};
std::vector<KeyCopy> values_of(const FieldList& fields);

/// Numbers in the base unit; a complex number as `[re, im]`; null: none, or not a number.
nlohmann::json value_json(const KeyValue& value);
/// The number as JSON: without a fraction if it has none.
nlohmann::json number_json(double value);
/// As an operator would write it; long lists end with `…`.
std::string value_text(const KeyValue& value, Unit unit);

}  // namespace iqd
