// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.hpp"
#include "base/log.hpp"
#include "pipeline/cpu_backend.hpp"
#include "pipeline/sink_outlet.hpp"

namespace iqd {

Pipeline::Pipeline(PipelineSpec spec, const Catalogue& catalogue, Problems& problems)
    : spec_(std::move(spec)), counters_(std::make_unique<Counters>()) {
  const std::size_t before = problems.size();
  ChosenBackends chosen = choose_backends(spec_);
  backend_name_ = chosen.names;
  backend_reason_ = chosen.reason;

  counters_->state = SourceState::opening;
  std::unique_ptr<Source> source = spec_.source->open();
  stream_ = source->info();
  std::vector<int> outputs;
  Plan plan = make_plan(spec_, stream_, catalogue, target_of(spec_, chosen.backends), outputs, problems);
  if (problems.size() > before) return;
  const std::vector<std::shared_ptr<Backend>>& devices = chosen.backends.devices;
  plan.prepare(*chosen.backends.host, devices);
  const Sizing sizing = size_up(spec_, plan, stream_);
  check_memory(spec_, sizing, chosen.backends.host->memory());
  for (const auto& device : devices) check_device_memory(spec_, sizing, *device, devices.size());
  if (problems.size() > before) return;

  const bool can_wait = stream_.can_wait;
  const Overrun overrun = spec_.overrun.value_or(can_wait ? Overrun::wait : Overrun::drop);
  const bool lossless = can_wait && overrun == Overrun::wait;
  auto routes = make_routes(plan, outputs, sizing.engine.slots, lossless);
  engine_ = std::make_unique<Engine>(std::move(plan), std::move(chosen.backends), sizing.engine, std::move(routes),
                                     *counters_);
  IntakeOptions intake;
  intake.name = spec_.name;
  intake.overrun = lossless ? Overrun::wait : Overrun::drop;
  intake.priority = sizing.engine.priority;
  intake.cpus = sizing.engine.cpus;
  intake_ = std::make_unique<Intake>(*spec_.source, std::move(source), *engine_, std::move(intake), *counters_);
}

Pipeline::~Pipeline() {
  stop();
  interrupt();
  if (waiter_.joinable()) waiter_.join();
}

std::vector<std::unique_ptr<Route>> Pipeline::make_routes(const Plan& plan, const std::vector<int>& outputs, int slots,
                                                          bool lossless) {
  std::vector<std::unique_ptr<Route>> routes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto output = static_cast<std::size_t>(outputs[i]);
    const PortFormat& format = plan.outputs[output].format;
    auto route = std::make_unique<Route>();
    route->output = output;
    if (i < spec_.publish.size()) {
      route->outlet = spec_.publish[i].options->open(format, lossless);
      route->send_empty = spec_.publish[i].send_empty;
    } else {
      const SinkSpec& sink = spec_.sinks[i - spec_.publish.size()];
      route->outlet =
          std::make_unique<SinkOutlet>(sink.options->open(format), fmt::format("{} sink", sink.driver->name), lossless,
                                       static_cast<std::size_t>(std::max(2, slots / 4)));
    }
    routes.push_back(std::move(route));
  }
  return routes;
}

std::int64_t Pipeline::subscriptions() const {
  std::int64_t n = 0;
  for (const auto& route : engine_->routes()) n += route->outlet->subscriptions();
  return n;
}

void Pipeline::start() {
  log::info("{}", summary());
  intake_->start();
  waiter_ = std::thread([this] {
    engine_->join();
    finished_.store(true, std::memory_order_release);
  });
}

void Pipeline::stop() noexcept {
  if (intake_) intake_->stop();
}

void Pipeline::interrupt() noexcept {
  if (engine_) engine_->interrupt();
}

std::string Pipeline::failure() const {
  if (const std::string why = engine_->backend_failure(); !why.empty()) return fmt::format("{}: {}", spec_.name, why);
  return intake_->ended() ? intake_->failure() : "";
}

std::string Pipeline::hung() const {
  const auto too_long = [this](std::int64_t ns) { return static_cast<double>(ns) > spec_.realtime.hang_s * 1e9; };
  if (too_long(intake_->in_driver_ns())) return "a call into the radio's driver does not return";
  if (too_long(engine_->waiting_ns())) return fmt::format("{} does not finish a block", backend_name_);
  return {};
}

void Pipeline::abandon_radio() noexcept {
  intake_->abandon();
  engine_->close();
  for (int i = 0; i < 50 && !finished(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  // What the thread had received and cannot hand on any more.
  counters_->drops(Drop::stopped).add(status().in_flight);
}

PipelineStatus Pipeline::status() const {
  PipelineStatus s;
  s.name = spec_.name;
  s.state = counters_->state.load();
  s.backend = backend_name_;
  s.rate_hz = stream_.rate_hz;
  // What leaves is read before what comes in, so that nothing leaves that has not come in.
  s.published = counters_->published.value();
  std::uint64_t left = s.published;
  for (std::size_t d = 0; d < s.dropped.size(); ++d) left += s.dropped[d] = counters_->dropped[d].value();
  s.received = counters_->received.value();
  s.in_flight = s.received - left;
  s.lost = counters_->lost.value();
  s.blocks = counters_->blocks.value();
  s.overflows = counters_->overflows.value();
  s.time_jumps = counters_->time_jumps.value();
  s.stalls = counters_->stalls.value();
  s.reconnects = counters_->reconnects.value();
  s.deadline_misses = counters_->deadline_misses.value();
  s.lanes = engine_->lanes();
  s.lanes_busy = engine_->lanes_busy();
  s.slots = engine_->slots();
  s.slots_free = engine_->slots_free();
  for (const auto& route : engine_->routes())
    s.ports.push_back({engine_->plan().outputs[route->output].format.port, route->messages.value(),
                       route->bytes.value(), route->refused.value()});
  s.latency = counters_->latency.snapshot();
  const Plan& plan = engine_->plan();
  for (std::size_t i = 0; i <= plan.steps.size(); ++i)
    s.steps.push_back({i < plan.steps.size() ? plan.steps[i].name : "results", engine_->step_times()[i].snapshot()});
  return s;
}

std::string Pipeline::summary() const {
  return fmt::format("{}: {} at {:.6g} MS/s, {} channel(s), blocks of {}, {} lane(s) on {} ({}), {} result slots",
                     spec_.name, spec_.driver->name, stream_.rate_hz / 1e6, stream_.channels, spec_.block,
                     engine_->lanes(), backend_name_, backend_reason_, engine_->slots());
}

}  // namespace iqd
