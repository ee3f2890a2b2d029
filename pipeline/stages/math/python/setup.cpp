// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "base/integer.hpp"

namespace iqd::python {
namespace {

using nlohmann::json;

/// A stream's call has at most so many bytes of one array; a longer block is computed in several calls.
constexpr std::int64_t kCallBytes = std::int64_t{64} << 20;

std::size_t page_rounded(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::vector<std::int64_t> extents(const std::vector<Dim>& dims) {
  std::vector<std::int64_t> all;
  for (const Dim& d : dims) all.push_back(d.extent);
  return all;
}

/// As NumPy has it: dimensions before and after the varying one. Streams always have rows; sc16 is `<i2` with a last
/// dimension of 2.
json array_of(const PortShape& shape) {
  std::vector<std::int64_t> after = extents(shape.item);
  if (shape.element == Element::sc16) after.push_back(2);
  const bool has_rows = shape.axis == Axis::stream;
  return {{"dtype", traits(shape.element).dtype},
          {"before", has_rows ? std::vector{shape.row_count()} : std::vector<std::int64_t>{}},
          {"after", std::move(after)}};
}

std::vector<std::string> channels_of(const PortShape& in) {
  std::vector<std::string> names;
  const std::int64_t rows = std::min<std::int64_t>(in.row_count(), 256);
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool named = !in.rows.empty() && r < std::ssize(in.rows.back().labels);
    names.push_back(named ? in.rows.back().labels[static_cast<std::size_t>(r)] : std::to_string(r));
  }
  return names;
}

json text_of(const Shapes& shapes, const StringMap& params) {
  json in = json::array();
  for (const PortShape& shape : shapes.in) in.push_back(array_of(shape));
  json out = array_of(shapes.out);
  const bool is_given = shapes.to_stream() || shapes.each();
  out["axis"] = shapes.out.axis == Axis::block ? "none" : is_given ? "given" : "free";
  out["text"] = shapes.out.text();
  return {{"in", std::move(in)},
          {"out", std::move(out)},
          {"params", params},
          {"rate", shapes.in.front().rate_hz},
          {"frequency", shapes.in.front().frequency_hz},
          {"channels", channels_of(shapes.in.front())}};
}

}  // namespace

std::size_t array_bytes(const PortShape& shape, std::int64_t length) {
  return bounded_bytes(bounded_product(length, shape.row_count()), static_cast<std::size_t>(shape.item_bytes()));
}

std::int64_t most_granules(const Shapes& shapes) {
  if (!shapes.to_stream()) return 1;
  const std::int64_t in = shapes.in.front().item_bytes() * shapes.in.front().row_count() * shapes.decimation;
  const std::int64_t out = shapes.out.item_bytes() * shapes.out.row_count() * shapes.interpolation;
  return std::clamp<std::int64_t>(kCallBytes / std::max<std::int64_t>({in, out, 1}), 1,
                                  ceil_div(shapes.most_new, shapes.decimation) + 1);
}

Areas areas_of(const Shapes& shapes) {
  const std::int64_t granules = most_granules(shapes);
  const std::int64_t halo = shapes.past + shapes.future;
  const std::int64_t positions = shapes.to_stream() ? granules * shapes.decimation : shapes.most_new;
  Areas areas;
  for (const PortShape& in : shapes.in)
    areas.inputs += page_rounded(array_bytes(in, in.axis == Axis::stream    ? positions + halo
                                                 : in.axis == Axis::counted ? in.most
                                                                            : 1));
  areas.results = array_bytes(shapes.out, shapes.to_stream()                 ? granules * shapes.interpolation
                                          : shapes.out.axis == Axis::counted ? shapes.out.most
                                                                             : 1);
  return areas;
}

Setup make_setup(const Shapes& shapes, const StringMap& params, const Section& section) {
  static std::atomic<std::uint32_t> number{0};
  Setup setup{shapes, most_granules(shapes), 0, {}};
  setup.text = text_of(shapes, params).dump(-1, ' ', false, json::error_handler_t::replace);
  if (setup.text.size() > kMostSetup)
    section.problem("params", fmt::format("are too long: {} bytes of {}", setup.text.size(), kMostSetup));
  while (setup.number == 0) setup.number = ++number;
  return setup;
}

}  // namespace iqd::python
