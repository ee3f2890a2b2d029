// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "pipeline/outlets/sink_outlet.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {
namespace {

void show_counters(const Counters& counters, PipelineStatus& s) {
  // Output counters are read before `received`, so that they never exceed it; `dropped` first, since dropped samples
  // may have counted as published before.
  std::uint64_t left = 0;
  for (std::size_t d = 0; d < s.dropped.size(); ++d) left += s.dropped[d] = counters.dropped[d].value();
  left += s.published = counters.published_for_good();
  s.received = counters.received.value();
  s.in_flight = s.received - left;
  for (const CounterEntry& c : kCounterEntries)
    if (c.of != CounterEntry::Of::samples) s.*c.value = (counters.*c.counter).value();
  s.frequency_hz = counters.frequency_hz.value();
  s.tuned = counters.tuned.load();
  s.ahead_s = counters.ahead_s.value();
  s.drift = counters.drift.estimate();
  s.tallies = counters.tallies.values();
  s.levels = counters.levels.values();
  for (const ChannelLevel& c : counters.channels)
    s.channels.push_back(
        {c.rms_dbfs.value(), c.peak_dbfs.value(), c.clipped.value(), c.overloads.value(), c.overloaded});
  s.calibrated = counters.calibrated.value();
  s.latency = counters.latency.snapshot();
}

void show_engine(const Engine& engine, PipelineStatus& s) {
  s.lanes = engine.lanes();
  s.lanes_busy = engine.lanes_busy();
  s.slots = engine.slots();
  s.slots_free = engine.slots_free();
  s.gpu_resident = engine.resident_graphs();
  const Plan& plan = engine.plan();
  s.places = engine.places();
  for (PortPlace& place : s.places)
    if (place.on_air) place.frequency_hz += s.frequency_hz - plan.ports.front().shape.frequency_hz;
  for (const auto& route : engine.routes()) {
    const RouteCounts& counts = route->apply ? route->apply->settings() : *route->counts;
    PeerCounts peers = route->outlet->peers();
    s.ports.push_back({plan.outputs[route->output].format.port, route->to,
                       counts.messages.value() - counts.taken_back.value(), counts.bytes.value(),
                       counts.refused.value(), route->outlet->counts(), peers.endpoint});
    const auto is_known = [&](const PeerCounts& p) { return p.endpoint == peers.endpoint; };
    if (!peers.endpoint.empty() && std::ranges::none_of(s.endpoints, is_known)) s.endpoints.push_back(std::move(peers));
  }
  for (std::size_t i = 0; i <= plan.steps.size(); ++i)
    s.steps.push_back({i < plan.steps.size() ? plan.steps[i].name : "results", engine.step_times()[i].snapshot()});
}

}  // namespace

double Pipeline::block_s() const {
  const std::lock_guard lock(exchange_);
  return stream_.rate_hz > 0 ? static_cast<double>(spec_.block) / stream_.rate_hz : 0;
}

PipelineStatus Pipeline::status() const {
  PipelineStatus s;
  const std::shared_ptr<Engine> engine = engines_.running();
  std::shared_ptr<Pool> pool;
  {
    const std::lock_guard lock(exchange_);
    s.radio = spec_.driver->name;
    s.backend = backends_.names;
    s.gpu_share = backends_.processors();
    s.rate_hz = stream_.rate_hz;
    s.time = stream_.time;
    s.device_bytes = std::accumulate(sizing_.on_devices.begin(), sizing_.on_devices.end(), std::size_t{0});
    s.resident_bytes = sizing_.resident();
    s.needs = sizing_.needs;
    pool = backends_.backends.pool;
  }
  if (pool) s.pool = pool->status();
  s.name = name_;
  s.block_s = block_s();
  s.state = state();
  s.trouble = intake_->trouble();
  s.reloads = reloads_.value();
  s.slow_stage = slow_stage();
  show_counters(*counters_, s);
  show_engine(*engine, s);
  return s;
}

void Pipeline::visit_parts(const std::function<void(const PipelinePart&, const DeviceKeys&)>& visit) const {
  const std::shared_ptr<Engine> engine = engines_.running();
  const std::lock_guard lock(exchange_);
  for (const PipelinePart& part : parts_of(spec_, catalogue_)) {
    DeviceKeys device;
    if (part.kind == PipelinePart::Kind::source) device = intake_->device_keys();
    // During a change, the engine may be the next one already.
    if (part.route < engine->routes().size() && engine->routes()[part.route]->sink)
      device = engine->routes()[part.route]->sink->device_keys();
    visit(part, device);
  }
}

std::string Pipeline::summary() const {
  return fmt::format("{}: {} at {:.6g} MS/s, {} channel(s), blocks of {}, {} lane(s) on {} ({}), {} result slots{}{}",
                     name_, spec_.driver->name, stream_.rate_hz / 1e6, stream_.channels, spec_.block, engines_->lanes(),
                     backends_.names, backends_.reason, engines_->slots(), backends_.share.empty() ? "" : ", ",
                     backends_.share);
}

}  // namespace iqd
