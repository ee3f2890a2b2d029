// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "daemon/map/stop_signals.hpp"
#include "daemon/map/window_jobs.hpp"

namespace iqd {
namespace {

std::string last_line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line, last;
  while (std::getline(in, line))
    if (!line.empty()) last = line;
  return printable(last);
}

class LocalJobs final : public WindowJobs {
 public:
  LocalJobs(const WindowRun& run, int at_once) : run_(run), at_once_(static_cast<std::size_t>(at_once)) {}

  bool run(std::span<const std::int64_t> windows) override {
    const StopSignals stop;
    std::vector<Job> running;
    for (std::size_t next = 0; next < windows.size() || !running.empty();) {
      while (running.size() < at_once_ && next < windows.size()) running.push_back(begin(windows[next++]));
      constexpr int kTickMs = 10;
      if (stop.within(kTickMs)) return false;  // the rest is killed
      std::erase_if(running, [this](const Job& job) { return job.process->has_ended() && report(job); });
    }
    return true;
  }

 private:
  struct Job {
    std::int64_t window;
    std::unique_ptr<ChildProcess> process;
  };

  Job begin(std::int64_t window) const {
    const std::string number = std::to_string(window), log = run_.log(number);
    const FileHandle file(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) throw SetupError(fmt::format("map: {}: {}", log, std::strerror(errno)));
    return {window,
            std::make_unique<ChildProcess>(ChildProcess::Options{
                .command = run_.command(number), .files = {{file.get(), STDOUT_FILENO}, {file.get(), STDERR_FILENO}}})};
  }
  bool report(const Job& job) {
    const int status = job.process->end();
    if (status == 0)
      fmt::print(stderr, "map: window {}, {} of {}\n", job.window, ++done_, run_.windows);
    else
      fmt::print(stderr, "iqd: map: window {}: {}: {}\n", job.window, text_of_status(status),
                 last_line_of(run_.log(std::to_string(job.window))));
    return true;
  }

  WindowRun run_;
  std::size_t at_once_;
  std::int64_t done_ = 0;
};

}  // namespace

std::vector<std::string> WindowRun::command(const std::string& window) const {
  std::vector<std::string> words{iqd, "run", file, "--window", fmt::format("{}/{}", window, windows)};
  if (!warm.empty()) words.insert(words.end(), {"--warm", warm});
  return words;
}

std::unique_ptr<WindowJobs> local_jobs(const WindowRun& run, int at_once) {
  return std::make_unique<LocalJobs>(run, at_once);
}

}  // namespace iqd
