// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/driver.hpp"
#include "daemon/command/command_line.hpp"
#include "daemon/probe/radio_use.hpp"

namespace iqd {

/// A radio named on the command line: `--args addr=192.168.10.2`, and `--driver` if the arguments do not show which
/// driver they are for.
struct RadioArgs {
  std::string args;
  std::string driver;

  void add_to(Command& command);
  bool given() const noexcept { return !args.empty() || !driver.empty(); }
  /// The driver that takes the arguments. Throws UsageError if they are malformed or no driver takes them.
  const DriverEntry& taker() const;
  RadioUse use() const;
};

/// What is wrong with device arguments; empty if they are `key=value`, separated by commas.
std::string malformed(std::string_view args);

}  // namespace iqd
