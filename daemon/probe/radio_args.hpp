// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/driver.hpp"
#include "daemon/command/command_line.hpp"
#include "daemon/probe/radio_use.hpp"

namespace iqd {

/// A radio by what its operator knows of it, on the command line: `--args addr=192.168.10.2`, and `--driver` where
/// these do not tell whose they are.
struct RadioArgs {
  std::string args;
  std::string driver;

  void add_to(Command& command);
  bool given() const noexcept { return !args.empty() || !driver.empty(); }
  /// Who takes the arguments. Throws UsageError where they are malformed, or nobody does.
  const DriverEntry& taker() const;
  RadioUse use() const;
};

/// What is wrong with device arguments; empty: they are `key=value`, with commas between.
std::string malformed(std::string_view args);

}  // namespace iqd
