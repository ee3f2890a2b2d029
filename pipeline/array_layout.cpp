// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/array_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

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

bool is_one_item(std::size_t dimensions, const InputSpec& input) {
  return input.items() && dimensions + 1 == names_in(input.dims).size();
}

std::string wanted(const InputSpec& input) {
  std::vector<std::string_view> dtypes;
  for (const Element e : input.elements) dtypes.push_back(traits(e).dtype);
  return fmt::format("{}", fmt::join(dtypes, ", "));
}

/// The element type that the array is converted to; its own if the input takes it.
Element element_for(const GivenArray& array, const InputSpec& input, bool pairs) {
  if (pairs && (input.takes(Element::sc16) || input.takes(Element::cf32)))
    return Element::sc16;  // the planner converts
  for (const Element e : input.elements)
    if (e != Element::sc16 && traits(e).dtype == array.dtype) return e;
  if (!is_complex(array.dtype) && input.takes(Element::f32)) return Element::f32;
  if ((!is_complex(array.dtype) || array.dtype == "<c16") && input.takes(Element::cf32)) return Element::cf32;
  for (const Element e : input.elements)
    if (array.fits(e)) return e;
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
bool has_pairs(const GivenArray& array, const InputSpec& input) {
  return array.dtype == "<i2" && array.shape.size() > 1 && array.shape.back() == 2 &&
         (input.takes(Element::sc16) || input.takes(Element::cf32) || !input.takes(Element::i16));
}

}  // namespace

StageInput layout_of(const GivenArray& array, const InputSpec& input, double rate_hz) {
  StageInput in;
  std::vector<std::int64_t> extents = array.shape;
  const bool pairs = has_pairs(array, input);
  in.shape.element = element_for(array, input, pairs);
  if (pairs) extents.pop_back();
  name_dims(in.shape, extents, input, in.length);
  in.shape.rate_hz = in.shape.source_rate_hz = rate_hz;
  return in;
}

std::vector<InputSpec> agreed(std::span<const GivenArray> arrays, std::vector<InputSpec> inputs) {
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

bool is_one_item(const GivenArray& array, const InputSpec& input) {
  return is_one_item(array.shape.size(), input);
}

}  // namespace iqd
