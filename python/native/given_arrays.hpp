// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "pipeline/array_layout.hpp"
#include "pipeline/array_run.hpp"

namespace iqd::python {

/// The dtype as a stage's input names it, `<c8`; empty if no stage takes it.
std::string dtype_of(const pybind11::array& array);

/// The array as a stage sees it. Its values are looked at only if they are whole numbers that have to fit.
GivenArray given(const pybind11::array& array);

/// An array of this element type in native order, with the rows' items next to each other: the same if it is one, else
/// a converted copy, with a ConversionWarning. `name`: of the input.
pybind11::array converted(const pybind11::array& array, Element element, std::string_view name);

/// An array of a dtype that stages know. Raises ConfigError if there is none for its values.
pybind11::array plain(const pybind11::array& array, std::string_view name);

/// Whether a stage can read the array where it is.
bool is_readable(const pybind11::array& array, Element element, std::size_t rows);

/// Where the array's rows lie. `rows`: how many of its dimensions are rows, 0 or 1.
ArrayMemory memory_of(const pybind11::array& array, std::size_t rows, Positions there);

}  // namespace iqd::python
