// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/driver.hpp"

namespace iqd {

/// What one driver found.
struct Sight {
  const DriverEntry* driver = nullptr;
  std::vector<FoundDevice> devices;
  std::string error;
  /// It did not answer: a thread is still inside the driver, so the process must exit with std::_Exit.
  bool hangs = false;
};

/// Asks a driver for its devices, or for those that match `args`. A failure or a timeout after `patience` is stored in
/// the result and affects no other driver.
Sight look(const DriverEntry& driver, std::chrono::milliseconds patience, const std::string& args = {});

/// Why the device that was looked for cannot be used; empty if it can.
std::string trouble_of(const Sight& sight);

}  // namespace iqd
