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

// CLI11 parses the command line. Including it costs four seconds of compile time, so only command_line.cpp does.

/// Runs a command after its options have been read.
using Action = std::function<Exit()>;

/// Where the value of an option goes; unchanged if the option is not given. A bool makes a flag.
/// The values of a list follow one another, or the option is repeated.
using Target = std::variant<bool*, int*, std::int64_t*, double*, std::string*, std::vector<std::string>*,
                            std::vector<std::int64_t>*>;

/// Constraints on an option's value.
struct Rule {
  bool required = false;
  bool positive = false;
  bool not_negative = false;
  bool folder = false;  // must exist
  std::optional<std::pair<double, double>> range = {};
  std::vector<std::string> one_of = {};
  std::optional<std::pair<int, int>> words = {};  // minimum and maximum length of a list
  char separator = 0;                             // between the values of a list in one word
  std::string excludes = {};                      // another option, already added
  bool* given = nullptr;                          // set if the option is given, whatever its value
};

/// The options and arguments of one command.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  /// Names as `--rate` or `-v,--verbose`; without dashes it is a positional argument.
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
  /// Adds a command. `action` runs if it is chosen. A program with commands requires one of them. `quiet`: it logs
  /// warnings only, unless the user wants more.
  Command command(const char* name, const char* help, Action action, bool quiet = false);

  /// Reads the arguments. Empty: run `action` next. Otherwise this is the exit code, and help, version or an error has
  /// been printed.
  std::optional<int> parse(int argc, char** argv);
  /// The chosen command's action.
  const Action& action() const noexcept { return action_; }
  bool quiet() const noexcept { return quiet_; }

 private:
  std::unique_ptr<CLI::App> app_;
  Action action_;
  bool quiet_ = false;
};

}  // namespace iqd
