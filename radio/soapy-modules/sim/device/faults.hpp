// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/arguments.hpp"

namespace iqd::sim {

/// A fault at a sample.
struct Fault {
  enum class Kind : std::uint8_t { none, overflow, late, loss, stall, jump, disconnect, hang, hang_close };
  Kind kind = Kind::none;
  std::int64_t lost = 0;  // overflow, late, loss: samples
  double seconds = 0;     // stall, jump: how long, how far; disconnect: how long
};

/// The faults from the device arguments, at positions of the sample clock. One-time faults happen once per serial
/// number and process, so a device that is opened again works.
class Faults {
 public:
  Faults(const Arguments& arguments, double rate_hz);
  /// How many samples from position `next` on can be read before the next fault.
  std::int64_t clear_until(std::int64_t next) const noexcept;
  /// Returns the fault that is due at or before `next`, and removes it.
  Fault take(std::int64_t next);

  /// Whether the device with this serial number is currently unplugged.
  static bool unplugged(const std::string& serial);

 private:
  struct Event {
    Fault fault;
    std::int64_t at = 0;
    std::int64_t every = 0;  // 0: once
  };
  void once(Fault::Kind kind, const Arguments& args, double rate_hz, const std::string& when, double seconds);
  void repeat(Fault::Kind kind, const Arguments& args, const std::string& every, const std::string& lost);

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::string serial_;
  std::vector<Event> events_;
};

}  // namespace iqd::sim
