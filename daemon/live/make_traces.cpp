// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/make_traces.hpp"

#include <algorithm>

#include "daemon/live/array_trace.hpp"
#include "daemon/live/item_trace.hpp"
#include "daemon/live/latency_trace.hpp"
#include "daemon/live/point_traces.hpp"
#include "daemon/live/row_traces.hpp"
#include "pipeline/watch/sample_watch.hpp"

namespace iqd::live {
namespace {

using Traces = std::vector<std::unique_ptr<Trace>>;

void add_samples(Traces& to, const WatchedPort& port) {
  const auto& outlet = dynamic_cast<const SampleWatch&>(*port.outlet);
  const auto spectrum = std::make_shared<SampleSpectrum>(outlet.size());
  for (std::int64_t t = 0; t < outlet.traces(); ++t) to.push_back(std::make_unique<SampleRow>(port, t, spectrum));
  if (outlet.traces() > 1) to.push_back(std::make_unique<ArrayTrace>(port));
}

template <class Kind> void add_each(Traces& to, const WatchedPort& port) {
  for (std::int64_t t = 0; t < port.outlet->traces(); ++t) to.push_back(std::make_unique<Kind>(port, t));
}

void add_traces(Traces& to, const WatchedPort& port) {
  switch (port.outlet->kind()) {
    case WatchKind::samples: return add_samples(to, port);
    case WatchKind::bins: return add_each<BinRow>(to, port);
    case WatchKind::symbols: return add_each<DensityTrace>(to, port);
    case WatchKind::values: return add_each<ValueTrace>(to, port);
    case WatchKind::items:
      to.push_back(std::make_unique<ItemTrace>(port, std::dynamic_pointer_cast<ItemWatch>(port.outlet)));
  }
}

/// A port that leaves with two element types has two outlets, which show the same.
bool is_shown(const std::vector<WatchedPort>& ports, const WatchedPort& port) {
  const auto same = std::ranges::find_if(ports, [&](const WatchedPort& p) {
    return p.outlet->kind() == port.outlet->kind() && p.outlet->format().port == port.outlet->format().port;
  });
  return &*same != &port;
}

}  // namespace

std::vector<std::unique_ptr<Trace>> make_traces(const LivePipeline& pipeline) {
  Traces all;
  for (const WatchedPort& port : pipeline.ports)
    if (!is_shown(pipeline.ports, port)) add_traces(all, port);
  all.push_back(std::make_unique<LatencyTrace>(pipeline.name, pipeline.block_s));
  return all;
}

}  // namespace iqd::live
