// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/stage/stage.hpp"

namespace iqd {

/// Joins `key=value` items and files into one YAML text; `design.type=low_pass` is a key of a nested map. Throws
/// UsageError.
std::string keys_of(const std::vector<std::string>& config);
/// The keys of the entry's sample: `fir: {taps: [1]}` → `{taps: [1]}`.
std::string sample_keys(const StageEntry& entry);

}  // namespace iqd
