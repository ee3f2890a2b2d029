// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace iqd {

/// A key of a radio as the open device has it: what was really set, and which values it takes.
struct DeviceKey {
  struct Range {
    double low = 0;
    double high = 0;
    double step = 0;  // 0: none, or unknown
  };
  std::string key;  // as in the driver's fields
  std::variant<std::monostate, double, std::string> value{};
  std::vector<Range> ranges{};         // of numbers; empty: unknown
  std::vector<std::string> choices{};  // of names; empty: unknown
};
using DeviceKeys = std::vector<DeviceKey>;

}  // namespace iqd
