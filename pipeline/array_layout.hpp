// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/array_plan.hpp"

namespace iqd {

/// An array that somebody gives to a stage, as far as its type and extents go.
struct GivenArray {
  std::string dtype;                       // as NpyArray's
  std::vector<std::int64_t> shape;         // empty for a scalar
  std::function<bool(Element)> fits = {};  // whether an integer element holds all its values
};

/// How a stage's input takes the array, without data: with named dimensions, and the element type that its values become.
/// Throws UsageError if it does not fit.
StageInput layout_of(const GivenArray& array, const InputSpec& input, double rate_hz);

/// The inputs for these arrays: of several inputs with the same types, all take complex numbers if one gets them.
std::vector<InputSpec> agreed(std::span<const GivenArray> arrays, std::vector<InputSpec> inputs);

/// Whether the array is one of the input's items, without their first dimension: `[t][antenna]` for
/// `[frame][t][antenna]`.
bool is_one_item(const GivenArray& array, const InputSpec& input);

}  // namespace iqd
