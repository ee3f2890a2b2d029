// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <regex>
#include <sstream>
#include <thread>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "daemon/map/stop_signals.hpp"
#include "daemon/map/window_jobs.hpp"

namespace iqd {
namespace {

std::string path_of(const std::string& program) {
  if (std::string path = find_program(program); !path.empty()) return path;
  throw UsageError(fmt::format("map: --slurm: there is no {} on PATH; install Slurm's client programs", program));
}

struct Output {
  int status;
  std::string text;  // of both outputs
};

/// Runs a program to its end.
Output output_of(std::vector<std::string> command) {
  command.front() = path_of(command.front());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SetupError("map: too many open files");
  const FileHandle read_end(ends[0]);
  FileHandle write_end(ends[1]);
  ChildProcess process({.command = command, .files = {{ends[1], STDOUT_FILENO}, {ends[1], STDERR_FILENO}}});
  write_end.reset(-1);
  Output output{0, {}};
  char bytes[4096];
  for (ssize_t n = 0; (n = ::read(read_end.get(), bytes, sizeof bytes)) > 0;)
    output.text.append(bytes, static_cast<std::size_t>(n));
  while (!process.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  output.status = process.end();
  while (output.text.ends_with('\n')) output.text.pop_back();
  return output;
}

/// As one word of a shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

class SlurmJobs final : public WindowJobs {
 public:
  SlurmJobs(const WindowRun& run, const std::vector<std::string>& options, int at_once)
      : run_(run), options_(options), at_once_(at_once) {
    for (const char* const program : {"sbatch", "squeue", "scancel"}) path_of(program);
  }

  bool run(std::span<const std::int64_t> windows) override {
    const StopSignals stop;
    const Job job = submit(windows);
    fmt::print(stderr, "map: job {} of Slurm: windows {}\n", job.number, ranges_of(windows));
    constexpr int kPauseMs = 1000;
    while (!stop.within(kPauseMs))
      if (!is_there(job)) return true;
    cancel(job);
    return false;
  }

 private:
  struct Job {
    std::string number;
    std::vector<std::string> cluster;  // as an option, if it is not this machine's
  };

  Job submit(std::span<const std::int64_t> windows) const {
    constexpr const char* kNumber = "$SLURM_ARRAY_TASK_ID";
    std::string script = "exec";
    for (const std::string& word : run_.command(kNumber)) {
      // The number is the shell's; all else is as it stands.
      const bool has_number = word.starts_with(kNumber);
      script += " " + (has_number ? "\"" + word + "\"" : quoted(word));
    }
    std::vector<std::string> command{"sbatch",
                                     "--parsable",
                                     "--requeue",
                                     "--job-name=iqd-map",
                                     "--chdir=" + run_.start,
                                     "--output=" + log_pattern(),
                                     "--array=" + ranges_of(windows) + limit()};
    command.insert(command.end(), options_.begin(), options_.end());
    command.insert(command.end(), {"--wrap", script});
    const Output done = output_of(command);
    if (done.status != 0) throw SetupError(fmt::format("map: sbatch: {}", printable(done.text)));
    // `NUMBER` or `NUMBER;CLUSTER`, among warnings
    static const std::regex line("^([0-9]+)(;(.+))?$");
    std::istringstream lines(done.text);
    std::smatch match;
    for (std::string each; std::getline(lines, each);)
      if (std::regex_match(each, match, line))
        return {match[1], match[3].matched ? std::vector<std::string>{"--clusters=" + match[3].str()}
                                           : std::vector<std::string>{}};
    throw SetupError(fmt::format("map: sbatch names no job: {}", printable(done.text)));
  }
  static Output ask(const char* program, std::vector<std::string> options, const Job& job) {
    options.insert(options.begin(), program);
    options.insert(options.end(), job.cluster.begin(), job.cluster.end());
    return output_of(options);
  }
  static void cancel(const Job& job) {
    const Output done = ask("scancel", {job.number}, job);
    if (done.status != 0)
      fmt::print(stderr, "iqd: map: job {} is not cancelled: scancel: {}\n", job.number, printable(done.text));
  }
  /// Whether a task of it waits or runs. While the controller does not answer, nothing is known, so it is. Tasks that
  /// Slurm failed to start would be held until somebody releases them; they are cancelled instead.
  bool is_there(const Job& job) {
    const Output queue = ask("squeue", {"--noheader", "--array", "--jobs=" + job.number, "--format=%T %r"}, job);
    if (queue.status == 0) {
      std::istringstream tasks(queue.text);
      bool any = false;
      for (std::string task; std::getline(tasks, task);) {
        if (task.starts_with("CLUSTER: ")) continue;  // a title, with --clusters
        if (task.find("requeued") == std::string::npos || task.find("held") == std::string::npos) return true;
        any = true;
      }
      if (any) cancel(job);
      return false;
    }
    if (queue.text.find("Invalid job id") != std::string::npos) return false;  // ended, and forgotten
    if (std::exchange(trouble_, queue.text) != queue.text)
      fmt::print(stderr, "iqd: map: squeue: {}\n", printable(queue.text));
    return true;
  }

  /// `%a` is the task's number; the folder's own `%` are doubled.
  std::string log_pattern() const {
    std::string pattern;
    for (const char c : run_.folder) pattern += c == '%' ? std::string("%%") : std::string(1, c);
    return pattern + "/window.%a.log";
  }
  std::string limit() const { return at_once_ > 0 ? fmt::format("%{}", at_once_) : ""; }

  WindowRun run_;
  std::vector<std::string> options_;
  int at_once_;
  std::string trouble_;
};

}  // namespace

std::string ranges_of(std::span<const std::int64_t> numbers) {
  std::string text;
  for (std::size_t i = 0, end = 0; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    text += text.empty() ? "" : ",";
    text += end - i > 1 ? fmt::format("{}-{}", numbers[i], numbers[end - 1]) : std::to_string(numbers[i]);
  }
  return text;
}

std::unique_ptr<WindowJobs> slurm_jobs(const WindowRun& run, const std::vector<std::string>& options, int at_once) {
  return std::make_unique<SlurmJobs>(run, options, at_once);
}

}  // namespace iqd
