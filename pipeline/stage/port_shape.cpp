// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/port_shape.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/integer.hpp"

namespace iqd {
namespace {

std::int64_t product(const std::vector<Dim>& dims) {
  std::int64_t n = 1;
  for (const Dim& d : dims) n = bounded_product(n, d.extent);
  return n;
}

}  // namespace

std::int64_t PortShape::row_count() const noexcept {
  return product(rows);
}
std::int64_t PortShape::item_size() const noexcept {
  return product(item);
}

std::string PortShape::text() const {
  std::string text;
  for (const Dim& d : rows) text += fmt::format("[{} {}]", d.name, d.extent);
  if (axis == Axis::counted) text += fmt::format("[{} up to {}]", axis_name, most);
  if (axis == Axis::stream) text += fmt::format("[{}]", axis_name);
  for (const Dim& d : item) text += fmt::format("[{} {}]", d.name, d.extent);
  return fmt::format("{}{}{}", name_of(element), text.empty() ? "" : " ", text);
}

void PortShape::hold(Element of, std::vector<Dim> dims) {
  element = of;
  item = std::move(dims);
}

void PortShape::hold_per_block(Element of, std::vector<Dim> dims) {
  hold(of, std::move(dims));
  axis = Axis::block;
  rate_hz = 0;
}

void PortShape::count_items(std::string name, std::int64_t at_most) {
  axis = Axis::counted;
  axis_name = std::move(name);
  most = at_most;
}

void PortShape::tally(std::span<const std::string_view> events) {
  hold_per_block(Element::i64, {{"event", std::ssize(events), {events.begin(), events.end()}}});
  rows.clear();
}

void PortShape::leave_air() noexcept {
  on_air = mirrored = false;
  frequency_hz = span_hz = 0;
  for (Dim& row : rows) row.frequencies = {};
}

void PortShape::join(const PortShape& other) {
  if (!other.on_air) return;
  if (on_air && (frequency_hz != other.frequency_hz || mirrored != other.mirrored)) return leave_air();
  span_hz = on_air && span_hz > 0 && other.span_hz > 0 ? std::max(span_hz, other.span_hz) : 0;
  frequency_hz = other.frequency_hz;
  mirrored = other.mirrored;
  on_air = true;
}

Dim PortShape::bins(std::int64_t size, bool shifted) const {
  // Each bin is written into the headers, unless they have equal distances or are too many.
  constexpr std::int64_t kMostValues = 4096;
  Dim dim{"bin", size};
  const bool rows_differ = std::ranges::any_of(rows, [](const Dim& row) { return row.frequencies.known(); });
  if (!(rate_hz > 0) || rows_differ) return dim;
  const double step = rate_hz / static_cast<double>(size);
  const auto centred = [&](std::int64_t bin) { return static_cast<double>(bin) * (mirrored ? -step : step); };
  if (shifted) {
    dim.frequencies = {.first_hz = centred(-(size / 2)), .step_hz = centred(1)};
    return dim;
  }
  if (size > kMostValues) {
    dim.frequencies = {.step_hz = centred(1), .wrap = (size + 1) / 2};
    return dim;
  }
  for (std::int64_t k = 0; k < size; ++k)
    dim.frequencies.values_hz.push_back(centred(k < (size + 1) / 2 ? k : k - size));
  return dim;
}

Frequencies PortShape::at(std::vector<double> offsets_hz) const {
  if (mirrored)
    for (double& hz : offsets_hz) hz = -hz;
  return {.values_hz = std::move(offsets_hz)};
}

}  // namespace iqd
