// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace iqd {

// CLI11 reads the command line. Including it costs a source four seconds of compile time, so command_line.cpp alone
// does.

/// What a command does once the command line has been read.
using Action = std::function<Exit()>;

/// Where the value of an option goes; it keeps what it holds where the option is not given. A bool makes a flag.
/// The values of a list stand side by side, or the option is repeated.
using Target = std::variant<bool*, int*, std::int64_t*, double*, std::string*, std::vector<std::string>*,
                            std::vector<std::int64_t>*>;

/// What an option asks of its value.
struct Rule {
  bool required = false;
  bool positive = false;
  bool not_negative = false;
  bool folder = false;  // one that exists
  std::optional<std::pair<double, double>> range = {};
  std::vector<std::string> one_of = {};
  std::optional<std::pair<int, int>> words = {};  // least and most of a list
  char separator = 0;                             // between the values of a list that are one word
  std::string excludes = {};                      // another option, already added
  bool* given = nullptr;                          // set where the option is there, whatever its value
};

/// The options and arguments of one command.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  /// Names as `--rate` or `-v,--verbose`; without dashes it is an argument, found by its place.
  Command& option(const char* name, Target target, const char* help, const Rule& rule = {});

 private:
  CLI::App* app_;
};

/// The command line of a program: its own options and its commands.
class CommandLine {
 public:
  CommandLine(const char* name, const char* about, const char* version = nullptr);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command options() { return Command(*app_); }
  /// A command. `action` runs where this command is chosen. A program that has commands wants one of them.
  Command command(const char* name, const char* help, Action action);

  /// Reads the arguments. Empty: go on with `action`. Otherwise help, version or what is wrong has been printed, and
  /// this is the exit code.
  std::optional<int> parse(int argc, char** argv);
  /// The chosen command's.
  const Action& action() const noexcept { return action_; }

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
};

}  // namespace iqd
