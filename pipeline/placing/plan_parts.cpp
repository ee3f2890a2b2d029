// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/placing/plan_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/values.hpp"

namespace iqd {
namespace {

/// A conversion that the planner inserted. A stage that converts has a name of the file, without `~`.
bool is_conversion(const PlanStep& step) {
  return step.name.front() == '~' && !step.is_transfer();
}

/// The first step that reads the port; kNoStep if none does.
StepIndex reader_of(const Plan& plan, PortIndex port) {
  for (StepIndex s = 0; s < plan.steps.size(); ++s)
    if (std::ranges::find(plan.steps[s].in, port) != plan.steps[s].in.end()) return s;
  return kNoStep;
}

/// The step with which a step is placed: a conversion belongs to what reads it, else to what makes its input.
StepIndex owner_of(const Plan& plan, StepIndex step) {
  StepIndex at = step;
  while (is_conversion(plan.steps[at]) || plan.steps[at].is_transfer()) {
    const StepIndex reader = reader_of(plan, plan.steps[at].out.front());
    if (reader == kNoStep) {
      const PortIndex origin = origin_of(plan, plan.steps[at].in.front());
      return plan.ports[origin].maker == kNoStep ? step : plan.ports[origin].maker;
    }
    at = reader;
  }
  return at;
}

/// A 64-bit FNV-1a hash.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

void add_keys(std::string& text, const StageSpec& stage) {
  text += stage.entry->name;
  for (const KeyCopy& key : values_of([&](FieldVisitor& v) { stage.as_read->fields(v); }))
    if (!key.info.live) text += fmt::format(" {}={}", key.key, value_json(key.value).dump());
  text += stage.as_read->program() + '\n';
}

void add_port(std::string& text, const Plan& plan, PortIndex port) {
  if (port == kNoPort) return;
  const PlanPort& p = plan.ports[port];
  text += fmt::format("{} {} {} {}\n", name_of(p.shape.element), p.shape.text(), p.most_new, p.shape.most);
}

}  // namespace

std::string PlanStepGroup::name() const {
  return fmt::format("{}", fmt::join(names, "+"));
}

PortIndex origin_of(const Plan& plan, PortIndex port) {
  while (plan.ports[port].maker != kNoStep) {
    const PlanStep& maker = plan.steps[plan.ports[port].maker];
    if (!maker.is_transfer() && !is_conversion(maker)) break;
    port = maker.in.front();
  }
  return port;
}

std::vector<PlanStepGroup> groups_of(const Plan& plan, const PipelineSpec& spec) {
  std::vector<PlanStepGroup> groups;
  std::vector<std::size_t> group_of(plan.steps.size(), kNoGroup);
  std::size_t inserted = kNoGroup;
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (step.is_transfer() || (is_conversion(step) && owner_of(plan, s) != s)) continue;
    PlanStepGroup group{step.parts.empty() ? std::vector{step.name} : step.parts, {s}, false};
    const auto is_of_file = [&](const std::string& name) { return stage_named(spec, name) != nullptr; };
    group.is_inserted = std::ranges::none_of(group.names, is_of_file);
    if (group.is_inserted && inserted != kNoGroup) {
      groups[inserted].names.insert(groups[inserted].names.end(), group.names.begin(), group.names.end());
      groups[inserted].steps.push_back(s);
      group_of[s] = inserted;
      continue;
    }
    group_of[s] = groups.size();
    if (group.is_inserted) inserted = groups.size();
    groups.push_back(std::move(group));
  }
  for (StepIndex s = 0; s < plan.steps.size(); ++s)
    if (group_of[s] == kNoGroup && is_conversion(plan.steps[s])) groups[group_of[owner_of(plan, s)]].steps.push_back(s);
  return groups;
}

std::vector<std::size_t> group_numbers(const Plan& plan, const std::vector<PlanStepGroup>& groups) {
  std::vector<std::size_t> numbers(plan.steps.size(), kNoGroup);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const StepIndex s : groups[g].steps) numbers[s] = g;
  return numbers;
}

std::string time_name(const Plan& plan, const PlanStepGroup& group, const PipelineSpec& spec) {
  std::string text = fmt::format("{}\n", enum_names(spec.transfer)[static_cast<std::size_t>(spec.transfer)]);
  for (const std::string& name : group.names) {
    if (const StageSpec* const stage = stage_named(spec, name))
      add_keys(text, *stage);
    else
      text += name + '\n';
  }
  for (const StepIndex s : group.steps) {
    const PlanStep& step = plan.steps[s];
    for (const PortIndex p : step.in) add_port(text, plan, p);
    for (const PortIndex p : step.out) add_port(text, plan, p);
    for (const Footprint& f : step.footprint)
      text += fmt::format("{} {} {} {} {}\n", f.past, f.future, f.granule, f.yield, f.whole);
  }
  const PlanStep& first = plan.steps[group.steps.front()];
  return fmt::format("{}-{}-{:016x}", first.entry->name, plan.ports[first.lead()].most_new, hash_of(text));
}

}  // namespace iqd
