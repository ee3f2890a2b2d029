// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "pipeline/auto_place.hpp"
#include "pipeline/calibration.hpp"
#include "pipeline/outlets/sink_outlet.hpp"
#include "pipeline/spec/spec_backends.hpp"
#include "pipeline/spec/spec_shares.hpp"
#include "pipeline/spec/work_order.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

/// Reports a share that its devices do not have.
bool has_share(const ChosenBackends& backends, const PipelineSpec& spec) {
  if (!backends.no_share.empty()) spec.section.problem("gpu.share", backends.no_share);
  return backends.no_share.empty();
}

/// `fir, fft`: what may hang a device, since the host does not see which step it is at.
std::string device_steps(const Plan& plan) {
  std::string names;
  for (const PlanStep& step : plan.steps)
    if (on_device(step.side) && !step.is_transfer()) names += (names.empty() ? "" : ", ") + step.name;
  return names;
}

/// What computes, by its products.
std::string products_of(const EngineBackends& backends) {
  std::set<std::string> products{backends.host->device()};
  for (const auto& device : backends.devices) products.insert(device->device());
  return fmt::format("{}", fmt::join(products, ", "));
}

}  // namespace

Pipeline::Pipeline(PipelineSpec spec, const Catalogue& catalogue, Problems& problems,
                   std::shared_ptr<OpeningWatch> watch)
    : catalogue_(catalogue),
      watch_(std::move(watch)),
      spec_(std::move(spec)),
      name_(spec_.name),
      counters_(std::make_unique<Counters>()) {
  backends_ = choose_backends(spec_);
  if (!has_share(backends_, spec_)) return;
  counters_->state = SourceState::opening;
  OpenedSource source(open_source(), *watch_, name_, spec_.realtime.hang_s);
  stream_ = source->info();
  place_stages(spec_, stream_, catalogue_, backends_);
  std::optional<Draft> drafted = draft(spec_, stream_, backends_.backends, problems);
  if (!drafted || (!spec_.has_run && !fits(*drafted, spec_, backends_.backends))) return;
  const std::size_t before = problems.size();
  check_calibration(spec_, stream_);
  if (problems.size() > before) return;
  sizing_ = drafted->sizing;
  if (spec_.pool) backends_.backends.pool = spec_.pool->open(pool_needs(spec_, drafted->plan, stream_));
  engines_.replace(build(std::move(*drafted), spec_, backends_.backends));
  backends_.settle();
  if (const auto window = spec_.source->window()) window->device = products_of(backends_.backends);
  IntakeOptions intake = intake_options(spec_, sizing_);
  calibration_ = intake.calibration;
  asking_for(name_ + ": the samples of all channels", [&] {
    intake_ = std::make_unique<Intake>(*spec_.source, source.take(), *engines_.get(), std::move(intake), *counters_);
  });
}

std::unique_ptr<Source> Pipeline::open_source() const {
  return watch_->call(name_ + ": the call that opens the radio", spec_.realtime.hang_s + spec_.source->opening_wait_s(),
                      [this] {
                        return asking_for(fmt::format("{}: the source {}", name_, spec_.driver->name),
                                          [this] { return spec_.source->open(); });
                      });
}

std::unique_ptr<Sink> Pipeline::open_sink(const SinkSpec& sink, const PortFormat& format,
                                          const PipelineSpec& spec) const {
  return watch_->call(fmt::format("{}: the call that opens the {} sink", name_, sink.driver->name),
                      spec.realtime.hang_s + sink.options->opening_wait_s(), [&] {
                        return asking_for(fmt::format("{}: the sink {}", name_, sink.driver->name),
                                          [&] { return sink.options->open(format); });
                      });
}

Pipeline::~Pipeline() {
  stop();
  interrupt();
  if (waiter_.joinable()) waiter_.join();
  engines_.shut_down();
}

IntakeOptions Pipeline::intake_options(const PipelineSpec& spec, const Sizing& sizing) const {
  IntakeOptions intake;
  intake.name = name_;
  intake.overrun = spec.is_lossless(stream_) ? Overrun::wait : Overrun::drop;
  const auto ns = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  intake.silent_ns = ns(spec.reconnect.silence_s);
  intake.backoff_ns = ns(spec.reconnect.first_s);
  intake.longest_backoff_ns = ns(spec.reconnect.longest_s);
  intake.priority = sizing.engine.priority;
  intake.cpus = sizing.engine.cpus;
  if (spec.calibration && calibration_ && calibration_->is_of(*spec.calibration))
    intake.calibration = calibration_;
  else if (spec.calibration)
    intake.calibration = std::make_shared<CalibrationWatch>(name_, spec.calibration);
  return intake;
}

/// The plan and its size; none if there are problems.
std::optional<Pipeline::Draft> Pipeline::draft(const PipelineSpec& spec, const StreamInfo& stream,
                                               const EngineBackends& backends, Problems& problems) const {
  const std::size_t before = problems.size();
  const std::size_t heap_before = heap_bytes();
  Draft d;
  asking_for(spec.name + ": the plan", [&] {
    d.plan = make_plan(spec, stream, catalogue_, target_of(spec, backends), d.outputs, problems);
    if (problems.size() > before) return;
    d.plan.prepare(*backends.host, backends.devices);
    if (spec.pool) d.plan.order = std::make_shared<WorkOrder>(make_order(spec, stream, d.plan));
  });
  if (problems.size() > before) return std::nullopt;
  Circumstances circumstances{.locked = spec.realtime.lock_memory && host_limits().locked.has_value()};
  if (engines_.get()) {
    // Samples that the old engine was not offered yet must fit in, with their past.
    const Plan& now = engines_->plan();
    circumstances.ring_samples = d.plan.window().past + now.window().future + 2 * (now.block + d.plan.block);
  }
  circumstances.plan_bytes = heap_growth(heap_before);
  d.sizing = size_up(spec, d.plan, stream, d.outputs, circumstances);
  return d;
}

/// Reports what does not fit; called before anything is allocated.
bool Pipeline::fits(const Draft& draft, const PipelineSpec& spec, const EngineBackends& backends) const {
  const std::size_t before = spec.section.problems().size();
  Allowance allowance;
  if (engines_.get()) allowance.spare_files = 0;
  check_limits(spec, beside(draft.sizing, sizing_), allowance);
  for (std::size_t d = 0; d < std::min(backends.devices.size(), draft.sizing.on_devices.size()); ++d)
    check_device_memory(spec, draft.sizing, *backends.devices[d], draft.sizing.on_devices[d]);
  return spec.section.problems().size() == before;
}

std::shared_ptr<Engine> Pipeline::build(Draft draft, const PipelineSpec& spec, const EngineBackends& backends) {
  return asking_for(spec.name + ": " + sum_text(spec, draft.sizing), [&] {
    auto routes = make_routes(draft, spec);
    Succession succession = succession_of(draft.plan, backends.host == backends_.backends.host);
    return std::make_shared<Engine>(std::move(draft.plan), backends, draft.sizing.engine, std::move(routes), *counters_,
                                    std::move(succession));
  });
}

/// A stage's state continues if the stage does, on the same devices.
Succession Pipeline::succession_of(const Plan& plan, bool same_backends) const {
  Succession succession{engines_.get()};
  if (!succession.before || !same_backends) return succession;
  const Plan& now = engines_->plan();
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    for (std::size_t n = 0; n < now.steps.size(); ++n)
      if (continues(plan, plan.steps[s], now, now.steps[n])) succession.carries.emplace_back(s, n);
  return succession;
}

std::int64_t Pipeline::subscriptions() const {
  std::int64_t n = 0;
  for (const auto& route : engines_->routes()) n += route->outlet->subscriptions();
  return n;
}

void Pipeline::start() {
  log::info("{}", summary());
  intake_->start();
  waiter_ = std::thread([this] {
    engines_.join();
    intake_->join_closed();
    finished_.store(true, std::memory_order_release);
  });
}

void Pipeline::stop() noexcept {
  if (intake_) intake_->stop();
}

void Pipeline::interrupt() noexcept {
  engines_.interrupt();
}

std::string Pipeline::failure() const {
  if (const std::string why = engines_->backend_failure(); !why.empty()) return fmt::format("{}: {}", name_, why);
  if (const std::string why = pool_failure(); !why.empty()) return fmt::format("{}: {}", name_, why);
  if (const auto window = spec_.source->window(); window && window->failed)
    return fmt::format("{}: window {} of {} is not whole", name_, window->number, window->count);
  return intake_->ended() ? intake_->failure() : "";
}

std::string Pipeline::pool_failure() const {
  const std::lock_guard lock(exchange_);
  return backends_.backends.pool ? backends_.backends.pool->failure() : "";
}

std::string Pipeline::pool_trouble() const {
  const std::lock_guard lock(exchange_);
  return spec_.only_pool && backends_.backends.pool ? backends_.backends.pool->status().trouble : "";
}

double Pipeline::device_waits_s() const noexcept {
  return static_cast<double>(engines_.waiting_ns()) / 1e9;
}

std::string Pipeline::radio_hangs(double share) const {
  if (!intake_) return {};
  const std::shared_ptr<Engine> engine = engines_.running();
  const std::lock_guard lock(exchange_);
  const auto too_long = [&](std::int64_t ns) { return static_cast<double>(ns) > share * spec_.realtime.hang_s * 1e9; };
  if (too_long(intake_->in_driver_ns())) return "a call into the radio's driver does not return";
  for (const auto& route : engine->routes()) {
    if (route->sink && too_long(route->sink->in_radio_ns()))
      return fmt::format("a call into the driver of its sink '{}' does not return", route->to);
  }
  return {};
}

double Pipeline::idle_s() const noexcept {
  return engines_.running()->lanes_busy() > 0 ? 0 : static_cast<double>(intake_->idle_ns()) / 1e9;
}

std::string Pipeline::hung() const {
  if (std::string hangs = radio_hangs(); !hangs.empty()) return hangs;
  if (device_waits_s() > spec_.realtime.hang_s)
    return fmt::format("{} does not finish a block; it runs {}", backends_.names,
                       device_steps(engines_.running()->plan()));
  return {};
}

std::string Pipeline::stuck() const {
  if (const std::string hangs = radio_hangs(0.5); !hangs.empty()) return fmt::format("{}: {}", name_, hangs);
  const std::shared_ptr<Engine> engine = engines_.running();
  const std::lock_guard lock(exchange_);
  const auto too_long = [this](std::int64_t ns) { return static_cast<double>(ns) > spec_.realtime.hang_s * 0.5e9; };
  if (!engine->waits_for_others() && !spec_.is_lossless(stream_) && too_long(engine->unfinished_ns()))
    return name_ + ": no block finishes";
  return {};
}

std::string Pipeline::slow_stage(std::optional<double> seconds) const {
  Engine::Slowest slowest = engines_.running()->slowest_step();
  const std::lock_guard lock(exchange_);
  const double most_s = seconds.value_or(spec_.realtime.hang_s / 2);
  return static_cast<double>(slowest.ns) > most_s * 1e9 ? std::move(slowest.step) : "";
}

void Pipeline::abandon_radio() noexcept {
  if (!intake_) return;
  intake_->abandon();
  engines_->close();
  for (int i = 0; i < 50 && !finished(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  // Samples that the thread had received and can no longer pass on.
  counters_->drops(Drop::stopped).add(status().in_flight);
}

bool Pipeline::is_on_device() const {
  const std::lock_guard lock(exchange_);
  return !backends_.backends.devices.empty() && !finished();
}

Pipeline::Change Pipeline::prepare(PipelineSpec next, SpecChange what, Problems& problems) {
  constexpr std::size_t kMostRetired = 4;
  tidy();
  if (const std::string stage = slow_stage(); !stage.empty())
    throw NotNow(fmt::format("{}: stage '{}' does not return: no change is possible until it does or iqd restarts",
                             name_, stage));
  if (engines_.retired() >= kMostRetired)
    throw NotNow(name_ +
                 ": readers still hold results from earlier plans, or the files of recordings are being "
                 "completed; try again later");
  Change change{std::move(next), std::move(what)};
  const bool same_backends = backends_of(change.spec).names == backends_of(spec_).names;
  const bool places = change.what.plan || !same_backends;
  change.backends = same_backends && !(places && backends_.left_device) ? backends_ : choose_backends(change.spec);
  if (same_backends) change.backends.backends.host = backends_.backends.host;  // whose states continue
  change.backends.backends.pool = backends_.backends.pool;
  if (same_backends && !same_part(change.spec, spec_)) take_parts(change.backends, change.spec);
  if (!has_share(change.backends, change.spec)) return change;
  change.stream = stream_;
  if (places)
    place_stages(change.spec, stream_, catalogue_, change.backends, same_backends ? &engines_->plan() : nullptr);
  else
    keep_places(spec_, change.spec);
  std::optional<Draft> drafted = draft(change.spec, change.stream, change.backends.backends, problems);
  if (!drafted) return change;
  if (const auto& pool = change.backends.backends.pool) {
    const std::string why = pool->refuses(pool_needs(change.spec, drafted->plan, change.stream));
    if (!why.empty()) change.spec.section.problem("block", why);
    if (!problems.empty()) return change;
  }
  change.sizing = drafted->sizing;
  const bool same_place = !change.what.plan && same_layout(drafted->plan, engines_->plan());
  if (same_place && !change.what.live) return change;  // concerns only the radio
  if (same_place && !drafted->plan.uses_devices())
    change.plan = std::make_unique<Plan>(std::move(drafted->plan));
  else if (fits(*drafted, change.spec, change.backends.backends))
    change.engine = build(std::move(*drafted), change.spec, change.backends.backends);
  return change;
}

ChangeOutcome Pipeline::go_over(Change change) {
  constexpr std::int64_t kPatienceNs = 2'000'000'000;
  std::shared_ptr<Engine> before;
  StreamChange request;
  if (change.what.retunes) request.source = change.spec.source.get();
  request.reopen = change.spec.source.get();
  request.plan = std::move(change.plan);
  if (change.engine) {
    request.engine = change.engine.get();
    request.options = intake_options(change.spec, change.sizing);
    leave_routes_to(*change.engine);
    // Before the change: a thread that sees the old engine end must see its successor.
    before = engines_.replace(change.engine);
  }
  const std::shared_ptr<CalibrationWatch> calibration = request.options.calibration;
  ChangeOutcome outcome = intake_->change(std::move(request), kPatienceNs);
  if (!outcome.is_done()) {
    if (change.engine) {
      engines_.replace(std::move(before));
      change.engine->discard();
    }
    return outcome;
  }
  const std::lock_guard lock(exchange_);
  if (change.engine) {
    engines_.retire(std::move(before));
    backends_ = std::move(change.backends);
    backends_.settle();
    calibration_ = calibration;
    sizing_ = std::move(change.sizing);
  }
  stream_ = change.stream;
  spec_ = std::move(change.spec);
  reloads_.add();
  return outcome;
}

}  // namespace iqd
