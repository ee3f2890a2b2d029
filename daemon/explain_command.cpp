// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "daemon/command/commands.hpp"
#include "pipeline/auto_place.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/spec/spec_backends.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

/// The backends that the pipeline would use here; without them, the plan follows the file alone.
struct Found {
  std::optional<EngineBackends> backends;
  PlanTarget target;
  std::string names;
  std::string reason;
  std::string share{};
  std::optional<Placement> placement{};  // of `backend: auto`
};

Found look_for_backends(PipelineSpec& spec, const StreamInfo& stream) {
  try {
    ChosenBackends chosen = choose_backends(spec);
    std::optional<Placement> placement = place_stages(spec, stream, catalogue(), chosen);
    const std::vector<std::shared_ptr<Backend>>& devices = chosen.backends.devices;
    const Backend& first = devices.empty() ? *chosen.backends.host : *devices.front();
    return {chosen.backends,
            target_of(spec, chosen.backends),
            fmt::format("{}, {}", chosen.names, first.device()),
            chosen.reason,
            chosen.no_share.empty() ? chosen.share : "not available here: " + chosen.no_share,
            std::move(placement)};
  } catch (const SetupError& e) {
    return {std::nullopt, target_of(spec), fmt::format("{}", fmt::join(backends_of(spec).names, ", ")),
            fmt::format("not available here: {}", e.what())};
  }
}

std::string home_name(const Plan& plan, const PlanPort& port) {
  if (port.home == Home::window) return "ring window";
  if (port.home == Home::slot) return "result slot";
  if (!on_device(port.side)) return "lane arena";
  return fmt::format("{} {}", plan.name_of(port.side), port.home == Home::ring ? "ring" : "arena");
}

std::string rate_text(const PlanPort& port) {
  if (port.shape.axis != Axis::stream || port.shape.rate_hz <= 0) return "-";
  return port.shape.rate_hz >= 1e6 ? fmt::format("{:.6g} M/s", port.shape.rate_hz / 1e6)
                                   : fmt::format("{:.6g} k/s", port.shape.rate_hz / 1e3);
}

/// Shows what stages compute beforehand. Errors are left to `check` and `run`.
void prepare(Plan& plan, const Found& found) {
  try {
    if (found.backends) plan.prepare(*found.backends->host, found.backends->devices);
  } catch (const SetupError&) {
  }
}

void explain_ports(const Plan& plan) {
  fmt::print("  {:<28} {:<34} {:>14} {:>10} {:>7} {:>7}  {}\n", "port", "shape", "rate", "new/block", "past", "future",
             "memory");
  for (const PlanPort& port : plan.ports)
    fmt::print("  {:<28} {:<34} {:>14} {:>10} {:>7} {:>7}  {}\n", port.name, port.shape.text(), rate_text(port),
               port.most_new, port.reach.past, port.reach.future, home_name(plan, port));
}

/// `99.54 MHz`, exact to the hertz.
std::string hertz_text(double hz) {
  if (std::fabs(hz) >= 1e6) return fmt::format("{:.12g} MHz", hz / 1e6);
  return std::fabs(hz) >= 1e3 ? fmt::format("{:.9g} kHz", hz / 1e3) : fmt::format("{:.6g} Hz", hz);
}

/// `bin: 99 MHz + 976.563 Hz each`
std::string axis_text(const PlanPort& port) {
  std::string text = port.shape.mirrored ? "mirrored" : "";
  for (const auto* dims : {&port.shape.rows, &port.shape.item})
    for (const Dim& dim : *dims) {
      const Frequencies& of = dim.frequencies;
      if (!of.known()) continue;
      const auto at = [&](double offset) { return hertz_text(port.shape.frequency_hz + offset); };
      text += fmt::format("{}{}: ", text.empty() ? "" : "; ", dim.name);
      if (of.values_hz.empty()) text += fmt::format("{}, then every {}", at(of.first_hz), hertz_text(of.step_hz));
      if (of.wrap > 0)
        text += fmt::format("; from bin {} on, {} lower", of.wrap,
                            hertz_text(of.step_hz * static_cast<double>(dim.extent)));
      for (std::size_t k = 0; k < std::min<std::size_t>(of.values_hz.size(), 4); ++k)
        text += (k ? ", " : "") + at(of.values_hz[k]);
      if (of.values_hz.size() > 4) text += fmt::format(", … {}", at(of.values_hz.back()));
    }
  return text;
}

/// Where the ports lie in the spectrum.
void explain_places(const Plan& plan) {
  fmt::print("\n  {:<28} {:>20} {:>14}  axis\n", "port", "frequency", "span");
  for (const PlanPort& port : plan.ports)
    fmt::print("  {:<28} {:>20} {:>14}  {}\n", port.name, port.shape.on_air ? hertz_text(port.shape.frequency_hz) : "-",
               port.shape.band_hz() > 0 ? hertz_text(port.shape.band_hz()) : "-", axis_text(port));
}

void explain_steps(const Plan& plan, bool only_pool) {
  std::size_t widest = 28;  // a fused step has the names of all its stages
  for (const PlanStep& step : plan.steps) widest = std::max(widest, step.name.size());
  fmt::print("\n  {:<{}} {:<30} runs on\n", "step", widest, "reads");
  for (const PlanStep& step : plan.steps) {
    std::string in;
    for (const PortIndex p : step.in) in += (in.empty() ? "" : ", ") + (p == kNoPort ? "-" : plan.ports[p].name);
    const std::string note = step.carry_bytes      ? "  (one block at a time, in order)"
                             : !step.parts.empty() ? fmt::format("  ({} fused)", step.parts.size())
                                                   : "";
    const bool is_away = &step < plan.steps.data() + plan.away.end;
    const std::string_view side = plan.name_of(step.side);
    fmt::print("  {:<{}} {:<30} {}{}\n", step.name, widest, in,
               !is_away    ? std::string(side)
               : only_pool ? "pool"
                           : fmt::format("{} and pool", side),
               note);
  }
}

/// Why each stage is where it is.
void explain_placement(const Placement& placement) {
  std::size_t widest = 28;
  for (const Placement::Part& part : placement.parts) widest = std::max(widest, part.group.name().size());
  fmt::print("\n  {:<{}} {:<10} why\n", "stage", widest, "placed on");
  for (const Placement::Part& part : placement.parts)
    fmt::print("  {:<{}} {:<10} {}\n", part.group.name(), widest, part.side == Side::host ? "cpu" : placement.device,
               placement.reason(part));
}

/// By how much resident memory grows, its parts, and what may come on top.
void explain_memory(const Sizing& sizing, const StreamInfo& stream) {
  fmt::print("  memory    {:.2f} MB{}\n", megabytes(sizing.resident()),
             stream.can_wait ? "" : ", plus what the radio's driver allocates");
  const auto line = [](std::size_t bytes, std::string_view what) {
    if (bytes >= 5000) fmt::print("    {:>10.2f}  {}\n", megabytes(bytes), what);
  };
  for (const Need& need : sizing.needs) line(need.bytes, need.what);
  line(sizing.seen_twice, "of the ring, counted again for its second mapping");
  if (sizing.more() > 0)
    fmt::print("  up to     {:.2f} MB more while a disk or a reader falls behind\n", megabytes(sizing.more()));
  for (const Need& need : sizing.needs) line(need.more, need.what);
  fmt::print("  uses      {} threads, {} descriptors\n", sizing.threads(), sizing.files());
  if (sizing.device_bytes + sizing.device_ring_bytes > 0)
    fmt::print("  device    {:.2f} MB for the lanes{}\n", megabytes(sizing.device_bytes),
               sizing.device_ring_bytes > 0
                   ? fmt::format(", {:.2f} MB on each for a ring of samples", megabytes(sizing.device_ring_bytes))
                   : "");
}

void explain_crossing(const Plan& plan) {
  if (!plan.uses_devices()) return;
  const Crossing crossing = crossing_of(plan);
  const std::size_t keeping = plan.ring_devices().size();
  fmt::print("  crosses   {:.3f} MB a block to the device{}, {:.3f} MB back{}\n", megabytes(crossing.to_device),
             keeping == 0  ? ""
             : keeping > 1 ? ", each sample once to each"
                           : ", each sample once",
             megabytes(crossing.to_host),
             crossing.between > 0 ? fmt::format(", {:.3f} MB between devices", megabytes(crossing.between)) : "");
}

/// What goes to other hosts and comes back.
void explain_pool(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream) {
  if (!spec.pool) return;
  const PoolNeeds needs = pool_needs(spec, plan, stream);
  std::string ports;
  for (const PortIndex p : plan.away.returned) ports += (ports.empty() ? "" : ", ") + plan.ports[p].name;
  fmt::print("  pool      {:.3f} MB a block to a worker, {:.3f} MB back ({}); at most {} blocks are out\n",
             megabytes(needs.block_bytes), megabytes(needs.result_bytes), ports, spec.pool->most_out(needs));
}

/// Who launches the work of a block.
void explain_launches(const Plan& plan) {
  const char* const by = !plan.uses_devices()     ? "nothing: no stage runs on a device, so `resident` only polls"
                         : plan.sequential()      ? "the host, since a stage carries state from block to block"
                         : !plan.mixed()          ? "the device"
                         : plan.ringed == kNoPort ? "the device, for each part that it runs"
                                                  : "the device, except for the first part, before which samples are "
                                                    "copied";
  fmt::print("  launched  by {}\n", by);
}

bool is_whole(const StreamInfo& stream) {
  return stream.known == StreamInfo::Known::whole;
}

/// Without a rate, the plan may lack stages that need one, and has no size.
void explain_pipeline(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream, const Found& found,
                      const std::optional<Sizing>& sizing) {
  fmt::print("pipeline {}\n", spec.name);
  fmt::print("  source    {}: {} x {} at {}, {}\n", spec.driver->name, stream.channels, name_of(stream.element),
             is_whole(stream) ? fmt::format("{:.6g} MS/s", stream.rate_hz / 1e6) : "the rate of the first message",
             stream.can_wait ? "waits for the pipeline" : "cannot wait: samples are dropped if there is no room");
  fmt::print("  backend   {} ({})\n", found.names, found.reason);
  if (!found.share.empty()) fmt::print("  share     {}\n", found.share);
  if (stream.rate_hz > 0)
    fmt::print(
        "  blocks    {} samples, {:.3f} ms each, which is the deadline; {:.3f} ms per lane\n", spec.block,
        static_cast<double>(spec.block) / stream.rate_hz * 1e3,
        static_cast<double>(spec.block) / stream.rate_hz * 1e3 * (sizing ? std::max(sizing->engine.lanes, 1) : 1));
  if (sizing) explain_memory(*sizing, stream);
  explain_crossing(plan);
  explain_pool(spec, plan, stream);
  if (spec.wait == Wait::resident) explain_launches(plan);
  if (!sizing) fmt::print("  memory    known with the rate; stages that need the rate may be missing below\n");
  fmt::print("\n");
  explain_ports(plan);
  explain_places(plan);
  explain_steps(plan, spec.only_pool);
  if (found.placement) explain_placement(*found.placement);
  fmt::print("\n  {:<28} {:<30} {:>12}\n", "message", "shape", "bytes");
  for (const PlanOutput& o : plan.outputs)
    fmt::print("  {:<28} {:<30} {:>12}{}\n", o.format.port, to_string(o.format.dims), o.format.bytes(o.format.most()),
               o.in_place ? "" : "  (copied out)");
  if (!spec.apply.empty()) fmt::print("\n  {:<28} is applied to\n", "value");
  for (const ApplySpec& a : spec.apply) fmt::print("  {:<28} {}\n", a.port, a.key.text());
  fmt::print("\n");
}

void draw(const Plan& plan) {
  fmt::print("digraph \"{}\" {{\n  rankdir=LR; node [shape=box, fontname=\"sans\"];\n  source [shape=oval];\n",
             plan.pipeline);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    fmt::print("  s{} [label=\"{}\"];\n", s, plan.steps[s].name);
    for (const PortIndex p : plan.steps[s].in) {
      if (p == kNoPort) continue;
      const PlanPort& port = plan.ports[p];
      const std::string from = port.is_source() ? "source" : fmt::format("s{}", port.maker);
      fmt::print("  {} -> s{} [label=\"{}\"];\n", from, s, port.shape.text());
    }
  }
  for (std::size_t o = 0; o < plan.outputs.size(); ++o) {
    const PlanPort& port = plan.ports[plan.outputs[o].port];
    const std::string from = port.is_source() ? "source" : fmt::format("s{}", port.maker);
    fmt::print("  o{} [shape=oval, label=\"{}\"];\n  {} -> o{};\n", o, plan.outputs[o].format.port, from, o);
  }
  fmt::print("}}\n");
}

Exit explain(const std::string& file, bool dot) {
  const auto loaded = load(file);
  const std::vector<Plan> checked = check_spec(loaded->spec, catalogue(), loaded->problems);
  if (report(loaded->problems)) return Exit::configuration;
  report_warnings(loaded->problems);
  if (loaded->work)
    fmt::print("a worker for {}: what it computes is in the orders of their homes\n",
               fmt::join(loaded->work->pools, ", "));
  for (PipelineSpec& spec : loaded->spec.pipelines) {
    const StreamInfo stream = spec.source->describe(*spec.source_section);
    const Found found = look_for_backends(spec, stream);
    std::vector<OutputIndex> outputs;
    const std::size_t heap_before = heap_bytes();
    Plan plan = make_plan(spec, stream, catalogue(), found.target, outputs, loaded->problems);
    if (dot) {
      draw(plan);
      continue;
    }
    prepare(plan, found);
    const Circumstances circumstances{.locked = spec.realtime.lock_memory && host_limits().locked.has_value(),
                                      .plan_bytes = heap_growth(heap_before)};
    std::optional<Sizing> sizing;
    if (is_whole(stream)) sizing = size_up(spec, plan, stream, outputs, circumstances);
    explain_pipeline(spec, plan, stream, found, sizing);
  }
  return Exit::ok;
}

}  // namespace

void add_explain(CommandLine& line) {
  struct Arguments {
    std::string file;
    bool dot = false;
  };
  auto a = std::make_shared<Arguments>();
  line.command("explain", "show the plan of a file: stages, shapes, rates, memory",
               [a] { return explain(a->file, a->dot); })
      .option("FILE", &a->file, "pipeline definition (YAML)", {.required = true})
      .option("--dot", &a->dot, "print a graph for Graphviz");
}

}  // namespace iqd
