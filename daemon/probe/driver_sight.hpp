// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/driver.hpp"

namespace iqd {

/// What one driver sees.
struct Sight {
  const DriverEntry* driver = nullptr;
  std::vector<FoundDevice> devices;
  std::string error;
  /// It did not answer: a thread of this process is in it still, so that the process can only end at once.
  bool hangs = false;
};

/// Asks a driver for its devices; with `args` for those that they mean. One that fails, or takes longer than
/// `patience`, says so and harms no other.
Sight look(const DriverEntry& driver, std::chrono::milliseconds patience, const std::string& args = {});

/// Why what was looked for by its arguments cannot be used; empty: it can.
std::string trouble_of(const Sight& sight);

}  // namespace iqd
