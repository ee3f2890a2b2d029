// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/array_port.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>

#include "base/error.hpp"

namespace iqd {
namespace {

constexpr std::array<std::string_view, 8> kAxes{"n", "t", "vector", "packet", "frame", "group", "word", "symbol"};

std::vector<std::string> names_in(std::string_view dims) {
  std::vector<std::string> names;
  for (std::size_t at = dims.find('['); at != dims.npos; at = dims.find('[', at + 1))
    names.emplace_back(dims.substr(at + 1, dims.find_first_of(" ]", at) - at - 1));
  return names;
}

/// Calls `f` with the C++ type of the array's elements.
template <class F> void with_dtype(std::string_view dtype, F&& f) {
  if (dtype == "<c8") return f(cf32{});
  if (dtype == "<c16") return f(std::complex<double>{});
  if (dtype == "<f8") return f(double{});
  if (dtype == "<f4") return f(float{});
  if (dtype == "<f2") return f(f16{});
  if (dtype == "<i8") return f(std::int64_t{});
  if (dtype == "<i4") return f(std::int32_t{});
  if (dtype == "<i2") return f(std::int16_t{});
  if (dtype == "<i1") return f(std::int8_t{});
  return f(std::uint8_t{});
}

template <class From, class To> To promote(From x) {
  if constexpr (std::is_same_v<From, f16>) {
    return promote<float, To>(to_float(x));
  } else if constexpr (std::is_same_v<To, cf32> && !std::is_arithmetic_v<From>) {
    return cf32(x);
  } else if constexpr (std::is_same_v<To, cf32>) {
    return {static_cast<float>(x), 0.0f};
  } else {
    return static_cast<To>(x);
  }
}

template <class To> std::vector<std::byte> convert(const NpyArray& array) {
  std::vector<std::byte> out(static_cast<std::size_t>(array.size()) * sizeof(To));
  with_dtype(array.dtype, [&](auto from) {
    using From = decltype(from);
    if constexpr (std::is_convertible_v<From, To> || std::is_same_v<From, f16> || std::is_same_v<To, cf32>) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(array.size()); ++i) {
        From x;
        std::memcpy(&x, array.data.data() + i * sizeof(From), sizeof(From));
        const To y = promote<From, To>(x);
        std::memcpy(out.data() + i * sizeof(To), &y, sizeof(To));
      }
    }
  });
  return out;
}

bool is_one_item(std::size_t dimensions, const InputSpec& input) {
  return input.items() && dimensions + 1 == names_in(input.dims).size();
}

bool is_complex(std::string_view dtype) {
  return dtype[1] == 'c';
}

std::string wanted(const InputSpec& input) {
  std::vector<std::string_view> dtypes;
  for (const Element e : input.elements) dtypes.push_back(traits(e).dtype);
  return fmt::format("{}", fmt::join(dtypes, ", "));
}

/// The element type that the array becomes, its own if the input takes it.
Element element_for(const NpyArray& array, const InputSpec& input, bool pairs) {
  if (pairs && (input.takes(Element::sc16) || input.takes(Element::cf32)))
    return Element::sc16;  // the planner converts
  for (const Element e : input.elements)
    if (e != Element::sc16 && traits(e).dtype == array.dtype) return e;
  if (!is_complex(array.dtype) && input.takes(Element::f32)) return Element::f32;
  if (input.takes(Element::cf32)) return Element::cf32;
  throw UsageError(fmt::format("input '{}' takes {}, the array is {}", input.name, wanted(input), array.dtype));
}

/// Which dimension is which: rows, axis, item.
void name_dims(PortShape& shape, std::vector<std::int64_t> extents, const InputSpec& input, std::int64_t& length) {
  std::vector<std::string> names = names_in(input.dims);
  if (names.empty()) names = {"n"};
  const bool parameter = input.whole || std::find(kAxes.begin(), kAxes.end(), names.front()) == kAxes.end();
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
    // From the back, since what is written there is what a value is of.
    for (std::size_t extra = extents.size() - names.size(); extra > 0; --extra)
      names.insert(names.begin() + 1, fmt::format("d{}", extra));
  const bool any = input.dims == "any";
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

}  // namespace

StageInput as_input(const NpyArray& array, const InputSpec& input, double rate_hz) {
  StageInput in;
  std::vector<std::int64_t> extents = array.shape;
  const bool pairs = array.dtype == "<i2" && extents.size() > 1 && extents.back() == 2 &&
                     (input.takes(Element::sc16) || input.takes(Element::cf32) || !input.takes(Element::i16));
  in.shape.element = element_for(array, input, pairs);
  if (pairs) extents.pop_back();
  name_dims(in.shape, extents, input, in.length);
  in.shape.rate_hz = in.shape.source_rate_hz = rate_hz;
  if (pairs || traits(in.shape.element).dtype == array.dtype) {
    in.data = array.data;
  } else if (in.shape.element == Element::cf32) {
    in.data = convert<cf32>(array);
  } else {
    in.data = convert<float>(array);
  }
  return in;
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
