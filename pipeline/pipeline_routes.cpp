// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The outlets of a pipeline: opened anew, or taken over from the engine at work.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pipeline/outlets/sink_outlet.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {

std::vector<std::unique_ptr<Route>> Pipeline::make_routes(const Draft& draft, const PipelineSpec& spec) const {
  const bool lossless = spec.is_lossless(stream_);
  // Entries that share a socket share its queue of messages.
  std::map<std::string, std::int64_t> most_bytes;
  for (std::size_t i = 0; i < spec.publish.size(); ++i) {
    const PortFormat& format = draft.plan.outputs[static_cast<std::size_t>(draft.outputs[i])].format;
    std::int64_t& most = most_bytes[spec.publish[i].options->socket()];
    most = std::max(most, format.bytes(format.most()));
  }
  const auto most_held = static_cast<std::size_t>(std::max(2, draft.sizing.engine.slots / 4));
  std::vector<std::unique_ptr<Route>> routes;
  for (std::size_t i = 0; i < draft.outputs.size(); ++i) {
    const auto output = static_cast<std::size_t>(draft.outputs[i]);
    const PortFormat& format = draft.plan.outputs[output].format;
    auto route = std::make_unique<Route>();
    route->output = output;
    const std::size_t sinks_end = spec.publish.size() + spec.sinks.size();
    if (i >= sinks_end) {
      const ApplySpec& apply = spec.apply[i - sinks_end];
      route->to = "apply " + apply.key.text();
      route->outlet = make_apply(apply, format);
      routes.push_back(std::move(route));
      continue;
    }
    const SinkSpec* sink = i < spec.publish.size() ? nullptr : &spec.sinks[i - spec.publish.size()];
    if (sink) {
      route->to = sink->driver->name;
    } else {
      route->to = spec.publish[i].options->topic();
      route->send_empty = spec.publish[i].send_empty;
      const OutletOptions& options = *spec.publish[i].options;
      route->outlet = options.open(format, lossless, most_bytes[options.socket()]);
    }
    if (engine_) go_on(*route, format, sink, lossless, most_held);
    if (!route->outlet) {
      SinkOutlet::Open reopen;
      if (sink->options->reconnects()) reopen = [options = sink->options, format] { return options->open(format); };
      route->outlet = std::make_shared<SinkOutlet>(
          open_sink(*sink, format, spec), fmt::format("{} sink", sink->driver->name), lossless,
          SinkHold{most_held, static_cast<std::size_t>(sink->options->buffer_bytes())}, std::move(reopen));
    }
    routes.push_back(std::move(route));
  }
  return routes;
}

/// What a port gives goes on where it does, with all that is known of the last value.
std::shared_ptr<ApplyOutlet> Pipeline::make_apply(const ApplySpec& apply, const PortFormat& format) const {
  for (const auto& now : applies())
    if (now->port() == format.port && now->key() == apply.key) {
      now->expect(format);
      return now;
    }
  return std::make_shared<ApplyOutlet>(format.port, apply.key, format);
}

std::vector<std::shared_ptr<ApplyOutlet>> Pipeline::applies() const {
  std::vector<std::shared_ptr<ApplyOutlet>> all;
  if (!engine_) return all;
  for (const auto& route : engine_->routes())
    if (auto apply = std::dynamic_pointer_cast<ApplyOutlet>(route->outlet)) all.push_back(std::move(apply));
  return all;
}

/// Goes on where the engine at work has the same route: readers see one stream, a recording goes on.
void Pipeline::go_on(Route& route, const PortFormat& format, const SinkSpec* sink, bool lossless,
                     std::size_t most_held) const {
  for (std::size_t r = 0; r < engine_->routes().size(); ++r) {
    Route& now = *engine_->routes()[r];
    PortFormat as_now = engine_->plan().outputs[now.output].format;
    const bool is_sink = r >= spec_.publish.size();
    if (now.to != route.to || as_now.port != format.port || is_sink != (sink != nullptr)) continue;
    if (sink) {
      auto& outlet = dynamic_cast<SinkOutlet&>(*now.outlet);
      // A sink sees the extent with each message, and no facts.
      as_now.facts = format.facts;
      if (format.varying >= 0 && as_now.dims.size() == format.dims.size())
        as_now.dims[static_cast<std::size_t>(format.varying)].extent = format.most();
      const bool same = same_sink(spec_.sinks[r - spec_.publish.size()], *sink) && as_now == format;
      if (!same || outlet.lossless() != lossless) continue;
      outlet.hold_at_most(most_held);
      route.outlet = now.outlet;
    } else if (now.outlet->peers().endpoint != route.outlet->peers().endpoint) {
      continue;
    }
    route.before = &now;
    route.counts = now.counts;
    return;
  }
}

/// Marks what is not at its end when the engine at work is: routes that go on, and those whose socket does.
void Pipeline::leave_routes_to(const Engine& next) const {
  for (const auto& route : engine_->routes()) {
    const std::string endpoint = route->outlet->peers().endpoint;
    route->goes_on = std::ranges::any_of(next.routes(), [&](const auto& r) {
      return r->before == route.get() || (!endpoint.empty() && r->outlet->peers().endpoint == endpoint);
    });
  }
}

}  // namespace iqd
