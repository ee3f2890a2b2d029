// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/http/http_door.hpp"
#include "daemon/http/status.hpp"
#include "daemon/run/end_at_once.hpp"
#include "daemon/run/last_watch.hpp"
#include "daemon/run/notify.hpp"
#include "daemon/run/requests.hpp"
#include "daemon/run/running.hpp"
#include "daemon/run/signals.hpp"
#include "pipeline/spec_plan.hpp"
#include "radio/trigger/event.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

constexpr std::int64_t kStatusNs = 1'000'000'000;
/// After the first signal: readers are waited for so long, a radio that does not return a little longer.
constexpr std::int64_t kDrainNs = 3'000'000'000;
constexpr std::int64_t kAbandonNs = 3'500'000'000;
/// What works is given so long to end, when something else hangs, and once more to let go of everything.
constexpr std::int64_t kOthersNs = 1'000'000'000;
class Runner final : public Service {
 public:
  Runner(std::unique_ptr<Loaded> loaded, const RunOptions& options) : running_(std::move(loaded)), options_(options) {
    if (options_.status.empty()) options_.status = ::isatty(STDOUT_FILENO) ? "table" : "none";
  }
  Exit run();

  // Any thread.
  double uptime_s() const override { return static_cast<double>(steady_ns() - started_ns_) / 1e9; }
  std::vector<PipelineStatus> statuses() const override;
  std::vector<std::string> not_ready() const override;
  std::vector<std::string> not_healthy() const override;
  void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const override;
  ChangeReport reload() override {
    return requests_.ask([this] { return reload_now(); });
  }
  ChangeReport set(std::string_view pipeline, std::string_view stage, std::string_view keys) override {
    return requests_.ask([this, p = std::string(pipeline), s = std::string(stage), k = std::string(keys)] {
      return change([&] { return running_.set(p, s, k); });
    });
  }

 private:
  bool set_up();
  bool wait_for_subscribers();
  void watch();
  void apply_values();
  void on_signal(int signal);
  void stop_all();
  void look_after();
  void warn_of_slow_stages();
  void end_hung();
  void end_hung_call();
  [[noreturn]] void end_anew(const std::string& why);
  void stop_others();
  void end_late();
  void tell_manager(std::int64_t now);
  void show(bool final);
  ChangeReport reload_now();
  ChangeReport change(const std::function<ChangeReport()>& make);
  bool all_finished() const {
    return std::ranges::all_of(running_.pipelines(), [](const auto& p) { return p->finished(); });
  }

  Signals signals_;
  LastWatch last_watch_{signals_};
  Running running_;
  RunOptions options_;
  Notify notify_;
  std::vector<PipelineStatus> shown_;
  std::int64_t started_ns_ = steady_ns();
  std::int64_t shown_ns_ = steady_ns();
  std::int64_t told_ns_ = 0;
  std::int64_t stopping_ns_ = 0;
  bool told_ready_ = false;
  bool interrupted_ = false;
  bool failed_ = false;
  std::set<std::string> slow_;  // pipelines with a stage that was warned of
  EndOnSignal end_on_signal_{signals_, [this] { end_hung_call(); }};
  Requests requests_{signals_};
  std::optional<HttpDoor> door_;
};

bool Runner::set_up() {
  const EndOnSignal::Span span(end_on_signal_, EndOnSignal::When::at_once);
  if (!running_.set_up()) return false;
  if (!running_.spec().listen.empty()) door_.emplace(*this, running_.spec());
  return true;
}

bool Runner::wait_for_subscribers() {
  if (options_.wait_subscribers <= 0) return true;
  log::info("waiting for {} subscriber(s)", options_.wait_subscribers);
  for (;;) {
    std::int64_t subscribed = 0;
    for (const auto& p : running_.pipelines()) subscribed += p->subscriptions();
    if (subscribed >= options_.wait_subscribers) return true;
    if (const int signal = signals_.wait(); signal == SIGINT || signal == SIGTERM) return false;
  }
}

Exit Runner::run() {
  if (!set_up()) return Exit::configuration;
  if (!wait_for_subscribers()) return Exit::ok;
  started_ns_ = shown_ns_ = steady_ns();
  running_.start();
  shown_ = statuses();
  watch();
  requests_.close();
  notify_.stopping();
  show(true);
  for (const auto& p : running_.pipelines())
    if (const std::string why = p->failure(); !why.empty()) {
      log::error("{}", why);
      failed_ = true;
      // A device that failed may never give back what it holds, so nothing is asked of it.
      if (p->device_failed()) end_at_once(Exit::failed);
    }
  const Exit exit = failed_ ? Exit::failed : Exit::ok;
  last_watch_.begin(stopping_ns_, exit);
  return exit;
}

void Runner::watch() {
  requests_.open();
  while (!all_finished()) {
    if (const int signal = signals_.wait()) on_signal(signal);
    requests_.make_all();
    apply_values();
    look_after();
    running_.tidy();
    const std::int64_t now = steady_ns();
    if (options_.seconds > 0 && !stopping_ns_ && static_cast<double>(now - started_ns_) >= options_.seconds * 1e9)
      stop_all();
    tell_manager(now);
    if (now - shown_ns_ >= kStatusNs) show(false);
  }
}

/// What ports have given that become live keys, as if it were asked for over HTTP.
void Runner::apply_values() {
  for (const auto& apply : running_.applies()) {
    if (stopping_ns_) return;
    const std::optional<std::string> keys = apply->take(steady_ns());
    if (!keys) continue;
    const LiveKey& key = apply->key();
    const ChangeReport report = change([&] { return running_.set(key.pipeline, key.stage, *keys); });
    if (report.result == Result::applied)
      apply->applied();
    else
      apply->refused(fmt::format("{}", fmt::join(report.lines, "; ")), steady_ns());
  }
}

void Runner::on_signal(int signal) {
  if (signal == SIGHUP) {
    reload_now();
    return;
  }
  if (signal == SIGUSR1) {
    log::info("SIGUSR1: told to {} sink(s) that wait for an event", radio::trigger::tell(""));
    return;
  }
  if (stopping_ns_) {
    log::warn("ending at once");
    end_at_once(Exit::failed);
  }
  log::info("stopping: what has arrived is still published");
  stop_all();
}

/// The time counts from the signal, which a change may have kept waiting; something of it is left in any case.
void Runner::stop_all() {
  const std::int64_t now = steady_ns(), asked = signals_.stop_asked_ns();
  stopping_ns_ = asked ? std::max(asked, now - kDrainNs) : now;
  notify_.stopping();
  requests_.close();
  for (const auto& p : running_.pipelines()) p->stop();
}

ChangeReport Runner::reload_now() {
  if (stopping_ns_) return {Result::busy, {"it is stopping"}};
  notify_.reloading();
  const ChangeReport report = change([this] { return running_.reload(); });
  if (report.result == Result::applied)
    log::info("reload: {}", fmt::join(report.lines, "; "));
  else
    for (const std::string& line : report.lines) log::error("reload refused: {}", line);
  if (told_ready_ && !stopping_ns_) notify_.ready();
  return report;
}

/// A change that leaves something neither as it was nor as it should be is the end.
ChangeReport Runner::change(const std::function<ChangeReport()>& make) {
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

/// A driver that hangs, a device that failed, a reader that keeps a stop waiting.
void Runner::look_after() {
  const std::int64_t stopping = stopping_ns_ ? steady_ns() - stopping_ns_ : 0;
  for (const auto& p : running_.pipelines())
    if (!stopping_ns_ && !p->finished() && !p->failure().empty()) {
      failed_ = true;
      stop_all();
    }
  warn_of_slow_stages();
  if (!stopping_ns_) end_hung();
  if (stopping > kDrainNs && !interrupted_) {
    log::warn("this takes too long: what has not left by now is lost");
    interrupted_ = true;
    for (const auto& p : running_.pipelines()) p->interrupt();
  }
  if (stopping > kAbandonNs) end_late();
}

/// Whoever wrote the stage may have written a loop without an end; a stage may also be just slow.
void Runner::warn_of_slow_stages() {
  for (const auto& p : running_.pipelines()) {
    const std::string stage = p->slow_stage();
    if (stage.empty())
      slow_.erase(p->name());
    else if (slow_.insert(p->name()).second)
      log::warn("{}: stage '{}' has not returned for {:.3g} s, with one block of samples", p->name(), stage,
                p->spec().realtime.hang_s / 2);
  }
}

void Runner::end_hung() {
  for (const auto& p : running_.pipelines()) {
    const std::string hangs = p->hung();
    if (hangs.empty()) continue;
    end_anew(fmt::format("{}: {}", p->name(), hangs));
  }
}

/// While the main thread opens devices, or waits for a change that a radio makes, it cannot look.
void Runner::end_hung_call() {
  if (const std::string hangs = running_.hung(); !hangs.empty()) end_anew(hangs);
}

void Runner::end_anew(const std::string& why) {
  log::error("{}; ending, so that the service manager starts anew", why);
  notify_.status(why + "; ending, to be started anew");
  stop_others();
  show(true);
  end_at_once(Exit::failed);
}

/// Of all that does not hang transmitters are switched off, and what has arrived is written and published.
void Runner::stop_others() {
  const auto pipelines = running_.look();
  for (const auto& p : pipelines) p->stop();
  const auto is_done = [](const auto& p) { return p->finished() || !p->radio_hangs().empty(); };
  const auto wait = [&] {
    const std::int64_t until = steady_ns() + kOthersNs;
    while (steady_ns() < until && !std::ranges::all_of(pipelines, is_done))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  wait();
  for (const auto& p : pipelines) p->interrupt();
  wait();
  for (const auto& p : pipelines)
    if (!p->finished()) p->abandon_radio();
}

void Runner::end_late() {
  for (const auto& p : running_.pipelines()) {
    const bool device = p->device_waits_s() > 1;
    const std::string stage = p->slow_stage(1.0);
    const std::string what = device ? "the device" : stage.empty() ? "the radio" : fmt::format("stage '{}'", stage);
    log::warn("{}: {} does not let go: ending without it", p->spec().name, what);
    failed_ = failed_ || device || !stage.empty();
    p->abandon_radio();
  }
  show(true);
  end_at_once(failed_ ? Exit::failed : Exit::ok);
}

/// systemd hears READY when samples flow, then a line a second, and WATCHDOG as long as nothing hangs.
void Runner::tell_manager(std::int64_t now) {
  if (!notify_) return;
  if (!told_ready_ && not_ready().empty()) {
    notify_.ready();
    told_ready_ = true;
  }
  constexpr std::int64_t kOftenEnough = 1'000'000'000;
  if (now - told_ns_ < std::min(kStatusNs, notify_.watchdog_ns().value_or(4 * kOftenEnough) / 4)) return;
  told_ns_ = now;
  const double seconds = std::max(1e-3, static_cast<double>(now - shown_ns_) / 1e9);
  notify_.status(status_sentence(statuses(), shown_, seconds));
  if (not_healthy().empty()) notify_.alive();
}

std::vector<PipelineStatus> Runner::statuses() const {
  std::vector<PipelineStatus> all;
  for (const auto& p : running_.look()) all.push_back(p->status());
  return all;
}

void Runner::visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const {
  for (const auto& p : running_.look()) p->visit_plan([&](const Plan& plan) { visit(plan, p->status()); });
}

std::vector<std::string> Runner::not_ready() const {
  std::vector<std::string> reasons;
  for (const auto& p : running_.look()) {
    const SourceState state = p->state();
    if (state != SourceState::streaming && state != SourceState::ended) {
      const std::string trouble = p->trouble();
      reasons.push_back(fmt::format("{}: the source is {}{}{}", p->name(),
                                    kSourceStateNames[static_cast<std::size_t>(state)], trouble.empty() ? "" : ": ",
                                    trouble));
    }
    if (const std::string stage = p->slow_stage(); !stage.empty())
      reasons.push_back(fmt::format("{}: stage '{}' does not return", p->name(), stage));
  }
  return reasons;
}

std::vector<std::string> Runner::not_healthy() const {
  std::vector<std::string> reasons;
  for (const auto& p : running_.look())
    if (std::string stuck = p->stuck(); !stuck.empty()) reasons.push_back(std::move(stuck));
  return reasons;
}

void Runner::show(bool final) {
  const std::int64_t now = steady_ns();
  std::vector<PipelineStatus> current = statuses();
  const double seconds = std::max(1e-3, static_cast<double>(now - shown_ns_) / 1e9);
  if (options_.status == "json")
    fmt::print("{}\n", status_json(current, static_cast<double>(now - started_ns_) / 1e9, final));
  else if (options_.status == "table")
    fmt::print("{}", status_lines(current, shown_, seconds));
  std::fflush(stdout);
  shown_ = std::move(current);
  shown_ns_ = now;
}

}  // namespace

Exit run_pipelines(std::unique_ptr<Loaded> loaded, const RunOptions& options) {
  // All that is wrong is said before any device is opened.
  check_spec(loaded->spec, catalogue(), loaded->problems);
  if (report(loaded->problems)) return Exit::configuration;
  return Runner(std::move(loaded), options).run();
}

}  // namespace iqd
