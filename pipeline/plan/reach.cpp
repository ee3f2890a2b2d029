// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/reach.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/plan/shape_check.hpp"

namespace iqd {
namespace {

/// Makes a port reach as far as a stage needs for outputs that reach `to`. A reach too large for any memory is cut to
/// just beyond the limit.
void extend(PlanPort& in, const Footprint& f, const Reach& to, std::int64_t grid) {
  if (in.shape.axis != Axis::stream) return;
  constexpr std::int64_t kMost = kMostPositions + 1;
  const Reach needs =
      reach_before(f, {std::min(to.past, kMost), std::min(to.future, kMost)}, starts_at_granule(grid, in, f));
  in.reach = {std::max(in.reach.past, std::min(needs.past, kMost)),
              std::max(in.reach.future, std::min(needs.future, kMost))};
}

void extend_inputs(Plan& plan, const PlanStep& step) {
  Reach out;
  std::int64_t lag = 0;
  for (const PortIndex p : step.out) {
    const PlanPort& port = plan.ports[p];
    if (port.shape.axis != Axis::stream) continue;
    out = {std::max(out.past, port.reach.past), std::max(out.future, port.reach.future)};
    lag = std::max(lag, port.lag);
  }
  // An element-wise stage makes the same positions of all its outputs.
  if (step.stage->is_elementwise())
    for (const PortIndex p : step.out) plan.ports[p].reach = out;
  extend(plan.ports[step.lead()], step.footprint.front(), out, plan.grid);
  for (std::size_t i = 1; i < step.in.size(); ++i) {
    if (step.in[i] == kNoPort) continue;
    // The output's new part starts where the first input's does; that of another input may start elsewhere.
    PlanPort& in = plan.ports[step.in[i]];
    const Footprint& f = step.footprint[i];
    extend(in, f, {out.past + ceil_div(in.lag * f.yield, f.granule), out.future + lag}, plan.grid);
  }
}

}  // namespace

bool starts_at_granule(std::int64_t grid, const PlanPort& port, const Footprint& footprint) noexcept {
  return port.lag == 0 && grid % port.rate.den == 0 && grid / port.rate.den * port.rate.num % footprint.granule == 0;
}

void check_granules(const Plan& plan, const Section& section) {
  for (const PlanStep& step : plan.steps) {
    const PlanPort& in = plan.ports[step.lead()];
    const Footprint& f = step.footprint.front();
    if (in.shape.axis != Axis::stream || !f.whole || in.most_new >= f.granule) continue;
    section.problem("block",
                    fmt::format("{} samples are too few: {} takes {} at once{}; use a block of at least {}", plan.block,
                                step.name, f.granule, in.rate.den > in.rate.num ? " at a lower rate" : "",
                                mul_div_up(f.granule, in.rate.den, in.rate.num)));
  }
}

void find_reach(Plan& plan) {
  for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) extend_inputs(plan, *step);
}

}  // namespace iqd
