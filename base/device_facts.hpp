// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace iqd {

/// A fact about a device for authors of kernels: `{"shared_memory_per_block_bytes", 232448}`. The key ends with the
/// unit: _bytes, _hz, _bytes_per_s.
struct DeviceFact {
  std::string key;
  std::variant<std::int64_t, double, bool, std::string> value;
};

/// The result of `Backend::device_facts`.
struct DeviceFactsTable {
  /// Facts of the current device.
  std::vector<DeviceFact> (*facts)();
};

}  // namespace iqd
