// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/given_arrays.hpp"

#include <fmt/format.h>

namespace iqd::python {
namespace py = pybind11;

namespace {

constexpr const char* kKnown[] = {"<c8", "<c16", "<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "<i1", "<u1", "|b1"};

/// Never released: the interpreter may end before this library does.
py::module_ conversion() {
  static const py::handle module = py::module_::import("iqd._conversion").release();
  return py::reinterpret_borrow<py::module_>(module);
}

}  // namespace

std::string dtype_of(const py::array& array) {
  const py::dtype dtype = array.dtype();
  const std::string text =
      dtype.kind() == 'b' ? "|b1" : fmt::format("<{}{}", dtype.kind(), static_cast<int>(dtype.itemsize()));
  for (const char* known : kKnown)
    if (text == known) return text;
  return {};
}

GivenArray given(const py::array& array) {
  GivenArray given;
  given.dtype = dtype_of(array);
  given.shape.assign(array.shape(), array.shape() + array.ndim());
  given.fits = [array](Element e) {
    return conversion().attr("fits")(array, std::string(traits(e).dtype)).cast<bool>();
  };
  return given;
}

bool is_readable(const py::array& array, Element element, std::size_t rows) {
  const py::dtype dtype = array.dtype();
  const std::string_view wanted = traits(element).dtype;
  if (dtype.kind() != wanted[1] || dtype_of(array) != wanted) return false;
  if (dtype.byteorder() == '>' || !(array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_)) return false;
  if (array.flags() & py::array::c_style) return true;
  // Rows may be apart, but not their items.
  py::ssize_t expected = array.itemsize();
  for (py::ssize_t d = array.ndim() - 1; d >= static_cast<py::ssize_t>(rows); --d) {
    if (array.shape(d) > 1 && array.strides(d) != expected) return false;
    expected *= array.shape(d);
  }
  return rows == 0 || array.strides(0) >= expected;
}

py::array converted(const py::array& array, Element element, std::string_view name) {
  return conversion().attr("convert")(array, std::string(traits(element).dtype), std::string(name));
}

py::array plain(const py::array& array, std::string_view name) {
  return conversion().attr("plain")(array, std::string(name));
}

ArrayMemory memory_of(const py::array& array, std::size_t rows, Positions there) {
  std::int64_t pitch = array.nbytes();
  if (rows > 0 && array.shape(0) > 1)
    pitch = array.strides(0);
  else if (rows > 0 && array.shape(0) > 0)
    pitch /= array.shape(0);
  return {static_cast<const std::byte*>(array.data()), pitch, there};
}

}  // namespace iqd::python
