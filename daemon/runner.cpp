// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/runner.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/status.hpp"
#include "pipeline/pipeline.hpp"

namespace iqd {
namespace {

constexpr int kTickMs = 50;
constexpr std::int64_t kStatusNs = 1'000'000'000;
/// After the first signal: readers are waited for so long, a radio that does not return a little longer.
constexpr std::int64_t kDrainNs = 3'000'000'000;
constexpr std::int64_t kAbandonNs = 3'500'000'000;

/// Signals as something to poll; blocked in every thread that is started later.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, s);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a full disk
    file_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() { ::close(file_); }
  int file() const noexcept { return file_; }
  /// The next signal, or 0 after a tick.
  int wait() const {
    pollfd p{file_, POLLIN, 0};
    if (::poll(&p, 1, kTickMs) <= 0) return 0;
    signalfd_siginfo info{};
    return ::read(file_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  int file_;
};

/// Setting up may take long, or for ever where a driver hangs: as long as this lives, a signal ends the process.
class EndOnSignal {
 public:
  explicit EndOnSignal(const Signals& signals)
      : over_(::eventfd(0, EFD_CLOEXEC)), thread_([this, &signals] {
          pollfd files[] = {{signals.file(), POLLIN, 0}, {over_, POLLIN, 0}};
          for (;;) {
            ::poll(files, 2, -1);
            if (files[1].revents) return;
            const int signal = signals.wait();
            if (signal != SIGINT && signal != SIGTERM) continue;
            log::info("stopped before the start");
            std::_Exit(static_cast<int>(Exit::ok));
          }
        }) {}
  ~EndOnSignal() {
    ::eventfd_write(over_, 1);
    thread_.join();
    ::close(over_);
  }
  EndOnSignal(const EndOnSignal&) = delete;
  EndOnSignal& operator=(const EndOnSignal&) = delete;

 private:
  int over_;
  std::thread thread_;
};

class Runner {
 public:
  Runner(std::unique_ptr<Loaded> loaded, const RunOptions& options) : loaded_(std::move(loaded)), options_(options) {
    if (options_.status.empty()) options_.status = ::isatty(STDOUT_FILENO) ? "table" : "none";
  }
  Exit run();

 private:
  bool set_up();
  bool wait_for_subscribers();
  void watch();
  void on_signal(int signal);
  void stop_all();
  void look_after();
  void show(bool final);
  std::vector<PipelineStatus> statuses() const;
  bool all_finished() const {
    return std::all_of(pipelines_.begin(), pipelines_.end(), [](const auto& p) { return p->finished(); });
  }

  std::unique_ptr<Loaded> loaded_;
  RunOptions options_;
  Signals signals_;
  std::vector<std::unique_ptr<Pipeline>> pipelines_;
  std::vector<PipelineStatus> shown_;
  std::int64_t started_ns_ = steady_ns();
  std::int64_t shown_ns_ = steady_ns();
  std::int64_t stopping_ns_ = 0;
  bool interrupted_ = false;
  bool failed_ = false;
};

bool Runner::set_up() {
  const EndOnSignal end_on_signal(signals_);
  if (!loaded_->spec.listen.empty()) log::warn("monitor: this build serves no HTTP; use --status json");
  for (PipelineSpec& spec : loaded_->spec.pipelines) {
    if (spec.realtime.lock_memory && ::mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
      log::warn("memory cannot be locked ({}); `iqd doctor` says how to allow it", std::strerror(errno));
    pipelines_.push_back(std::make_unique<Pipeline>(std::move(spec), catalogue(), loaded_->problems));
  }
  return !report(loaded_->problems);
}

bool Runner::wait_for_subscribers() {
  if (options_.wait_subscribers <= 0) return true;
  log::info("waiting for {} subscriber(s)", options_.wait_subscribers);
  for (;;) {
    std::int64_t subscribed = 0;
    for (const auto& p : pipelines_) subscribed += p->subscriptions();
    if (subscribed >= options_.wait_subscribers) return true;
    if (const int signal = signals_.wait(); signal == SIGINT || signal == SIGTERM) return false;
  }
}

Exit Runner::run() {
  if (!set_up()) return Exit::configuration;
  if (!wait_for_subscribers()) return Exit::ok;
  started_ns_ = shown_ns_ = steady_ns();
  for (const auto& p : pipelines_) p->start();
  shown_ = statuses();
  watch();
  show(true);
  for (const auto& p : pipelines_)
    if (const std::string why = p->failure(); !why.empty()) {
      log::error("{}", why);
      failed_ = true;
      // A device that failed may never give back what it holds, so nothing is asked of it.
      if (p->device_failed()) std::_Exit(static_cast<int>(Exit::failed));
    }
  return failed_ ? Exit::failed : Exit::ok;
}

void Runner::watch() {
  while (!all_finished()) {
    if (const int signal = signals_.wait()) on_signal(signal);
    look_after();
    const std::int64_t now = steady_ns();
    if (options_.seconds > 0 && !stopping_ns_ && static_cast<double>(now - started_ns_) >= options_.seconds * 1e9)
      stop_all();
    if (now - shown_ns_ >= kStatusNs) show(false);
  }
}

void Runner::on_signal(int signal) {
  if (signal == SIGHUP) {
    log::warn("SIGHUP: this file is read at the start only; restart to take up a change");
    return;
  }
  if (stopping_ns_) {
    log::warn("ending at once");
    std::_Exit(static_cast<int>(Exit::failed));
  }
  log::info("stopping: what has arrived is still published");
  stop_all();
}

void Runner::stop_all() {
  stopping_ns_ = steady_ns();
  for (const auto& p : pipelines_) p->stop();
}

/// A driver that hangs, a device that failed, a reader that keeps a stop waiting.
void Runner::look_after() {
  const std::int64_t now = steady_ns();
  const std::int64_t stopping = stopping_ns_ ? now - stopping_ns_ : 0;
  for (const auto& p : pipelines_) {
    if (!stopping_ns_ && !p->finished() && !p->failure().empty()) {
      failed_ = true;
      stop_all();
    }
    const std::string hangs = stopping_ns_ ? "" : p->hung();
    if (!hangs.empty()) {
      log::error("{}: {}; ending, so that the service manager starts anew", p->spec().name, hangs);
      p->abandon_radio();
      show(true);
      std::_Exit(static_cast<int>(Exit::failed));
    }
  }
  if (stopping > kDrainNs && !interrupted_) {
    log::warn("this takes too long: what has not left by now is lost");
    interrupted_ = true;
    for (const auto& p : pipelines_) p->interrupt();
  }
  if (stopping > kAbandonNs) {
    for (const auto& p : pipelines_) {
      const bool device = p->device_waits_s() > 1;
      log::warn("{}: {} does not let go: ending without it", p->spec().name, device ? "the device" : "the radio");
      failed_ = failed_ || device;
      p->abandon_radio();
    }
    show(true);
    std::_Exit(static_cast<int>(failed_ ? Exit::failed : Exit::ok));
  }
}

std::vector<PipelineStatus> Runner::statuses() const {
  std::vector<PipelineStatus> all;
  for (const auto& p : pipelines_) all.push_back(p->status());
  return all;
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
