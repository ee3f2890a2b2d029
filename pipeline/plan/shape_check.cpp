// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/shape_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iqd {
namespace {

/// Multiplies; false where it becomes more than `most`.
bool multiply(std::int64_t& product, std::int64_t factor, std::int64_t most) {
  return !__builtin_mul_overflow(product, factor, &product) && product <= most;
}

/// Bytes of so many positions in all rows, kMostPortBytes at most; -1 where they are more.
std::int64_t bytes_of(const PortShape& shape, std::int64_t positions) {
  auto bytes = static_cast<std::int64_t>(size_of(shape.element));
  for (const auto* dims : {&shape.rows, &shape.item})
    for (const Dim& d : *dims)
      if (!multiply(bytes, std::max<std::int64_t>(d.extent, 1), kMostPortBytes)) return -1;
  return multiply(bytes, std::max<std::int64_t>(positions, 1), kMostPortBytes) ? bytes : -1;
}

/// What holds for every port, whether it is read or only made.
std::string fault_of_size(const PortShape& shape, std::int64_t positions) {
  if (static_cast<std::size_t>(shape.element) >= kElements.size()) return "has elements of an unknown type";
  const std::int64_t most = shape.axis == Axis::stream ? kMostPositions : kMostItems;
  if (positions < 0 || positions > most)
    return fmt::format("has {} of [{}] in a block; there may be {}", positions, shape.axis_name, most);
  for (const auto* dims : {&shape.rows, &shape.item})
    for (const Dim& d : *dims)
      if (d.extent < 0) return fmt::format("has {} of [{}]", d.extent, d.name);
  if (bytes_of(shape, positions) < 0)
    return fmt::format("has {} with {} of [{}] in a block, which are more than {} GB", shape.text(), positions,
                       shape.axis_name, kMostPortBytes >> 30);
  for (const double rate : {shape.rate_hz, shape.source_rate_hz})
    if (!std::isfinite(rate) || rate < 0) return fmt::format("has {} positions a second", rate);
  return {};
}

std::string element_list(const std::vector<Element>& elements) {
  std::string text;
  for (const Element e : elements) text += fmt::format("{}{}", text.empty() ? "" : " or ", name_of(e));
  return text;
}

/// `[n]` and the like: one axis, and as many item dimensions as are written behind it. `any` is anything.
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

const PlanPort& port_of(const Plan& plan, int port) {
  return plan.ports[static_cast<std::size_t>(port)];
}

/// The step that decides how many items a port has, or -1 for what comes in as items: a stage that makes items of the
/// same axis of its first input's makes as many.
int counted_by(const Plan& plan, int port) {
  for (;;) {
    const PlanPort& p = port_of(plan, port);
    if (p.maker < 0) return -1;
    const PlanStep& step = plan.steps[static_cast<std::size_t>(p.maker)];
    const PortShape& lead = plan.ports[step.lead()].shape;
    if (lead.axis != Axis::counted || lead.axis_name != p.shape.axis_name) return p.maker;
    port = static_cast<int>(step.lead());
  }
}

}  // namespace

std::string fault_of(const PortShape& shape, std::int64_t positions) {
  for (const auto* dims : {&shape.rows, &shape.item})
    for (const Dim& d : *dims)
      if (d.extent < 1)
        return fmt::format("has {} of [{}]: there has to be 1 at least", std::max<std::int64_t>(d.extent, 0), d.name);
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

bool accept_inputs(std::span<const InputSpec> inputs, std::span<const int> ports, const Plan& plan,
                   const Section& section) {
  if (ports.empty() || ports.front() < 0) return true;
  const PlanPort& first = port_of(plan, ports.front());
  for (std::size_t i = 1; i < ports.size() && i < inputs.size(); ++i) {
    if (ports[i] < 0) continue;
    const PlanPort& other = port_of(plan, ports[i]);
    const auto both = [&] { return fmt::format("its inputs '{}' and '{}'", inputs[0].name, inputs[i].name); };
    const bool alike = first.shape.axis != Axis::block && other.shape.axis != Axis::block;
    if (alike && other.shape.row_count() != first.shape.row_count())
      return problem(section, fmt::format("{} have to be alike; they are {} and {}", both(), first.shape.text(),
                                          other.shape.text()));
    const bool of_same_items = inputs[i].items() && inputs[i].axis_name() == inputs[0].axis_name();
    if (of_same_items && counted_by(plan, ports[i]) != counted_by(plan, ports.front()))
      return problem(section, fmt::format("{} have to be of the same [{}], but {} and {} are found apart from each "
                                          "other; take both behind one stage",
                                          both(), inputs[0].axis_name(), first.name, other.name));
  }
  return true;
}

bool accept_declared(const PlanStep& step, std::span<const PortShape> out, const Plan& plan, const Section& section) {
  for (const Footprint& f : step.footprint) {
    const bool good = f.past >= 0 && f.past <= kMostPositions && f.future >= 0 && f.future <= kMostPositions &&
                      f.granule >= 1 && f.granule <= kMostGranule && f.yield >= 1 && f.yield <= kMostGranule;
    if (!good)
      return problem(section, fmt::format("{} positions become {}, with {} before and {} behind: more than can be "
                                          "computed with",
                                          f.granule, f.yield, f.past, f.future));
  }
  for (std::size_t o = 0; o < out.size(); ++o)
    if (const std::string fault = fault_of_size(out[o], out[o].axis == Axis::counted ? out[o].most : 1); !fault.empty())
      return problem(section, fmt::format("output '{}' {}", step.entry->outputs[o].name, fault));
  const PlanPort& lead = plan.ports[step.lead()];
  for (std::size_t i = 0; i < step.in.size(); ++i) {
    if (step.in[i] < 0 || port_of(plan, step.in[i]).shape.axis != Axis::stream) continue;
    const PlanPort& in = port_of(plan, step.in[i]);
    const auto rate = in.rate.times_within(step.footprint[i].yield, step.footprint[i].granule);
    if (!rate)
      return problem(section, fmt::format("its rate is no ratio of the source's that can be computed with; {} has "
                                          "{}/{} positions a sample already",
                                          in.name, in.rate.num, in.rate.den));
    if (i == 0 || lead.shape.axis != Axis::stream) continue;
    const Footprint& f = step.footprint.front();
    if (lead.rate.times_within(f.yield, f.granule) == rate) continue;
    const Rate apart = in.rate.times(lead.rate.den, lead.rate.num);
    return problem(section, fmt::format("its inputs have to be equally long and of one rate; for {} of {} there are {} "
                                        "of {}",
                                        apart.den, lead.name, apart.num, in.name));
  }
  return true;
}

bool accept_output(const PlanPort& port, const Section& section) {
  const std::string fault = fault_of_size(port.shape, port.most_new);
  if (fault.empty() && port.lag <= kMostPositions) return true;
  return problem(section, fmt::format("{} {}; use a smaller block", port.name,
                                      fault.empty() ? "comes too long behind the source" : fault));
}

bool accept_reach(const PlanPort& port, const Section& section) {
  const bool stream = port.shape.axis == Axis::stream;
  const bool near = !stream || (port.reach.past <= kMostPositions && port.reach.future <= kMostPositions);
  if (near && bytes_of(port.shape, port.most_new + (stream ? port.reach.past + port.reach.future : 0)) >= 0)
    return true;
  return problem(
      section,
      fmt::format("stages behind {} read too far around a block: decimate less, or use shorter filters", port.name),
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
                       : fmt::format("has {} of [{}], which do not go evenly with the {} of the first input",
                                     lengths[i], shapes[i].axis_name, cut),
                   inputs[i].name);
  }
  return true;
}

}  // namespace iqd
