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

std::vector<std::string> names_in(std::string_view dims) {
  std::vector<std::string> names;
  for (std::size_t at = dims.find('['); at != dims.npos; at = dims.find('[', at + 1))
    names.emplace_back(dims.substr(at + 1, dims.find_first_of(" ]", at) - at - 1));
  return names;
}

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

bool is_one_item(std::size_t dimensions, const InputSpec& input) {
  return input.items() && dimensions + 1 == names_in(input.dims).size();
}

std::string wanted(const InputSpec& input) {
  std::vector<std::string_view> dtypes;
  for (const Element e : input.elements) dtypes.push_back(traits(e).dtype);
  return fmt::format("{}", fmt::join(dtypes, ", "));
}

/// The element type that the array is converted to; its own if the input takes it.
Element element_for(const NpyArray& array, const InputSpec& input, bool pairs) {
  if (pairs && (input.takes(Element::sc16) || input.takes(Element::cf32)))
    return Element::sc16;  // the planner converts
  for (const Element e : input.elements)
    if (e != Element::sc16 && traits(e).dtype == array.dtype) return e;
  if (!is_complex(array.dtype) && input.takes(Element::f32)) return Element::f32;
  if ((!is_complex(array.dtype) || array.dtype == "<c16") && input.takes(Element::cf32)) return Element::cf32;
  for (const Element e : input.elements)
    if (convert_integers(array, e, nullptr)) return e;
  throw UsageError(fmt::format("input '{}' takes {}, the array is {}", input.name, wanted(input), array.dtype));
}

/// Assigns the dimensions to rows, axis and item.
void name_dims(PortShape& shape, std::vector<std::int64_t> extents, const InputSpec& input, std::int64_t& length) {
  std::vector<std::string> names = names_in(input.dims);
  const bool any = names.empty();
  if (any) names = {"n"};
  const bool parameter = !any && !input.has_axis();
  if (extents.empty()) extents = {1};
  if (is_one_item(extents.size(), input)) extents.insert(extents.begin(), 1);
  if (parameter) {
    shape.axis = Axis::block;
    length = 1;
    for (std::size_t d = 0; d < extents.size(); ++d)
      shape.item.push_back({d < names.size() ? names[d] : fmt::format("d{}", d), extents[d]});
    return;
  }
  if (input.nested && extents.size() > names.size())
    // Inserted after the first, since the last dimensions describe a value.
    for (std::size_t extra = extents.size() - names.size(); extra > 0; --extra)
      names.insert(names.begin() + 1, fmt::format("d{}", extra));
  const std::size_t rows = extents.size() > names.size() ? extents.size() - names.size() : 0;
  if (extents.size() < names.size() || (rows > 1 && !any))
    throw UsageError(fmt::format("input '{}' takes {}{}, the array has {} dimension(s)", input.name,
                                 names.front() == "n" ? "[n] or [channel]" : "", input.dims, extents.size()));
  for (std::size_t d = 0; d < rows; ++d)
    shape.rows.push_back({rows == 1 ? "channel" : fmt::format("d{}", d), extents[d]});
  shape.axis_name = names.front();
  shape.axis = input.items() ? Axis::counted : Axis::stream;
  length = extents[rows];
  shape.most = length;
  for (std::size_t d = rows + 1; d < extents.size(); ++d) shape.item.push_back({names[d - rows], extents[d]});
}

/// sc16: a last dimension of 2.
bool has_pairs(const NpyArray& array, const InputSpec& input) {
  return array.dtype == "<i2" && array.shape.size() > 1 && array.shape.back() == 2 &&
         (input.takes(Element::sc16) || input.takes(Element::cf32) || !input.takes(Element::i16));
}

}  // namespace

StageInput as_input(const NpyArray& array, const InputSpec& input, double rate_hz) {
  StageInput in;
  std::vector<std::int64_t> extents = array.shape;
  const bool pairs = has_pairs(array, input);
  in.shape.element = element_for(array, input, pairs);
  if (pairs) extents.pop_back();
  name_dims(in.shape, extents, input, in.length);
  in.shape.rate_hz = in.shape.source_rate_hz = rate_hz;
  if (pairs || traits(in.shape.element).dtype == array.dtype) {
    in.data = array.data;
  } else if (in.shape.element == Element::cf32 && !is_complex(array.dtype)) {
    in.data = convert<cf32>(array, input.name);
  } else if (!convert_integers(array, in.shape.element, &in.data)) {
    in.data = convert<float>(array, input.name);
  }
  return in;
}

std::vector<InputSpec> agreed(std::span<const NpyArray> arrays, std::vector<InputSpec> inputs) {
  const std::vector<InputSpec> all = inputs;
  const auto is_complex_here = [&](std::size_t i) {
    return is_complex(arrays[i].dtype) || has_pairs(arrays[i], all[i]);
  };
  for (std::size_t i = 0; i < arrays.size(); ++i)
    for (std::size_t other = 0; other < arrays.size(); ++other)
      if (all[i].elements == all[other].elements && all[i].takes(Element::cf32) && is_complex_here(other) &&
          !is_complex_here(i))
        inputs[i].elements = {Element::cf32};
  return inputs;
}

bool is_one_item(const NpyArray& array, const InputSpec& input) {
  return is_one_item(array.shape.size(), input);
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
