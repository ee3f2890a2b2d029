// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/npy.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// An array as a stage's input takes it: the dimensions named, real numbers made complex and whole ones real where that
/// is what the input wants. Throws UsageError where it does not fit, or a number would become another.
StageInput as_input(const NpyArray& array, const InputSpec& input, double rate_hz);

/// The inputs as they take these arrays: of several that take the same types, all take complex numbers where one gets
/// them.
std::vector<InputSpec> agreed(std::span<const NpyArray> arrays, std::vector<InputSpec> inputs);

/// The array lacks the first dimension of the input's items: it is one of them, `[t][antenna]` for
/// `[frame][t][antenna]`.
bool is_one_item(const NpyArray& array, const InputSpec& input);

/// What a stage gave, as an array file. One message: its dimensions; several messages of a port that has one a block:
/// a first dimension for the blocks. With `one_item` an item that is alone is written without that dimension as well.
void write_output(const std::string& path, const StageOutput& output, bool one_item);

}  // namespace iqd
