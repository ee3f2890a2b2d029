// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "signal/transmit/uplink_waveform.hpp"

/// Periodic test signals for transmitters (signal/transmit/uplink_waveform.hpp):
///
/// in   cf32 [n]  only their positions count
/// out  cf32 [n]  sample n of the periodic waveform
///
/// The period is computed in advance. Keeps nothing between calls.
namespace iqd::test_waveform {

/// lte10: one carrier of 10 MHz. carriers: several of 3 MHz.
enum class Kind : std::uint8_t { lte10, carriers };
inline std::span<const std::string_view> enum_names(Kind) {
  static constexpr std::string_view names[] = {"lte10", "carriers"};
  return names;
}

struct Config {
  Kind kind = Kind::lte10;
  std::vector<double> frequencies = {};
  std::optional<double> bandwidth = {};
  std::optional<double> rms = {};
  std::int64_t seed = 4;

  void fields(FieldVisitor& visitor);
  /// The waveform that the keys describe, at this rate.
  UplinkWaveform waveform(double rate_hz) const;
};

/// y(0) is sample `first` of the endless signal; `period` is not empty.
void play(std::span<const cf32> period, std::int64_t first, std::span<cf32> y) noexcept;

}  // namespace iqd::test_waveform
