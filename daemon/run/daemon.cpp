// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/daemon.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/http/http_door.hpp"
#include "daemon/run/end_at_once.hpp"
#include "daemon/run/hang_watch.hpp"
#include "daemon/run/last_watch.hpp"
#include "daemon/run/pipeline_set.hpp"
#include "daemon/run/readiness.hpp"
#include "daemon/run/requests.hpp"
#include "daemon/run/service_manager.hpp"
#include "daemon/run/signals.hpp"
#include "daemon/run/status_output.hpp"
#include "pipeline/spec_plan.hpp"
#include "radio/trigger/event.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

class Daemon final : public Service {
 public:
  Daemon(std::unique_ptr<Loaded> loaded, const RunOptions& options)
      : pipelines_(std::move(loaded)), options_(options), output_(options.status) {}
  /// Before the door closes: its threads may wait for changes.
  ~Daemon() override { requests_.close(); }
  Exit run();

  // Any thread.
  double uptime_s() const override { return static_cast<double>(steady_ns() - started_ns_) / 1e9; }
  std::vector<PipelineStatus> statuses() const override;
  std::vector<std::string> not_ready() const override { return iqd::not_ready(pipelines_.look()); }
  std::vector<std::string> not_healthy() const override { return iqd::not_healthy(pipelines_.look()); }
  void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const override;
  void visit_parts(const std::function<void(const AskedPart&)>& visit) const override { pipelines_.visit_parts(visit); }
  std::vector<live::LivePipeline> live() const override;
  ChangeReport reload() override {
    return requests_.ask([this] { return reload_now(); });
  }
  ChangeReport record(const RecordingRequest& request) override {
    return requests_.ask([this, request] { return change([&] { return pipelines_.record(request); }); });
  }
  std::vector<RunningRecording> recording() const override { return pipelines_.recording(); }
  ChangeReport set(std::string_view pipeline, std::string_view stage, std::string_view keys) override {
    return requests_.ask([this, p = std::string(pipeline), s = std::string(stage), k = std::string(keys)] {
      return change([&] { return pipelines_.set(p, s, k, SetBy::patch); });
    });
  }

 private:
  bool set_up();
  bool wait_for_subscribers();
  void watch();
  void announce() {
    output_.serves(served_by(pipelines_.list(), door_ ? door_->address().text() : "", pipelines_.spec().has_page()));
  }
  void apply_values();
  void on_signal(int signal);
  void stop_all();
  void look_after();
  void exit_if_a_call_hangs();
  [[noreturn]] void exit_for_restart(const std::string& why);
  [[noreturn]] void exit_late();
  void notify_manager(std::int64_t now);
  ChangeReport reload_now();
  ChangeReport change(const std::function<ChangeReport()>& make);
  bool all_are(bool (Pipeline::*in_state)() const noexcept) const {
    return std::ranges::all_of(pipelines_.list(), [in_state](const auto& p) { return ((*p).*in_state)(); });
  }
  bool all_finished() const { return all_are(&Pipeline::finished); }

  Signals signals_;
  LastWatch last_watch_{signals_};
  PipelineSet pipelines_;
  RunOptions options_;
  HangWatch hangs_{pipelines_};
  ServiceManager manager_;
  StatusOutput output_;
  std::atomic<std::int64_t> started_ns_{steady_ns()};  // requests ask, too
  std::int64_t stopping_ns_ = 0;
  bool interrupted_ = false;
  bool failed_ = false;
  EndOnSignal end_on_signal_{signals_, [this] { exit_if_a_call_hangs(); }};
  Requests requests_{signals_};
  std::optional<HttpDoor> door_;
};

bool Daemon::set_up() {
  const EndOnSignal::Span span(end_on_signal_, EndOnSignal::When::at_once);
  if (!pipelines_.set_up()) return false;
  // A change that is requested from now on is made as soon as the pipelines run, unless that may take long.
  if (options_.wait_subscribers <= 0) requests_.open();
  if (!pipelines_.spec().listen.empty()) door_.emplace(*this, pipelines_.spec());
  return true;
}

bool Daemon::wait_for_subscribers() {
  if (options_.wait_subscribers <= 0) return true;
  log::info("waiting for {} subscriber(s)", options_.wait_subscribers);
  for (;;) {
    std::int64_t subscribed = 0;
    for (const auto& p : pipelines_.list()) subscribed += p->subscriptions();
    if (subscribed >= options_.wait_subscribers) return true;
    if (const int signal = signals_.wait(); signal == SIGINT || signal == SIGTERM) return false;
  }
}

Exit Daemon::run() {
  if (!set_up()) return Exit::configuration;
  if (!wait_for_subscribers()) return Exit::ok;
  started_ns_ = steady_ns();
  pipelines_.start();
  output_.begin(statuses(), started_ns_);
  announce();
  watch();
  requests_.close();
  manager_.stopping();
  output_.end(statuses(), uptime_s());
  for (const auto& p : pipelines_.list())
    if (const std::string why = p->failure(); !why.empty()) {
      log::error("{}", why);
      failed_ = true;
      // Releasing a failed device's resources may hang, so they are not released.
      if (p->device_failed()) end_at_once(Exit::failed);
    }
  const Exit exit = failed_ ? Exit::failed : Exit::ok;
  last_watch_.begin(stopping_ns_, exit);
  return exit;
}

void Daemon::watch() {
  requests_.open();
  while (!all_finished()) {
    if (const int signal = signals_.wait()) on_signal(signal);
    requests_.make_all();
    apply_values();
    look_after();
    pipelines_.tidy();
    const std::int64_t now = steady_ns();
    if (options_.seconds > 0 && !stopping_ns_ && static_cast<double>(now - started_ns_) >= options_.seconds * 1e9)
      stop_all();
    if (!stopping_ns_ && pipelines_.is_recording_over(now)) change([&] { return pipelines_.end_recording(now); });
    notify_manager(now);
    if (stopping_ns_ || all_are(&Pipeline::has_ended)) output_.hold(now);
    if (output_.is_due(now) && !all_finished()) output_.show(statuses(), uptime_s());
  }
}

/// Sets live keys to the values that ports have produced, as a request over HTTP would.
void Daemon::apply_values() {
  for (const auto& apply : pipelines_.applies()) {
    if (stopping_ns_) return;
    const std::optional<std::string> keys = apply->take(steady_ns());
    if (!keys) continue;
    const LiveKey& key = apply->key();
    const ChangeReport report = change([&] { return pipelines_.set(key.pipeline, key.stage, *keys, SetBy::apply); });
    if (report.result == Result::applied)
      apply->applied();
    else
      apply->refused(fmt::format("{}", fmt::join(report.lines, "; ")), steady_ns());
  }
}

void Daemon::on_signal(int signal) {
  if (signal == SIGHUP) {
    reload_now();
    return;
  }
  if (signal == SIGUSR1) {
    log::info("SIGUSR1: triggered {} sink(s)", radio::trigger::tell(""));
    return;
  }
  if (stopping_ns_) {
    log::warn("signal while stopping: exiting immediately");
    end_at_once(Exit::failed);
  }
  log::info("stopping: publishing the samples already received");
  stop_all();
}

/// The time counts from the signal, even if a change delayed it; at least some of it is always left.
void Daemon::stop_all() {
  const std::int64_t now = steady_ns(), asked = signals_.stop_asked_ns();
  stopping_ns_ = asked ? std::max(asked, now - PipelineSet::kDrainNs) : now;
  manager_.stopping();
  requests_.close();
  // Viewers take up to 2 s to leave, while the pipelines drain.
  if (door_) door_->close_live();
  for (const auto& p : pipelines_.list()) p->stop();
}

ChangeReport Daemon::reload_now() {
  if (stopping_ns_) return {Result::busy, {"iqd is stopping"}};
  manager_.reloading();
  const ChangeReport report = change([this] { return pipelines_.reload(); });
  if (report.result == Result::applied)
    log::info("reload: {}", fmt::join(report.lines, "; ")), announce();
  else
    for (const std::string& line : report.lines) log::error("reload refused: {}", line);
  if (!stopping_ns_) manager_.reloaded();
  return report;
}

/// A change that can neither be completed nor undone stops iqd.
ChangeReport Daemon::change(const std::function<ChangeReport()>& make) {
  const EndOnSignal::Span span(end_on_signal_, EndOnSignal::When::patience_is_out);
  try {
    return make();
  } catch (const Stranded& e) {
    log::error("{}", e.what());
    failed_ = true;
    stop_all();
    return {Result::busy, {e.what()}};
  } catch (const std::exception& e) {
    return {Result::busy, {e.what()}};
  }
}

/// Handles a driver that hangs, a device that failed, a reader that delays a stop.
void Daemon::look_after() {
  const std::int64_t stopping = stopping_ns_ ? steady_ns() - stopping_ns_ : 0;
  for (const auto& p : pipelines_.list())
    if (!stopping_ns_ && !p->finished() && !p->failure().empty()) {
      failed_ = true;
      stop_all();
    }
  hangs_.warn_of_slow_stages();
  hangs_.look_for_silence();
  if (!stopping_ns_)
    if (const std::string hangs = hangs_.hung(); !hangs.empty()) exit_for_restart(hangs);
  if (stopping > PipelineSet::kDrainNs && !interrupted_) {
    log::warn("shutdown timed out: dropping unsent results");
    interrupted_ = true;
    for (const auto& p : pipelines_.list()) p->interrupt();
  }
  if (stopping > PipelineSet::kRetireNs) exit_late();
}

/// For the times when the main thread opens devices or waits for a radio, and so cannot check.
void Daemon::exit_if_a_call_hangs() {
  if (const std::string hangs = pipelines_.hung(); !hangs.empty()) exit_for_restart(hangs);
}

void Daemon::exit_for_restart(const std::string& why) {
  log::error("{}; exiting so that the service manager restarts iqd", why);
  manager_.status(why + "; exiting to be restarted");
  hangs_.stop_others();
  output_.end(statuses(), uptime_s());
  end_at_once(Exit::failed);
}

void Daemon::exit_late() {
  failed_ = hangs_.abandon_late() || failed_;
  output_.end(statuses(), uptime_s());
  end_at_once(failed_ ? Exit::failed : Exit::ok);
}

void Daemon::notify_manager(std::int64_t now) {
  manager_.update(
      now, [this] { return not_ready().empty(); }, [this] { return not_healthy().empty(); },
      [&] { return output_.sentence(statuses(), now); });
}

std::vector<PipelineStatus> Daemon::statuses() const {
  std::vector<PipelineStatus> all;
  for (const auto& p : pipelines_.look()) all.push_back(p->status());
  return all;
}

void Daemon::visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const {
  for (const auto& p : pipelines_.look()) p->visit_plan([&](const Plan& plan) { visit(plan, p->status()); });
}

std::vector<live::LivePipeline> Daemon::live() const {
  std::vector<live::LivePipeline> all;
  for (const auto& p : pipelines_.look()) all.push_back({p->name(), p->block_s(), p->watched()});
  return all;
}

}  // namespace

Exit run_pipelines(std::unique_ptr<Loaded> loaded, const RunOptions& options) {
  // All problems are reported before any device is opened.
  check_spec(loaded->spec, catalogue(), loaded->problems);
  if (report(loaded->problems)) return Exit::configuration;
  log_warnings(loaded->problems);
  return Daemon(std::move(loaded), options).run();
}

}  // namespace iqd
