// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/fusion/fuse.hpp"

#include <algorithm>

#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/fusion/grouping.hpp"

namespace iqd::fusion {
namespace {

/// Element-wise itself, and already what neighbours can become.
class FusedStage final : public Stage, public ElementStage {
 public:
  FusedStage(ElementProgram program, std::vector<std::unique_ptr<Stage>> parts)
      : program_(std::move(program)), parts_(std::move(parts)) {}
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext&) override {}
  std::unique_ptr<StageRun> make(Backend& backend) const override { return make_run(program_, backend); }
  std::unique_ptr<ElementCode> elements() const override { return nullptr; }

 private:
  ElementProgram program_;
  std::vector<std::unique_ptr<Stage>> parts_;  // their code may look at them
};

/// Of the steps that are made here; no stage that a file can name.
const StageEntry& fused_entry() {
  static const StageEntry entry = [] {
    StageEntry e;
    e.family = "plan";
    e.name = "fused";
    e.summary = "element-wise neighbours in one";
    e.outputs.assign(kMostOutputs, {.name = "out"});
    return e;
  }();
  return entry;
}

ElementProgram program_of(const Plan& plan, const Group& group, const Grouping& grouping) {
  ElementProgram program;
  std::vector<int> value_of(plan.ports.size(), -1);
  const auto add_value = [&](int port) {
    value_of[static_cast<std::size_t>(port)] = static_cast<int>(program.values.size());
    program.values.push_back(plan.ports[static_cast<std::size_t>(port)].shape.element);
    return value_of[static_cast<std::size_t>(port)];
  };
  for (const int p : group.inputs) add_value(p);
  program.inputs = static_cast<int>(group.inputs.size());
  for (const std::size_t s : group.steps) {
    ElementProgram::Call call{grouping.code_of(s), {}, {}};
    for (const int p : plan.steps[s].in) call.in.push_back(value_of[static_cast<std::size_t>(p)]);
    for (const int p : plan.steps[s].out) call.out.push_back(add_value(p));
    program.calls.push_back(std::move(call));
  }
  for (const int p : group.outputs) program.outputs.push_back(value_of[static_cast<std::size_t>(p)]);
  program.varies = plan.ports[static_cast<std::size_t>(group.outputs.front())].shape.axis != Axis::stream;
  return program;
}

/// What the planner put in has the stage's name, all else its own.
std::string_view readable_name(const PlanStep& step) {
  return step.name.front() == '~' ? step.entry->name : std::string_view(step.name);
}

PlanStep fused_step(Plan& plan, const Group& group, const Grouping& grouping) {
  PlanStep fused;
  ElementProgram program = program_of(plan, group, grouping);
  std::vector<std::unique_ptr<Stage>> stages;
  for (const std::size_t s : group.steps) {
    PlanStep& part = plan.steps[s];
    fused.parts.emplace_back(readable_name(part));
    fused.name += (fused.name.empty() ? "" : "+") + fused.parts.back();
    fused.chunk_exempt = fused.chunk_exempt || part.chunk_exempt;
    fused.side = part.side;
    stages.push_back(std::move(part.stage));
  }
  fused.entry = &fused_entry();
  fused.in = group.inputs;
  fused.out = group.outputs;
  fused.footprint.resize(std::max<std::size_t>(group.inputs.size(), 1));
  if (fused.side == Side::host) fused.scratch_bytes = cpu_scratch_bytes(program);
  fused.stage = std::make_unique<FusedStage>(std::move(program), std::move(stages));
  return fused;
}

/// Takes out the ports that no step makes any more, and says anew who makes and who reads which.
void renumber(Plan& plan) {
  std::vector<bool> stays(plan.ports.size(), false);
  std::fill_n(stays.begin(), plan.sources, true);
  for (const PlanStep& s : plan.steps)
    for (const int p : s.out) stays[static_cast<std::size_t>(p)] = true;
  std::vector<int> now(plan.ports.size(), -1);
  std::vector<PlanPort> ports;
  for (std::size_t p = 0; p < plan.ports.size(); ++p) {
    if (!stays[p]) continue;
    now[p] = static_cast<int>(ports.size());
    ports.push_back(std::move(plan.ports[p]));
  }
  const auto renumbered = [&](int& p) { p = p < 0 ? p : now[static_cast<std::size_t>(p)]; };
  for (PlanPort& p : ports) {
    renumbered(p.count_of);
    p.maker = p.last_reader = -1;
  }
  for (PlanOutput& o : plan.outputs) renumbered(o.port);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    std::ranges::for_each(plan.steps[s].in, renumbered);
    std::ranges::for_each(plan.steps[s].out, renumbered);
    for (const int p : plan.steps[s].in)
      if (p >= 0) ports[static_cast<std::size_t>(p)].last_reader = static_cast<int>(s);
    for (const int p : plan.steps[s].out) ports[static_cast<std::size_t>(p)].maker = static_cast<int>(s);
  }
  plan.ports = std::move(ports);
}

}  // namespace

void fuse_neighbours(Plan& plan, const std::array<bool, kSides>& sides) {
  const Grouping grouping(plan, sides);
  const std::vector<Group> groups = grouping.groups();
  if (groups.size() == plan.steps.size()) return;
  std::vector<PlanStep> steps;
  for (const Group& group : groups)
    steps.push_back(group.steps.size() == 1 ? std::move(plan.steps[group.steps.front()])
                                            : fused_step(plan, group, grouping));
  plan.steps = std::move(steps);
  renumber(plan);
}

}  // namespace iqd::fusion
