// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/own_values.hpp"

#include <algorithm>
#include <string_view>

namespace iqd::radio {
namespace {

const DeviceKey* find(const DeviceKeys& keys, std::string_view key) {
  const auto at = std::ranges::find(keys, key, &DeviceKey::key);
  return at == keys.end() ? nullptr : &*at;
}

/// Some modules report 0 for what they have not set yet, and would refuse to set it.
bool is_taken(double value, const std::vector<DeviceKey::Range>& ranges) {
  if (ranges.empty()) return true;
  const double low = std::ranges::min(ranges, {}, &DeviceKey::Range::low).low;
  const double high = std::ranges::max(ranges, {}, &DeviceKey::Range::high).high;
  return low >= high || (value >= low && value <= high);
}

void restore(std::optional<double>& next, const std::optional<double>& before, const DeviceKey* own) {
  if (next || !before || !own) return;
  if (const auto* value = std::get_if<double>(&own->value); value && is_taken(*value, own->ranges)) next = *value;
}

}  // namespace

void restore_own(RadioSettings& next, const RadioSettings& before, const DeviceKeys& own) {
  restore(next.frequency_hz, before.frequency_hz, find(own, "frequency"));
  restore(next.gain_db, before.gain_db, find(own, "gain"));
  restore(next.bandwidth_hz, before.bandwidth_hz, find(own, "bandwidth"));
  const DeviceKey* antenna = find(own, "antenna");
  if (!next.antenna.empty() || before.antenna.empty() || !antenna) return;
  if (const auto* name = std::get_if<std::string>(&antenna->value)) next.antenna = *name;
}

}  // namespace iqd::radio
