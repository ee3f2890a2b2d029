// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/fields.hpp"

namespace iqd::native {

/// Sets iqd.ConfigError with these problems, or iqd.Error, as Python's current exception.
void set_config_error(const std::vector<std::string>& problems);
void set_error(const std::string& what);

/// Raises iqd.ConfigError with these problems.
[[noreturn]] void raise_config(const std::vector<std::string>& problems);
/// The same if there are any. Keys of stages have no lines in Python: places in a file of `unplaced` become its name.
void raise_if_any(const Problems& problems, std::span<const std::string> unplaced = {});

}  // namespace iqd::native
