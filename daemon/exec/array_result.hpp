// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/driver.hpp"

namespace iqd {

/// What a port has produced, as one array in memory.
struct ArrayResult;

/// A sink that collects a port's results. The files beside the array are written meanwhile, as a `file` sink does.
/// `one_row`: the input was [1][n], so streams get that dimension back.
std::unique_ptr<SinkOptions> array_sink(const std::string& path, bool one_row, std::shared_ptr<ArrayResult>& result);

/// Writes the array NAME.npy: streams are [channel][n], as the input is. Throws SetupError and UsageError.
void write_array(const ArrayResult& result);

}  // namespace iqd
