// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"

#include <algorithm>
#include <vector>

namespace iqd {

std::span<const DriverEntry> all_drivers() {
  static const std::vector<DriverEntry> table = {
#define DRIVER(name) radio::name##_driver(),
#include "radio/drivers.def"
#undef DRIVER
  };
  return table;
}

const DriverEntry* find_driver(std::string_view name) {
  const auto all = all_drivers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const DriverEntry& d) { return d.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace iqd
