// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/files/npy.hpp"
#include "pipeline/array_layout.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// An array as a stage's input takes it: with named dimensions; real numbers become complex, and integers real, if the
/// input needs that. Throws UsageError if it does not fit; warns if values are rounded.
StageInput as_input(const NpyArray& array, const InputSpec& input, double rate_hz);

/// As for GivenArray.
std::vector<InputSpec> agreed(std::span<const NpyArray> arrays, std::vector<InputSpec> inputs);
bool is_one_item(const NpyArray& array, const InputSpec& input);

/// Writes a stage's output to an array file. One message keeps its dimensions; several messages of a port with one a
/// block get a first dimension for the blocks. With `one_item`, a single item is written without that dimension.
void write_output(const std::string& path, const StageOutput& output, bool one_item);

}  // namespace iqd
