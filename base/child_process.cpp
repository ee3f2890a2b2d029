// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/error.hpp"

namespace iqd {
namespace {

std::vector<std::string> environment_of(const ChildProcess::Options& options) {
  std::vector<std::string> all;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string variable = *v;
    const auto begins = [&](const std::string& start) { return variable.starts_with(start); };
    if (std::ranges::none_of(options.unset, begins)) all.push_back(variable);
  }
  for (const auto& [name, value] : options.environment)
    if (std::getenv(name.c_str()) == nullptr) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& t : texts) all.push_back(t.data());
  all.push_back(nullptr);
  return all;
}

/// Files and signals of the program.
class SpawnSettings {
 public:
  explicit SpawnSettings(const ChildProcess::Options& options) {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    // Copies, whose numbers are none of those that the program gets.
    constexpr int kBeyond = 64;
    for (const auto& [ours, its] : options.files) {
      copies_.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, kBeyond));
      ::posix_spawn_file_actions_adddup2(&files, copies_.back().get(), its);
    }
    // The threads of this process block signals that the program must receive.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

 private:
  std::vector<FileHandle> copies_;
};

}  // namespace

ChildProcess::ChildProcess(const Options& options) {
  std::vector<std::string> command = options.command, environment = environment_of(options);
  const SpawnSettings settings(options);
  const int error = ::posix_spawn(&id_, command.front().c_str(), &settings.files, &settings.attributes,
                                  pointers_to(command).data(), pointers_to(environment).data());
  if (error != 0) throw SetupError(fmt::format("cannot start {}: {}", command.front(), std::strerror(error)));
  ended_.reset(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
}

ChildProcess::~ChildProcess() {
  end();
}

bool ChildProcess::has_ended() const noexcept {
  siginfo_t info{};
  return status_ ||
         (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0);
}

/// Before it is waited for, no other process group can have its number.
int ChildProcess::end() noexcept {
  if (status_) return *status_;
  if (::kill(-id_, SIGKILL) != 0) ::kill(id_, SIGKILL);
  int status = 0;
  while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  return *(status_ = status);
}

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (std::filesystem::path(folder.empty() ? "." : folder) / name).string();
    std::error_code error;
    if (std::filesystem::is_regular_file(candidate, error) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::string text_of_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace iqd
