// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The outlets of a pipeline: newly opened, or taken over from the running engine.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pipeline/outlets/sink_outlet.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {

/// Gives routes their outlets. A route continues if the running engine has the same one: subscribers see one stream,
/// and a recording continues.
class Pipeline::Routing {
 public:
  Routing(const Pipeline& of, const Draft& draft, const PipelineSpec& spec)
      : of_(of),
        draft_(draft),
        spec_(spec),
        lossless_(spec.is_lossless(of.stream_)),
        most_held_(static_cast<std::size_t>(std::max(2, draft.sizing.engine.slots / 4))),
        at_work_(routes_of(of.spec_)) {}

  std::vector<std::unique_ptr<Route>> routes() {
    const std::vector<RouteSpec> specs = routes_of(spec_);
    for (std::size_t r = 0; r < specs.size(); ++r)
      if (const auto* const p = std::get_if<const PublishSpec*>(&specs[r])) note_size(**p, format_of(r));
    std::vector<std::unique_ptr<Route>> all;
    for (std::size_t r = 0; r < specs.size(); ++r) {
      all.push_back(std::make_unique<Route>());
      all.back()->output = draft_.outputs[r];
      std::visit([&](const auto* spec) { connect(*all.back(), *spec, format_of(r)); }, specs[r]);
    }
    return all;
  }

 private:
  const PortFormat& format_of(std::size_t route) const { return draft_.plan.outputs[draft_.outputs[route]].format; }
  /// Entries that share a socket share its queue of messages.
  void note_size(const PublishSpec& publish, const PortFormat& format) {
    std::int64_t& most = most_bytes_[publish.options->socket()];
    most = std::max(most, format.bytes(format.most()));
  }

  void connect(Route& route, const PublishSpec& publish, const PortFormat& format) {
    const OutletOptions& options = *publish.options;
    route.to = options.topic();
    route.send_empty = publish.send_empty && format.varying >= 0;  // others always have their extent
    route.outlet = options.open(format, lossless_, most_bytes_[options.socket()]);
    const std::string endpoint = route.outlet->peers().endpoint;
    go_on<PublishSpec>(route, format,
                       [&](const PublishSpec&, Route& now) { return now.outlet->peers().endpoint == endpoint; });
  }

  void connect(Route& route, const SinkSpec& sink, const PortFormat& format) {
    route.to = sink.driver->name;
    route.send_empty = sink.options->takes_empty();
    go_on<SinkSpec>(route, format, [&](const SinkSpec& before, Route& now) {
      if (!same_sink(before, sink) || !same_to_a_sink(format_at_work(now), format)) return false;
      if (now.sink->lossless() != lossless_) return false;
      now.sink->hold_at_most(most_held_);
      route.sink = now.sink;
      return true;
    });
    if (!route.sink) route.sink = open(sink, format);
    route.outlet = route.sink;
  }

  /// An `apply` outlet of the same port and key continues, with what it knows of the last value.
  void connect(Route& route, const ApplySpec& apply, const PortFormat& format) const {
    route.to = "apply " + apply.key.text();
    const auto all = of_.applies();
    const auto now =
        std::ranges::find_if(all, [&](const auto& a) { return a->port() == format.port && a->key() == apply.key; });
    if (now != all.end()) (*now)->expect(format);
    route.apply = now != all.end() ? *now : std::make_shared<ApplyOutlet>(format.port, apply.key, format);
    route.outlet = route.apply;
  }

  std::shared_ptr<SinkOutlet> open(const SinkSpec& sink, const PortFormat& format) const {
    SinkOutlet::Open reopen;
    if (sink.options->reconnects()) reopen = [options = sink.options, format] { return options->open(format); };
    return std::make_shared<SinkOutlet>(
        of_.open_sink(sink, format, spec_), fmt::format("{} sink", sink.driver->name), lossless_,
        SinkHold{most_held_, static_cast<std::size_t>(sink.options->buffer_bytes())}, std::move(reopen));
  }

  const PortFormat& format_at_work(const Route& now) const { return of_.engines_->plan().outputs[now.output].format; }
  /// A sink gets the extent, the frequency and the span with each message, and no facts.
  static bool same_to_a_sink(PortFormat now, const PortFormat& next) {
    now.facts = next.facts;
    now.frequency_hz = next.frequency_hz;
    now.span_hz = next.span_hz;
    if (next.varying >= 0 && now.dims.size() == next.dims.size())
      now.dims[static_cast<std::size_t>(next.varying)].extent = next.most();
    return now == next;
  }

  /// Continues the running engine's first route with the same port, name and kind for which `is_same` holds.
  template <class RouteKind, class Same> void go_on(Route& route, const PortFormat& format, Same is_same) const {
    for (std::size_t r = 0; of_.engines_.get() && r < at_work_.size(); ++r) {
      Route& now = *of_.engines_->routes()[r];
      const auto* const before = std::get_if<const RouteKind*>(&at_work_[r]);
      if (!before || now.to != route.to || format_at_work(now).port != format.port || !is_same(**before, now)) continue;
      route.before = &now;
      route.counts = now.counts;
      return;
    }
  }

  const Pipeline& of_;
  const Draft& draft_;
  const PipelineSpec& spec_;
  const bool lossless_;
  const std::size_t most_held_;
  const std::vector<RouteSpec> at_work_;
  std::map<std::string, std::int64_t> most_bytes_;  // by socket
};

std::vector<std::unique_ptr<Route>> Pipeline::make_routes(const Draft& draft, const PipelineSpec& spec) const {
  return Routing(*this, draft, spec).routes();
}

std::vector<std::shared_ptr<ApplyOutlet>> Pipeline::applies() const {
  std::vector<std::shared_ptr<ApplyOutlet>> all;
  if (!engines_.get()) return all;
  for (const auto& route : engines_->routes())
    if (route->apply) all.push_back(route->apply);
  return all;
}

/// Marks the routes that outlive the running engine: those that continue, and those whose socket does.
void Pipeline::leave_routes_to(const Engine& next) const {
  for (const auto& route : engines_->routes()) {
    const std::string endpoint = route->outlet->peers().endpoint;
    route->goes_on = std::ranges::any_of(next.routes(), [&](const auto& r) {
      return r->before == route.get() || (!endpoint.empty() && r->outlet->peers().endpoint == endpoint);
    });
  }
}

}  // namespace iqd
