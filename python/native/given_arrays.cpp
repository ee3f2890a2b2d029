// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/given_arrays.hpp"

#include <fmt/format.h>

#include "python/native/binding.hpp"
#include "python/native/device_memory.hpp"
#include "python/native/errors.hpp"

namespace iqd::native {
namespace {

constexpr std::string_view kKnown[] = {"c8", "c16", "f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "b1"};

py::module_ conversion() {
  return py::module_::import("iqd._conversion");
}

/// The name of the type in this byte order; empty if no stage takes it.
std::string dtype_named(char order, std::string_view type) {
  for (const std::string_view known : kKnown)
    if (type == known) return fmt::format("{}{}", type == "b1" ? '|' : order, type);
  return {};
}

/// By NumPy's own text, `<c8`: pybind11 2.10 reads a dtype's fields where NumPy 2 no longer has them.
std::string native_dtype(const py::array& array) {
  const auto text = array.attr("dtype").attr("str").cast<std::string>();
  return dtype_named(text[0] == '>' ? '>' : '<', std::string_view(text).substr(1));
}

}  // namespace

std::int64_t item_bytes(std::string_view dtype) noexcept {
  std::int64_t bytes = 0;
  for (std::size_t i = 2; i < dtype.size(); ++i) bytes = bytes * 10 + (dtype[i] - '0');
  return bytes;
}

std::vector<std::int64_t> strides_in_order(const std::vector<std::int64_t>& shape, std::int64_t item_bytes) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t next = item_bytes;
  for (std::size_t d = shape.size(); d-- > 0; next *= shape[d]) strides[d] = next;
  return strides;
}

py::array new_array(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  return {py::dtype::from_args(py::str(std::string(dtype))), shape, strides_in_order(shape, item_bytes(dtype))};
}

InputArray numpy_input(const py::array& array) {
  InputArray in;
  in.owner = array;
  in.dtype = native_dtype(array);
  in.shape.assign(array.shape(), array.shape() + array.ndim());
  in.strides.assign(array.strides(), array.strides() + array.ndim());
  in.data = static_cast<const std::byte*>(array.data());
  in.aligned = (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
  return in;
}

InputArray any_input(const py::object& object) {
  if (py::isinstance<py::array>(object)) return numpy_input(py::reinterpret_borrow<py::array>(object));
  if (InputArray in; read_dlpack(object, in) || read_cuda_interface(object, in)) {
    in.dtype = dtype_named(in.dtype[0] == '>' ? '>' : '<', std::string_view(in.dtype).substr(1));
    return in;
  }
  return numpy_input(py::module_::import("numpy").attr("asarray")(object));
}

GivenArray given(const InputArray& array) {
  GivenArray given;
  given.dtype = array.dtype.starts_with('>') ? "<" + array.dtype.substr(1) : array.dtype;
  given.shape = array.shape;
  given.fits = [array](Element e) {
    return !array.on_device && conversion().attr("fits")(array.owner, std::string(traits(e).dtype)).cast<bool>();
  };
  return given;
}

bool is_readable(const InputArray& array, Element element, std::size_t rows) {
  if (array.dtype != traits(element).dtype || !array.aligned) return false;
  // Rows may be apart, but not their items.
  std::int64_t expected = array.item_bytes();
  for (std::size_t d = array.shape.size(); d-- > rows;) {
    if (array.shape[d] > 1 && array.strides[d] != expected) return false;
    expected *= array.shape[d];
  }
  return rows == 0 || array.shape[0] < 2 || array.strides[0] >= expected;
}

InputArray converted(const InputArray& array, Element element, std::string_view name) {
  if (array.on_device)
    raise_config({fmt::format("{}: an array on a device has to be {}, with its items next to each other; it is {}",
                              name, traits(element).dtype, array.dtype)});
  return numpy_input(conversion().attr("convert")(array.owner, std::string(traits(element).dtype), std::string(name)));
}

InputArray plain(const InputArray& array, std::string_view name) {
  if (array.on_device) raise_config({fmt::format("{}: stages do not take arrays of this type", name)});
  return numpy_input(conversion().attr("plain")(array.owner, std::string(name)));
}

ArrayMemory memory_of(const InputArray& array, std::size_t rows, std::int64_t row_bytes, Positions there) {
  return {array.data, rows > 0 && array.shape[0] > 1 ? array.strides[0] : row_bytes, there};
}

}  // namespace iqd::native
