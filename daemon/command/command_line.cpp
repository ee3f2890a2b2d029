// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <type_traits>

namespace iqd {
namespace {

template <class T> CLI::Option* add(CLI::App& app, const char* name, T& target, const char* help) {
  if constexpr (std::is_same_v<T, bool>)
    return app.add_flag(name, target, help);
  else
    return app.add_option(name, target, help);
}

/// Help shows the bounds as given here, so they are integers for integer options.
template <class T> void check_range(CLI::Option& option, const std::pair<double, double>& range) {
  if constexpr (std::is_integral_v<T>)
    option.check(CLI::Range(static_cast<int>(range.first), static_cast<int>(range.second)));
  else
    option.check(CLI::Range(range.first, range.second));
}

/// A number above 0, or from 0 on. CLI11's own names the largest double as the bound.
CLI::Validator number_from(bool zero) {
  const auto judge = [zero](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') return "expected a number, found '" + text + "'";
    if (value > 0 || (zero && value == 0)) return {};
    return std::string("must ") + (zero ? "not be negative" : "be more than 0") + ", is " + text;
  };
  return {judge, zero ? "NONNEGATIVE" : "POSITIVE"};
}

template <class T> void apply(CLI::App& app, CLI::Option& option, const Rule& rule) {
  if (rule.required) option.required();
  if (rule.positive) option.check(number_from(false));
  if (rule.not_negative) option.check(number_from(true));
  if (rule.folder) option.check(CLI::ExistingDirectory);
  if (rule.range) check_range<T>(option, *rule.range);
  if (!rule.one_of.empty()) option.check(CLI::IsMember(rule.one_of));
  if (rule.separator) option.delimiter(rule.separator);
  if (!rule.excludes.empty()) option.excludes(app.get_option(rule.excludes));
  if (rule.given != nullptr) option.each([given = rule.given](const std::string&) { *given = true; });
  if (rule.words)
    option.expected(rule.words->first, rule.words->second);
  else if (std::is_same_v<T, std::vector<std::string>>)
    option.expected(1)->take_all();
}

}  // namespace

Command& Command::option(const char* name, Target target, const char* help, const Rule& rule) {
  std::visit([&]<class T>(T* value) { apply<T>(*app_, *add(*app_, name, *value, help), rule); }, target);
  return *this;
}

CommandLine::CommandLine(const char* name, const char* about, const char* version)
    : app_(std::make_unique<CLI::App>(about, name)) {
  if (version) app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::command(const char* name, const char* help, Action action, bool quiet) {
  app_->require_subcommand(1);
  CLI::App* const added = app_->add_subcommand(name, help);
  added->callback([this, action = std::move(action), quiet] {
    action_ = action;
    quiet_ = quiet;
  });
  return Command(*added);
}

std::optional<int> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    return app_->exit(e) == 0 ? static_cast<int>(Exit::ok) : static_cast<int>(Exit::configuration);
  }
}

}  // namespace iqd
