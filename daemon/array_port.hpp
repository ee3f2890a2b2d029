// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/npy.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// An array as a stage's input takes it: the dimensions named, real numbers made complex and wide ones narrow where
/// that is what the input wants. Throws UsageError where it does not fit.
StageInput as_input(const NpyArray& array, const InputSpec& input, double rate_hz);

/// The array lacks the first dimension of the input's items: it is one of them, `[t][antenna]` for
/// `[frame][t][antenna]`.
bool is_one_item(const NpyArray& array, const InputSpec& input);

/// What a stage gave, as an array file. One message: its dimensions; several messages of a port that has one a block:
/// a first dimension for the blocks. With `one_item` an item that is alone is written without that dimension as well.
void write_output(const std::string& path, const StageOutput& output, bool one_item);

}  // namespace iqd
