// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "signal/channels/channel_power.hpp"

/// The meter of acpr_meter, whose header describes the results, with its keys; aph_estimator uses it too, for its
/// reports. The parts that are not inline are in that stage's folder.
namespace iqd::acpr_meter {

inline constexpr float kFloorDb = -200;
/// NaN for anything not finite, since a transform may turn infinity into NaN or the reverse.
IQD_HOST_DEVICE inline float decibels(double ratio) noexcept {
  constexpr double kLeast = 1e-20;  // kFloorDb
  if (ratio < kLeast) return kFloorDb;
  return static_cast<float>(ratio < HUGE_VAL ? 10 * log10(ratio) : NAN);
}

/// low and high: below the lowest carrier, and above the highest.
inline constexpr std::array<std::string_view, 12> kLevels{
    "carrier",  "adjacent_low", "adjacent_high", "alternate_low", "alternate_high", "im3_low",
    "im3_high", "im5_low",      "im5_high",      "image_low",     "image_high",     "lo"};

struct Config {
  std::vector<double> carriers{0};
  double bandwidth = 0;
  std::optional<double> spacing = {};
  std::int64_t size = 4096;
  std::int64_t average = 0;

  void fields(FieldVisitor& visitor);
};

/// Reports what is impossible at this rate to the section; `group` is the prefix of the keys, such as "aclr.", or
/// empty.
void check(const Config& config, double rate_hz, const Section& section, std::string_view group = "");

/// The bands of carriers and levels, as fractions of the sample rate.
class Bands {
 public:
  /// `config` is valid at this rate.
  Bands(const Config& config, double rate_hz);
  std::span<const Band> carriers() const noexcept { return carriers_; }
  /// By kLevels; empty if a level cannot be measured. Not used for the first.
  const std::optional<Band>& level(std::size_t l) const noexcept { return levels_[l]; }
  void measure(std::span<const double> power, std::span<float, kLevels.size()> levels) const noexcept;

 private:
  void set(std::string_view level, double middle, double width);

  std::vector<Band> carriers_;  // from low to high
  std::array<std::optional<Band>, kLevels.size()> levels_;
};

class Meter {
 public:
  /// Throws SetupError if memory is short.
  Meter(const Config& config, double rate_hz)
      : bands_(config, rate_hz), spectrum_(config.size), average_(config.average) {}
  static std::size_t scratch_bytes(std::int64_t size) noexcept;
  /// Returns the number of frames measured. `spectrum` may be empty if nothing reads it.
  std::int64_t run(std::span<const cf32> x, std::span<float, kLevels.size()> levels, std::span<float> spectrum,
                   std::byte* scratch) const noexcept;

 private:
  Bands bands_;
  WelchSpectrum spectrum_;
  std::int64_t average_;
};

}  // namespace iqd::acpr_meter
