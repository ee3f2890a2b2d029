// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/array_port.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd {
namespace {

bool is_complex(std::string_view dtype) {
  return dtype[1] == 'c';
}

/// Calls `f` with the C++ type of the array's elements, or of their parts.
template <class F> void with_dtype(std::string_view dtype, F&& f) {
  if (dtype == "<c16" || dtype == "<f8") return f(double{});
  if (dtype == "<f4") return f(float{});
  if (dtype == "<f2") return f(f16{});
  if (dtype == "<i8") return f(std::int64_t{});
  if (dtype == "<i4") return f(std::int32_t{});
  if (dtype == "<i2") return f(std::int16_t{});
  if (dtype == "<i1") return f(std::int8_t{});
  return f(std::uint8_t{});
}

template <class To, class Real> To as(Real x) {
  if constexpr (std::is_same_v<Real, f16>) {
    return to_float(x);
  } else {
    return static_cast<float>(x);
  }
}

/// Converts real numbers, or the parts of complex ones. Warns if a value is rounded.
template <class To> std::vector<std::byte> convert(const NpyArray& array, std::string_view input) {
  const auto count = static_cast<std::size_t>(array.size()) * (is_complex(array.dtype) ? 2 : 1);
  std::vector<std::byte> out(count * sizeof(To));
  bool exact = true;
  with_dtype(array.dtype, [&](auto from) {
    using From = decltype(from);
    for (std::size_t i = 0; i < count; ++i) {
      From x;
      std::memcpy(&x, array.data.data() + i * sizeof(From), sizeof(From));
      const To y = as<To>(x);
      if constexpr (!std::is_same_v<From, f16>)
        exact = exact && (std::isnan(static_cast<double>(x)) ||
                          static_cast<long double>(std::real(y)) == static_cast<long double>(x));
      std::memcpy(out.data() + i * sizeof(To), &y, sizeof(To));
    }
  });
  if (!exact) log::warn("input '{}': {} is rounded to single precision, in which iqd computes", input, array.dtype);
  return out;
}

/// Calls `f` with the C++ type of an integer element; false for any other.
template <class F> bool with_integer(Element element, F&& f) {
  switch (element) {
    case Element::u8: return f(std::uint8_t{});
    case Element::i8: return f(std::int8_t{});
    case Element::i16: return f(std::int16_t{});
    case Element::i32: return f(std::int32_t{});
    case Element::i64: return f(std::int64_t{});
    default: return false;
  }
}

/// Converts whole numbers and booleans to a type that holds all of them; false if it does not.
bool convert_integers(const NpyArray& array, Element element, std::vector<std::byte>* out) {
  if (is_complex(array.dtype) || array.dtype[1] == 'f') return false;
  return with_integer(element, [&](auto to) {
    using To = decltype(to);
    bool fits = true;
    if (out) out->resize(static_cast<std::size_t>(array.size()) * sizeof(To));
    with_dtype(array.dtype, [&](auto from) {
      if constexpr (std::is_integral_v<decltype(from)>) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
          std::memcpy(&from, array.data.data() + i * sizeof from, sizeof from);
          fits = fits && std::in_range<To>(from);
          to = static_cast<To>(from);  // NOLINT(bugprone-signed-char-misuse): i8 holds numbers
          if (out) std::memcpy(out->data() + i * sizeof to, &to, sizeof to);
        }
      }
    });
    return fits;
  });
}

/// The array as a layout sees it; the array must live longer.
GivenArray given(const NpyArray& array) {
  return {array.dtype, array.shape, [&array](Element e) { return convert_integers(array, e, nullptr); }};
}

}  // namespace

StageInput as_input(const NpyArray& array, const InputSpec& input, double rate_hz) {
  StageInput in = layout_of(given(array), input, rate_hz);
  if (in.shape.element == Element::sc16 || traits(in.shape.element).dtype == array.dtype) {
    in.data = array.data;
  } else if (in.shape.element == Element::cf32 && !is_complex(array.dtype)) {
    in.data = convert<cf32>(array, input.name);
  } else if (!convert_integers(array, in.shape.element, &in.data)) {
    in.data = convert<float>(array, input.name);
  }
  return in;
}

std::vector<InputSpec> agreed(std::span<const NpyArray> arrays, std::vector<InputSpec> inputs) {
  std::vector<GivenArray> all;
  for (const NpyArray& array : arrays) all.push_back(given(array));
  return agreed(all, std::move(inputs));
}

bool is_one_item(const NpyArray& array, const InputSpec& input) {
  return is_one_item(given(array), input);
}

void write_output(const std::string& path, const StageOutput& output, bool one_item) {
  std::vector<std::int64_t> shape;
  for (const Dim& d : output.shape.rows) shape.push_back(d.extent);
  const bool bare = output.shape.axis == Axis::block || (one_item && output.shape.axis == Axis::counted);
  if (!bare || output.length != 1) shape.push_back(output.length);
  for (const Dim& d : output.shape.item) shape.push_back(d.extent);
  if (output.shape.element == Element::sc16) shape.push_back(2);
  write_npy(path, traits(output.shape.element).dtype, shape, output.joined());
}

}  // namespace iqd
