// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/work/work_daemon.hpp"

#include <fmt/format.h>

#include <csignal>
#include <mutex>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/http/http_door.hpp"
#include "daemon/run/end_at_once.hpp"
#include "daemon/run/service_manager.hpp"
#include "daemon/run/signals.hpp"
#include "daemon/work/worker.hpp"

namespace iqd {
namespace {

/// What is computed at a stop is finished and sent within this time.
constexpr std::int64_t kDrainNs = 5'000'000'000;

class WorkDaemon final : public Service {
 public:
  WorkDaemon(const WorkConfig& config, const Spec& spec)
      : worker_(config, catalogue(), [](const std::string& why) { end(why); }) {
    if (!spec.listen.empty()) door_.emplace(*this, spec);
  }
  Exit run(double seconds);

  double uptime_s() const override { return static_cast<double>(steady_ns() - started_ns_) / 1e9; }
  std::vector<PipelineStatus> statuses() const override { return {}; }
  std::vector<std::string> not_ready() const override;
  std::vector<std::string> not_healthy() const override { return {}; }
  void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>&) const override {}
  void visit_parts(const std::function<void(const AskedPart&)>&) const override {}
  std::optional<WorkStatus> work() const override { return worker_.status(); }
  ChangeReport reload() override { return {ChangeReport::Result::applied, {"a worker has nothing to reload"}}; }
  ChangeReport set(std::string_view, std::string_view, std::string_view) override {
    return {ChangeReport::Result::unknown, {"a worker has no pipeline"}};
  }

 private:
  [[noreturn]] static void end(const std::string& why) {
    log::error("{}; exiting so that the service manager restarts iqd", why);
    end_at_once(Exit::failed);
  }

  Signals signals_;
  ServiceManager manager_;
  const std::int64_t started_ns_ = steady_ns();
  Worker worker_;
  std::optional<HttpDoor> door_;
};

std::vector<std::string> WorkDaemon::not_ready() const {
  std::vector<std::string> why;
  for (const PoolWorkStatus& pool : worker_.status().pools)
    if (!pool.trouble.empty()) why.push_back(fmt::format("{}: {}", pool.pool, pool.trouble));
  return why;
}

Exit WorkDaemon::run(double seconds) {
  std::int64_t stopping_ns = 0;
  for (;;) {
    const int signal = signals_.wait();
    const std::int64_t now = steady_ns();
    const bool is_over = seconds > 0 && uptime_s() >= seconds;
    if (stopping_ns && signal) end_at_once(Exit::failed);
    if (!stopping_ns && (is_over || signal == SIGINT || signal == SIGTERM)) {
      log::info("stopping: finishing the blocks that are computed");
      manager_.stopping();
      worker_.stop();
      stopping_ns = now;
    }
    if (stopping_ns && worker_.is_idle()) break;
    if (stopping_ns && now - stopping_ns > kDrainNs) end_at_once(Exit::failed);
    manager_.update(
        now, [] { return true; }, [] { return true; }, [this] { return worker_.sentence(); });
  }
  log::info("{}", worker_.sentence());
  return Exit::ok;
}

}  // namespace

Exit run_worker(std::unique_ptr<Loaded> loaded, double seconds) {
  if (report(loaded->problems)) return Exit::configuration;
  log_warnings(loaded->problems);
  return WorkDaemon(*loaded->work, loaded->spec).run(seconds);
}

}  // namespace iqd
