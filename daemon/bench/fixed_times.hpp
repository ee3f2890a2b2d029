// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/backend.hpp"
#include "pipeline/backend/tuning.hpp"

namespace iqd {

/// Measures what a block takes beyond its stages on a backend (`cpu`, `cuda:0`), for these ways of waiting; and on a
/// device, how much longer copies take than the smallest one, each way. In a few seconds, by `KnownTimes`' names.
Times measure_fixed_times(const std::string& backend, const std::set<Wait>& waits);

}  // namespace iqd
