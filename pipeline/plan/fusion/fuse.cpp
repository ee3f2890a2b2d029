// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/fusion/fuse.hpp"

#include <algorithm>

#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/fusion/grouping.hpp"

namespace iqd::fusion {
namespace {

/// Element-wise too, but not fused any further.
class FusedStage final : public Stage {
 public:
  FusedStage(ElementProgram program, std::vector<std::unique_ptr<Stage>> parts)
      : program_(std::move(program)), parts_(std::move(parts)) {}
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext&) override {}
  std::unique_ptr<StageRun> make(Backend& backend) const override { return make_run(program_, backend); }
  bool is_elementwise() const override { return true; }
  bool has_program() const override { return std::ranges::any_of(parts_, &Stage::has_program); }

 private:
  ElementProgram program_;
  std::vector<std::unique_ptr<Stage>> parts_;  // kept alive: their code may refer to them
};

/// The entry of fused steps; files cannot name it.
const StageEntry& fused_entry() {
  static const StageEntry entry = [] {
    StageEntry e;
    e.family = "plan";
    e.name = "fused";
    e.summary = "fused element-wise stages";
    e.outputs.assign(kMostOutputs, {.name = "out"});
    return e;
  }();
  return entry;
}

ElementProgram program_of(const Plan& plan, const Group& group, const PortGraph& graph) {
  ElementProgram program;
  std::vector<std::size_t> value_of(plan.ports.size());
  const auto add_value = [&](PortIndex port) {
    value_of[port] = program.values.size();
    program.values.push_back(plan.ports[port].shape.element);
    return value_of[port];
  };
  for (const PortIndex p : group.inputs) add_value(p);
  program.inputs = group.inputs.size();
  for (const StepIndex s : group.steps) {
    ElementProgram::Call call{graph.code_of(s), {}, {}};
    for (const PortIndex p : plan.steps[s].in) call.in.push_back(value_of[p]);
    for (const PortIndex p : plan.steps[s].out) call.out.push_back(add_value(p));
    program.calls.push_back(std::move(call));
  }
  for (const PortIndex p : group.outputs) program.outputs.push_back(value_of[p]);
  program.varies = plan.ports[group.outputs.front()].shape.axis != Axis::stream;
  return program;
}

/// The name of the step, or of the stage if the planner inserted it.
std::string_view readable_name(const PlanStep& step) {
  return step.name.front() == '~' ? step.entry->name : std::string_view(step.name);
}

PlanStep fused_step(Plan& plan, const Group& group, const PortGraph& graph) {
  PlanStep fused;
  ElementProgram program = program_of(plan, group, graph);
  std::vector<std::unique_ptr<Stage>> stages;
  for (const StepIndex s : group.steps) {
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

/// Removes the ports that no step makes any more, and updates makers and readers.
void renumber(Plan& plan) {
  std::vector<bool> stays(plan.ports.size(), false);
  std::fill_n(stays.begin(), plan.sources, true);
  for (const PlanStep& s : plan.steps)
    for (const PortIndex p : s.out) stays[p] = true;
  std::vector<PortIndex> now(plan.ports.size(), kNoPort);
  std::vector<PlanPort> ports;
  for (PortIndex p = 0; p < plan.ports.size(); ++p) {
    if (!stays[p]) continue;
    now[p] = ports.size();
    ports.push_back(std::move(plan.ports[p]));
  }
  const auto renumbered = [&](PortIndex& p) { p = p == kNoPort ? p : now[p]; };
  for (PlanPort& p : ports) {
    renumbered(p.count_of);
    p.maker = p.last_reader = kNoStep;
  }
  for (PlanOutput& o : plan.outputs) renumbered(o.port);
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    std::ranges::for_each(plan.steps[s].in, renumbered);
    std::ranges::for_each(plan.steps[s].out, renumbered);
    for (const PortIndex p : plan.steps[s].in)
      if (p != kNoPort) ports[p].last_reader = s;
    for (const PortIndex p : plan.steps[s].out) ports[p].maker = s;
  }
  plan.ports = std::move(ports);
}

}  // namespace

void fuse_neighbours(Plan& plan, bool device_fuses) {
  const PortGraph graph(plan, device_fuses);
  const std::vector<Group> groups = Grouping(graph).groups();
  if (groups.size() == plan.steps.size()) return;
  std::vector<PlanStep> steps;
  for (const Group& group : groups)
    steps.push_back(group.steps.size() == 1 ? std::move(plan.steps[group.steps.front()])
                                            : fused_step(plan, group, graph));
  plan.steps = std::move(steps);
  renumber(plan);
}

}  // namespace iqd::fusion
