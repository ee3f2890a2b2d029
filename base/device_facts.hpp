// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace iqd {

/// What somebody who writes code for a device wants to know of it: `{"shared_memory_per_block_bytes", 232448}`. The
/// key's end is the unit: _bytes, _hz, _bytes_per_s.
struct DeviceFact {
  std::string key;
  std::variant<std::int64_t, double, bool, std::string> value;
};

/// What `Backend::device_facts` gives.
struct DeviceFactsTable {
  /// Of the device that is current.
  std::vector<DeviceFact> (*facts)();
};

}  // namespace iqd
