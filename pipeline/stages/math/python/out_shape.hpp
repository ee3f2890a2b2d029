// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/python/python.hpp"

namespace iqd::python {

/// `[n]`, `[channel][n]`, `[frame][bin 64]`, `[detection][value 3]`: names, and extents of those that are fixed (0: none
/// is written). `[3]` is `[value 3]`. Nothing if the text is not of this form.
std::optional<std::vector<Dim>> read_dims(std::string_view text);

/// What a process gets and returns, with the stage's keys and inputs.
struct Shapes {
  std::vector<PortShape> in;
  PortShape out;
  std::int64_t past = 0;
  std::int64_t future = 0;
  std::int64_t decimation = 1;
  std::int64_t interpolation = 1;
  std::int64_t most_new = 1;  // positions of an input in a block

  bool of_stream() const noexcept { return in.front().axis == Axis::stream; }
  bool to_stream() const noexcept { return out.axis == Axis::stream; }
  /// One item for each item of the input.
  bool each() const noexcept {
    return !of_stream() && out.axis == Axis::counted && out.axis_name == in.front().axis_name;
  }
};

/// Declares the output and the footprints in `context`, and returns the shapes; problems go to its section.
Shapes declare(const Config& config, ShapeContext& context);

}  // namespace iqd::python
