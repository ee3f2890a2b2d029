// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/backend.hpp"
#include "pipeline/backend/tuning.hpp"

namespace iqd {

/// Where a time comes from.
enum class TimeFrom : std::uint8_t {
  measured,  // by `iqd tune FILE`, on this machine
  estimate,  // from the built-in table
  nothing,
};
std::string_view name_of(TimeFrom from);

/// Of a stage.
struct BothTimes {
  std::optional<double> host_us{};
  std::optional<double> device_us{};
  TimeFrom host_from = TimeFrom::nothing;
  TimeFrom device_from = TimeFrom::nothing;
};

/// What is known of how long a block takes on this CPU and on this device: what `iqd tune FILE` has measured, and
/// built-in estimates for what it has not.
class KnownTimes {
 public:
  KnownTimes() = default;
  KnownTimes(TunedTimes host, TunedTimes device) : host_(std::move(host)), device_(std::move(device)) {}
  /// Those that were stored for these backends.
  KnownTimes(const Backend& host, const Backend& device);

  /// By a `time_name`.
  BothTimes measured(const std::string& name) const;
  /// Beyond all stages: on the host once, on a device for each of its runs.
  double host_block_us(Wait wait) const;
  double device_block_us(Wait wait) const;
  /// Whether both of these were measured.
  bool has_blocks(Wait wait) const;
  double to_device_us(std::size_t bytes) const { return crossing_us("to_device", bytes); }
  double to_host_us(std::size_t bytes) const { return crossing_us("to_host", bytes); }
  /// Something was measured, but with another driver or other kernels.
  bool is_stale() const noexcept { return host_.is_stale || device_.is_stale; }

 private:
  double crossing_us(std::string_view way, std::size_t bytes) const;

  TunedTimes host_;
  TunedTimes device_;
};

/// The names of times that belong to no stage.
std::string block_name(Wait wait);
std::string crossing_name(std::string_view way, std::size_t bytes);

/// The built-in estimate for a stage: `samples` elements of its first input, and how far it looks back and ahead.
BothTimes estimated(std::string_view stage, std::int64_t samples, std::int64_t reach);

}  // namespace iqd
