// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace iqd {

/// `key=value` items and files become one YAML text; `design.type=low_pass` is a key of a nested map. Throws
/// UsageError.
std::string keys_of(const std::vector<std::string>& config);

}  // namespace iqd
