// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python/native/binding.hpp"
#include "python/native/given_arrays.hpp"

namespace iqd::native {

/// Reads where an object with `__dlpack__` or `__cuda_array_interface__` lies, its type and its extents; false if it has
/// none, or lies in the host's memory.
bool read_dlpack(const py::object& object, InputArray& in);
bool read_cuda_interface(const py::object& object, InputArray& in);

/// Memory of a device that Python refers to.
struct DeviceMemory {
  const std::byte* data = nullptr;
  std::string dtype;  // `<c8`
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // bytes
  int device = 0;
  std::shared_ptr<void> owner;
  Backend* backend = nullptr;  // which the owner keeps
};
/// A copy as a NumPy array.
py::array copied_to_host(const DeviceMemory& memory);
/// A capsule as `__dlpack__` returns it.
py::capsule dlpack_of(const DeviceMemory& memory);

}  // namespace iqd::native
