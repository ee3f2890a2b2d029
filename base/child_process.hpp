// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_handle.hpp"

namespace iqd {

/// A program that runs for this process, in a session of its own: signals of a terminal do not reach it. It and the
/// processes that it starts in its session are killed by the destructor.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> command;        // the first is the program's path
    std::vector<std::pair<int, int>> files;  // ours and the number that it gets; others are O_CLOEXEC
    std::vector<std::pair<std::string, std::string>> environment{};  // set where this process has no such variable
    std::vector<std::string> unset{};  // beginnings of names that are left out of the environment
  };
  /// Throws SetupError.
  explicit ChildProcess(const Options& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const noexcept { return id_; }
  /// Becomes readable when it has ended; -1 if the system has no such files (Linux before 5.3, qemu).
  int ended_file() const noexcept { return ended_.get(); }
  bool has_ended() const noexcept;
  /// Kills it and its children, and waits for its end; returns how it ended, as waitpid does.
  int end() noexcept;

 private:
  pid_t id_ = -1;
  FileHandle ended_;
  std::optional<int> status_;
};

/// The path of a program in $PATH, or of one given by its path; empty if there is none.
std::string find_program(const std::string& name);

/// `signal 9 (Killed)` or `exit code 3`, of a status of waitpid.
std::string text_of_status(int status);

}  // namespace iqd
