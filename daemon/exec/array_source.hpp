// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/driver.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// A source that plays an array [n] or [channel][n] from memory, as fast as it is read. Its times count from 0, in
/// seconds at the array's rate.
std::unique_ptr<SourceOptions> array_source(StageInput array);

}  // namespace iqd
