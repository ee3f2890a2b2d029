// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/away_part.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iqd {
namespace {

bool is_inserted(const PlanStep& step) {
  return step.name.front() == '~';
}

/// Whether a step that is computed here reads one of these ports.
bool is_read_here(const Plan& plan, const std::vector<PortIndex>& ports, const std::vector<bool>& away) {
  for (StepIndex s = 0; s < plan.steps.size(); ++s)
    for (const PortIndex in : plan.steps[s].in)
      if (!away[s] && std::ranges::find(ports, in) != ports.end()) return true;
  return false;
}

/// Whether a step that is computed elsewhere does.
bool is_read_away(const Plan& plan, const std::vector<PortIndex>& ports, const std::vector<bool>& away) {
  std::vector<bool> here = away;
  here.flip();
  return is_read_here(plan, ports, here);
}

std::vector<bool> find_away(const Plan& plan) {
  std::vector<bool> away(plan.steps.size());
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    const auto is_there = [&](PortIndex in) {
      return in == kNoPort || plan.ports[in].is_source() || away[plan.ports[in].maker];
    };
    away[s] = step.carry_bytes == 0 && !step.stage->has_program() && std::ranges::all_of(step.in, is_there);
  }
  // What only steps here read is converted here: the message is smaller before.
  for (StepIndex s = plan.steps.size(); s-- > 0;) {
    const PlanStep& step = plan.steps[s];
    if (away[s] && is_inserted(step) && !step.is_transfer() &&
        !std::ranges::any_of(step.out, [&](PortIndex p) { return plan.is_published(p); }))
      away[s] = is_read_away(plan, step.out, away);
  }
  return away;
}

/// After steps have moved.
void find_makers(Plan& plan) {
  for (PlanPort& port : plan.ports) port.maker = port.last_reader = kNoStep;
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    for (const PortIndex p : plan.steps[s].in)
      if (p != kNoPort) plan.ports[p].last_reader = s;
    for (const PortIndex p : plan.steps[s].out) plan.ports[p].maker = s;
  }
}

}  // namespace

void put_away_first(Plan& plan) {
  const std::vector<bool> away = find_away(plan);
  std::vector<PlanStep> steps;
  for (const bool first : {true, false})
    for (StepIndex s = 0; s < plan.steps.size(); ++s)
      if (away[s] == first) steps.push_back(std::move(plan.steps[s]));
  plan.steps = std::move(steps);
  plan.away.end = static_cast<StepIndex>(std::ranges::count(away, true));
  find_makers(plan);
}

void find_returned(Plan& plan) {
  std::vector<bool> away(plan.steps.size());
  std::fill_n(away.begin(), plan.away.end, true);
  const auto is_number = [&](PortIndex port) {
    return std::ranges::find(plan.tallies, port) != plan.tallies.end() ||
           std::ranges::find(plan.levels, port) != plan.levels.end();
  };
  const auto is_fact = [&](PortIndex port) {
    return std::ranges::any_of(plan.outputs, [port](const PlanOutput& o) {
      return std::ranges::find(o.facts, port, &PlanOutput::Fact::port) != o.facts.end();
    });
  };
  for (PortIndex p = 0; p < plan.ports.size(); ++p) {
    if (plan.ports[p].is_source() || plan.ports[p].maker >= plan.away.end) continue;
    if (plan.is_published(p) || is_number(p) || is_fact(p) || is_read_here(plan, {p}, away))
      plan.away.returned.push_back(p);
  }
}

std::set<std::string> stages_here(const Plan& plan) {
  std::set<std::string> here;
  for (StepIndex s = plan.away.end; s < plan.steps.size(); ++s)
    for (std::string& name : stages_of(plan.steps[s])) here.insert(std::move(name));
  return here;
}

std::string why_none_away(const Plan& plan) {
  for (StepIndex s = 0; s < plan.away.end; ++s)
    if (!is_inserted(plan.steps[s])) return {};
  for (const PlanStep& step : plan.steps) {
    if (is_inserted(step)) continue;
    if (step.stage->has_program())
      return fmt::format("{} runs a program of its own, which stays on its host", step.name);
    return fmt::format("{} has a state that passes from block to block", step.name);
  }
  return "there is no stage";
}

std::string written_port(const Plan& plan, PortIndex port) {
  while (!plan.ports[port].is_source() && is_inserted(plan.steps[plan.ports[port].maker]))
    port = plan.steps[plan.ports[port].maker].in.front();
  return plan.ports[port].name;
}

std::vector<std::string> stages_of(const PlanStep& step) {
  if (!step.parts.empty()) return step.parts;
  return is_inserted(step) ? std::vector<std::string>{} : std::vector<std::string>{step.name};
}

}  // namespace iqd
