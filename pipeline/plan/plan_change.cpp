// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "config/differences.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {
namespace {

/// Everything about a step except what it computes.
auto place_of(const PlanStep& s) {
  return std::tie(s.entry, s.name, s.side, s.in, s.out, s.footprint, s.scratch_bytes, s.scratch_offset, s.carry_bytes);
}

/// A port and an output without their frequency and span, which live keys may change.
PlanPort still(PlanPort port) {
  port.shape.frequency_hz = port.shape.span_hz = 0;
  return port;
}
PlanOutput still_output(PlanOutput output) {
  output.format.frequency_hz = output.format.span_hz = 0;
  return output;
}

FieldList fields_of(const PlanStep& step) {
  return [&stage = *step.stage](FieldVisitor& v) { stage.fields(v); };
}

}  // namespace

bool same_layout(const Plan& one, const Plan& other) {
  const auto size_of = [](const Plan& p) {
    return std::tie(p.pipeline, p.block, p.sources, p.groups, p.arena_bytes, p.scratch_offset, p.slot_bytes);
  };
  const auto same_place = [](const PlanStep& a, const PlanStep& b) { return place_of(a) == place_of(b); };
  return size_of(one) == size_of(other) && std::ranges::equal(one.ports, other.ports, {}, still, still) &&
         std::ranges::equal(one.outputs, other.outputs, {}, still_output, still_output) &&
         std::equal(one.steps.begin(), one.steps.end(), other.steps.begin(), other.steps.end(), same_place);
}

bool same_but_live(const PlanStep& one, const PlanStep& other) {
  return one.entry == other.entry && one.name == other.name && one.carry_bytes == other.carry_bytes &&
         all_live(differences(fields_of(one), fields_of(other)));
}

bool continues(const Plan& plan, const PlanStep& step, const Plan& before, const PlanStep& step_before) {
  return step.carry_bytes > 0 && same_but_live(step, step_before) &&
         std::ranges::equal(plan.devices_of(step.side), before.devices_of(step_before.side));
}

}  // namespace iqd
