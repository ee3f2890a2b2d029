// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/array_layout.hpp"
#include "pipeline/array_run.hpp"
#include "python/native/binding.hpp"

namespace iqd::native {

/// Bytes of an item of `<c8`.
std::int64_t item_bytes(std::string_view dtype) noexcept;
/// The strides of items that follow each other, in bytes.
std::vector<std::int64_t> strides_in_order(const std::vector<std::int64_t>& shape, std::int64_t item_bytes);

/// An array that a call gets: NumPy's, or in the memory of a CUDA device.
struct InputArray {
  py::object owner;   // keeps the memory
  std::string dtype;  // `<c8`; `>c8`: the other byte order; empty: a type that no stage takes
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // bytes
  const std::byte* data = nullptr;
  bool on_device = false;     // CUDA's
  int device = -1;            // its number; -1: not known
  std::uintptr_t stream = 0;  // of the producer, to wait for; 0: there is none
  bool aligned = true;

  std::int64_t item_bytes() const noexcept { return native::item_bytes(dtype); }
  bool is_whole_numbers() const noexcept {
    return dtype.size() > 1 && (dtype[1] == 'i' || dtype[1] == 'u' || dtype[1] == 'b');
  }
};

/// A new array with its items in order. `dtype` as in NumPy, `<c8`.
py::array new_array(std::string_view dtype, const std::vector<std::int64_t>& shape);

/// A NumPy array.
InputArray numpy_input(const py::array& array);
/// Anything with `__dlpack__` or `__cuda_array_interface__` that lies on a device; all else goes through NumPy.
InputArray any_input(const py::object& object);

/// The array as a stage sees it. Its values are looked at only if they are whole numbers that have to fit.
GivenArray given(const InputArray& array);

/// Whether a stage can read the array where it is. `rows`: how many of its dimensions are rows, 0 or 1.
bool is_readable(const InputArray& array, Element element, std::size_t rows);

/// A converted copy, with a ConversionWarning. `name`: of the input. Raises ConfigError if its values do not fit, or if
/// it lies on a device.
InputArray converted(const InputArray& array, Element element, std::string_view name);

/// An array of a dtype that stages know. Raises ConfigError if there is none for its values.
InputArray plain(const InputArray& array, std::string_view name);

/// Where the array's rows of `row_bytes` lie.
ArrayMemory memory_of(const InputArray& array, std::size_t rows, std::int64_t row_bytes, Positions there);

}  // namespace iqd::native
