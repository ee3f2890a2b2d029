// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/shape_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iqd {
namespace {

/// Multiplies; false if the product exceeds `most`.
bool multiply(std::int64_t& product, std::int64_t factor, std::int64_t most) {
  return !__builtin_mul_overflow(product, factor, &product) && product <= most;
}

/// Bytes of this many positions in all rows; -1 if more than kMostPortBytes.
std::int64_t bytes_of(const PortShape& shape, std::int64_t positions) {
  auto bytes = static_cast<std::int64_t>(size_of(shape.element));
  for (const auto* dims : {&shape.rows, &shape.item})
    for (const Dim& d : *dims)
      if (!multiply(bytes, std::max<std::int64_t>(d.extent, 1), kMostPortBytes)) return -1;
  return multiply(bytes, std::max<std::int64_t>(positions, 1), kMostPortBytes) ? bytes : -1;
}

/// Faults of any port, whether it is read or only made.
std::string fault_of_size(const PortShape& shape, std::int64_t positions) {
  if (static_cast<std::size_t>(shape.element) >= kElements.size()) return "has elements of an unknown type";
  const std::int64_t most = shape.axis == Axis::stream ? kMostPositions : kMostItems;
  if (positions < 0 || positions > most)
    return fmt::format("has {} of [{}] in a block; the maximum is {}", positions, shape.axis_name, most);
  for (const auto* dims : {&shape.rows, &shape.item})
    for (const Dim& d : *dims)
      if (d.extent < 0) return fmt::format("has {} of [{}]", d.extent, d.name);
  if (bytes_of(shape, positions) < 0)
    return fmt::format("has {} with {} of [{}] in a block, more than {} GB", shape.text(), positions, shape.axis_name,
                       kMostPortBytes >> 30);
  for (const double rate : {shape.rate_hz, shape.source_rate_hz})
    if (!std::isfinite(rate) || rate < 0) return fmt::format("has {} positions a second", rate);
  return {};
}

std::string element_list(const std::vector<Element>& elements) {
  std::string text;
  for (const Element e : elements) text += fmt::format("{}{}", text.empty() ? "" : " or ", name_of(e));
  return text;
}

/// Whether the shape fits dimensions such as `[n]`: one axis, and as many item dimensions as written after it. `any`
/// fits everything.
bool dims_fit(const InputSpec& input, const PortShape& shape) {
  const std::string_view dims = input.dims;
  if (dims.front() != '[') return true;
  if (dims.starts_with("[n]") && shape.axis != Axis::stream) return false;
  if (input.items() && shape.axis != Axis::counted) return false;
  if (input.nested) return true;
  if (input.has_axis() && shape.axis == Axis::block) return false;
  const auto written = static_cast<std::size_t>(std::count(dims.begin(), dims.end(), '['));
  return shape.item.size() + (shape.axis == Axis::block ? 0 : 1) == written;
}

bool problem(const Section& section, std::string what, std::string_view key = "") {
  section.problem(key, std::move(what));
  return false;
}

/// The step that decides how many items a port has, or kNoStep if a source does. A stage whose output has the same axis as
/// its first input makes the same number of items.
StepIndex counted_by(const Plan& plan, PortIndex port) {
  for (;;) {
    const PlanPort& p = plan.ports[port];
    if (p.is_source()) return kNoStep;
    const PortIndex lead = plan.steps[p.maker].lead();
    const PortShape& read = plan.ports[lead].shape;
    if (read.axis != Axis::counted || read.axis_name != p.shape.axis_name) return p.maker;
    port = lead;
  }
}

}  // namespace

std::string fault_of(const PortShape& shape, std::int64_t positions) {
  for (const auto* dims : {&shape.rows, &shape.item})
    for (const Dim& d : *dims)
      if (d.extent < 1)
        return fmt::format("has {} of [{}]; at least 1 is required", std::max<std::int64_t>(d.extent, 0), d.name);
  return fault_of_size(shape, positions);
}

bool accept_input(const InputSpec& input, const PlanPort& given, const Section& section) {
  const PortShape& shape = given.shape;
  if (const std::string fault = fault_of(shape, given.most_new); !fault.empty())
    return problem(section, fmt::format("input '{}' cannot be read: {} {}", input.name, given.name, fault));
  const bool convertible = shape.element == Element::sc16 && input.takes(Element::cf32);
  if ((!input.takes(shape.element) && !convertible) || !dims_fit(input, shape))
    return problem(section, fmt::format("input '{}' takes {} {}, but {} gives {}", input.name,
                                        element_list(input.elements), input.dims, given.name, shape.text()));
  if ((input.one_channel || input.items()) && shape.row_count() > 1)
    return problem(
        section, fmt::format("input '{}' takes one channel, but {} has {}", input.name, given.name, shape.row_count()));
  return true;
}

bool accept_inputs(std::span<const InputSpec> inputs, std::span<const PortIndex> ports, const Plan& plan,
                   const Section& section) {
  if (ports.empty() || ports.front() == kNoPort) return true;
  const PlanPort& first = plan.ports[ports.front()];
  for (std::size_t i = 1; i < ports.size() && i < inputs.size(); ++i) {
    if (ports[i] == kNoPort) continue;
    const PlanPort& other = plan.ports[ports[i]];
    const auto both = [&] { return fmt::format("its inputs '{}' and '{}'", inputs[0].name, inputs[i].name); };
    const bool alike = first.shape.axis != Axis::block && other.shape.axis != Axis::block;
    if (alike && other.shape.row_count() != first.shape.row_count())
      return problem(section, fmt::format("{} have to be alike; they are {} and {}", both(), first.shape.text(),
                                          other.shape.text()));
    const bool of_same_items = inputs[i].items() && inputs[i].axis_name() == inputs[0].axis_name();
    if (of_same_items && counted_by(plan, ports[i]) != counted_by(plan, ports.front()))
      return problem(section, fmt::format("{} must have the same [{}], but different stages find those of {} and {}; "
                                          "take both downstream of one stage",
                                          both(), inputs[0].axis_name(), first.name, other.name));
  }
  return true;
}

bool accept_declared(const PlanStep& step, std::span<const PortShape> out, const Plan& plan, const Section& section) {
  for (const Footprint& f : step.footprint) {
    const bool good = f.past >= 0 && f.past <= kMostPositions && f.future >= 0 && f.future <= kMostPositions &&
                      f.granule >= 1 && f.granule <= kMostGranule && f.yield >= 1 && f.yield <= kMostGranule;
    if (!good)
      return problem(section, fmt::format("{} positions become {}, with {} before and {} after: too large to compute "
                                          "with",
                                          f.granule, f.yield, f.past, f.future));
  }
  for (std::size_t o = 0; o < out.size(); ++o)
    if (const std::string fault = fault_of_size(out[o], out[o].axis == Axis::counted ? out[o].most : 1); !fault.empty())
      return problem(section, fmt::format("output '{}' {}", step.entry->outputs[o].name, fault));
  const PlanPort& lead = plan.ports[step.lead()];
  for (std::size_t i = 0; i < step.in.size(); ++i) {
    if (step.in[i] == kNoPort || plan.ports[step.in[i]].shape.axis != Axis::stream) continue;
    const PlanPort& in = plan.ports[step.in[i]];
    const auto rate = in.rate.times_within(step.footprint[i].yield, step.footprint[i].granule);
    if (!rate)
      return problem(section, fmt::format("the ratio of its rate to the source's has too large terms; {} already has "
                                          "{}/{} positions a sample",
                                          in.name, in.rate.num, in.rate.den));
    if (i == 0 || lead.shape.axis != Axis::stream) continue;
    const Footprint& f = step.footprint.front();
    if (lead.rate.times_within(f.yield, f.granule) == rate) continue;
    const Rate apart = in.rate.times(lead.rate.den, lead.rate.num);
    return problem(section, fmt::format("its inputs must be equally long and have one rate; for {} of {} there are {} "
                                        "of {}",
                                        apart.den, lead.name, apart.num, in.name));
  }
  return true;
}

bool accept_output(const PlanPort& port, const Section& section) {
  const std::string fault = fault_of_size(port.shape, port.most_new);
  if (fault.empty() && port.lag <= kMostPositions) return true;
  return problem(section, fmt::format("{} {}; use a smaller block", port.name,
                                      fault.empty() ? "lags too far behind the source" : fault));
}

bool accept_reach(const PlanPort& port, const Section& section) {
  const bool stream = port.shape.axis == Axis::stream;
  const bool near = !stream || (port.reach.past <= kMostPositions && port.reach.future <= kMostPositions);
  if (near && bytes_of(port.shape, port.most_new + (stream ? port.reach.past + port.reach.future : 0)) >= 0)
    return true;
  return problem(
      section,
      fmt::format("stages after {} read too far around a block: decimate less, or use shorter filters", port.name),
      "block");
}

bool accept_lengths(std::span<const InputSpec> inputs, std::span<const PortShape> shapes,
                    std::span<const std::int64_t> lengths, std::int64_t cut, std::int64_t block,
                    const Section& section) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].axis != Axis::counted || lengths[i] == cut) continue;
    const bool same_kind = shapes[i].axis_name == shapes.front().axis_name;
    if (!same_kind && (lengths[i] == 1 || cut == 0)) continue;
    const bool even = lengths[i] > 0 && cut % lengths[i] == 0 && !same_kind;
    if (even && (block == cut || block % (cut / lengths[i]) == 0)) continue;
    return problem(section,
                   even
                       ? fmt::format("one {} goes with {} of the first input; use blocks of a multiple of that, not {}",
                                     shapes[i].axis_name, cut / lengths[i], block)
                       : fmt::format("has {} of [{}], which does not evenly divide the {} of the first input",
                                     lengths[i], shapes[i].axis_name, cut),
                   inputs[i].name);
  }
  return true;
}

const InputSpec* only_input(std::span<const InputSpec> inputs) noexcept {
  const auto is_required = [](const InputSpec& input) { return !input.optional; };
  return std::ranges::count_if(inputs, is_required) == 1 ? &*std::ranges::find_if(inputs, is_required) : nullptr;
}

}  // namespace iqd
