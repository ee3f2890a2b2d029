// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/commands.hpp"
#include "pipeline/cpu_backend.hpp"

namespace iqd {
namespace {

std::string_view home_name(Home home) {
  return home == Home::window ? "ring window" : home == Home::slot ? "result slot" : "lane arena";
}

std::string rate_text(const PlanPort& port) {
  if (port.shape.axis != Axis::stream || port.shape.rate_hz <= 0) return "-";
  return port.shape.rate_hz >= 1e6 ? fmt::format("{:.6g} M/s", port.shape.rate_hz / 1e6)
                                   : fmt::format("{:.6g} k/s", port.shape.rate_hz / 1e3);
}

void explain_ports(const Plan& plan) {
  fmt::print("  {:<28} {:<34} {:>14} {:>10} {:>7} {:>7}  {}\n", "port", "shape", "rate", "new/block", "past", "future",
             "lies in");
  for (const PlanPort& port : plan.ports)
    fmt::print("  {:<28} {:<34} {:>14} {:>10} {:>7} {:>7}  {}\n", port.name, port.shape.text(), rate_text(port),
               port.most_new, port.reach.past, port.reach.future, home_name(port.home));
}

void explain_pipeline(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream) {
  const Sizing sizing = size_up(spec, plan, stream);
  const auto mb = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  fmt::print("pipeline {}\n", spec.name);
  fmt::print("  source    {}: {} x {} at {:.6g} MS/s, {}\n", spec.driver->name, stream.channels,
             name_of(stream.element), stream.rate_hz / 1e6,
             stream.can_wait ? "waits for the path" : "cannot wait: what has no room is dropped");
  std::string backend = spec.backend, reason = "asked for";
  try {
    BackendChoice choice = choose_backend(spec.backend);
    backend = choice.backend->name() + ", " + choice.backend->device();
    reason = choice.reason;
  } catch (const SetupError& e) {
    reason = fmt::format("cannot be had here: {}", e.what());
  }
  fmt::print("  backend   {} ({})\n", backend, reason);
  if (stream.rate_hz > 0)
    fmt::print("  blocks    {} samples, {:.3f} ms each: a block has to be done in that time, per lane in {:.3f} ms\n",
               spec.block, static_cast<double>(spec.block) / stream.rate_hz * 1e3,
               static_cast<double>(spec.block) / stream.rate_hz * 1e3 * sizing.engine.lanes);
  fmt::print("  memory    {:.2f} MB: ring {:.2f} ({} samples), {} lanes {:.2f}, {} result slots {:.2f}\n\n",
             mb(sizing.total()), mb(sizing.ring_bytes), sizing.engine.ring_samples, sizing.engine.lanes,
             mb(sizing.arena_bytes), sizing.engine.slots, mb(sizing.slot_bytes));
  explain_ports(plan);
  fmt::print("\n  {:<28} reads{}\n", "step", "");
  for (const PlanStep& step : plan.steps) {
    std::string in;
    for (const int p : step.in)
      in += (in.empty() ? "" : ", ") + (p < 0 ? "-" : plan.ports[static_cast<std::size_t>(p)].name);
    fmt::print("  {:<28} {}{}\n", step.name, in, step.carry_bytes ? "  (one block at a time, in order)" : "");
  }
  fmt::print("\n  {:<28} {:<30} {:>12}\n", "message", "shape", "bytes");
  for (const PlanOutput& o : plan.outputs)
    fmt::print("  {:<28} {:<30} {:>12}{}\n", o.format.port, to_string(o.format.dims), o.format.bytes(o.format.most()),
               o.in_place ? "" : "  (copied out)");
  fmt::print("\n");
}

void draw(const Plan& plan) {
  fmt::print("digraph \"{}\" {{\n  rankdir=LR; node [shape=box, fontname=\"sans\"];\n  source [shape=oval];\n",
             plan.pipeline);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    fmt::print("  s{} [label=\"{}\"];\n", s, plan.steps[s].name);
    for (const int p : plan.steps[s].in) {
      if (p < 0) continue;
      const PlanPort& port = plan.ports[static_cast<std::size_t>(p)];
      const std::string from = port.maker < 0 ? "source" : fmt::format("s{}", port.maker);
      fmt::print("  {} -> s{} [label=\"{}\"];\n", from, s, port.shape.text());
    }
  }
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    const PlanPort& port = plan.ports[static_cast<std::size_t>(plan.outputs[o].port)];
    const std::string from = port.maker < 0 ? "source" : fmt::format("s{}", port.maker);
    fmt::print("  o{} [shape=oval, label=\"{}\"];\n  {} -> o{};\n", o, plan.outputs[o].format.port, from, o);
  }
  fmt::print("}}\n");
}

Exit explain(const std::string& file, bool dot) {
  const auto loaded = load(file);
  const std::vector<Plan> plans = check_spec(loaded->spec, catalogue(), loaded->problems);
  if (report(loaded->problems)) return Exit::configuration;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const PipelineSpec& spec = loaded->spec.pipelines[p];
    if (dot)
      draw(plans[p]);
    else
      explain_pipeline(spec, plans[p], spec.source->describe(*spec.source_section));
  }
  return Exit::ok;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto file = std::make_shared<std::string>();
  auto dot = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("explain", "show the plan of a file: stages, shapes, rates, memory");
  c->add_option("FILE", *file, "pipeline definition (YAML)")->required();
  c->add_flag("--dot", *dot, "as a graph for Graphviz");
  c->callback([=, &action] { action = [=] { return explain(*file, *dot); }; });
}

}  // namespace iqd
