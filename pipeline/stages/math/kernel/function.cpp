// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/function.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "pipeline/stages/math/kernel/declaration.hpp"
#include "pipeline/stages/math/kernel/element_types.hpp"
#include "pipeline/stages/math/kernel/parameters.hpp"

namespace iqd::kernel {
namespace {

bool is_name(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

/// `__device__ float2 f(float2 x, float k)`
std::string declaration_of(const Program& program, const std::vector<std::string>& names) {
  std::string text = fmt::format("__device__ {} {}(", type_name(program.out), program.function);
  for (std::size_t i = 0; i < program.in.size(); ++i)
    text += fmt::format("{}{}{}{} x{}", i ? ", " : "", program.element_wise() ? "" : "const ", type_name(program.in[i]),
                        program.element_wise() ? "" : "*", program.in.size() > 1 ? std::to_string(i) : "");
  for (std::size_t p = 0; p < names.size(); ++p) text += fmt::format(", {} {}", program.types[p], names[p]);
  return text + ")";
}

/// Reads one function; adds problems to the section.
class FunctionReading {
 public:
  FunctionReading(const Config& config, const Section& section, Program& program)
      : config_(config), section_(section), program_(program) {}

  void read() {
    const std::string& name = program_.function = config_.function;
    if (!is_name(name)) return complain("function", fmt::format("'{}' is not a valid function name", name));
    const std::vector<Declaration> found = find_functions(program_.text);
    const auto at = std::ranges::find(found, name, &Declaration::name);
    if (at != found.end()) return check(*at);
    if (const auto line = unclosed_brace(program_.text))
      return complain_at(program_.first_line + *line - 1, "this '{' is never closed");
    std::vector<std::string_view> names;
    for (const Declaration& d : found) names.push_back(d.name);
    complain("function",
             fmt::format("there is no function '{}' in {}{}{}", name, program_.name, did_you_mean(name, names),
                         names.empty() ? fmt::format("; write {}", expected({}))
                                       : fmt::format("; there is {}", fmt::join(names, ", "))));
  }

 private:
  void complain(std::string_view key, std::string what) const { section_.problem(key, std::move(what)); }
  /// Adds a problem in the user's text.
  void complain_at(int line, std::string what) const {
    Place place{program_.name, line, 0};
    section_.problems().push_back({std::move(place), section_.path(), std::move(what)});
  }

  /// The declaration that the keys require, with these parameters and those of `params`.
  std::string expected(const std::vector<Declaration::Argument>& parameters) const {
    Program program = program_;
    program.types.clear();
    std::vector<std::string> names;
    for (const Declaration::Argument& a : parameters) {
      program.types.push_back(a.type);
      names.push_back(a.name);
    }
    for (const auto& [key, value] : config_.params)
      if (std::ranges::find(names, key) == names.end()) {
        program.types.emplace_back(type_for(value));
        names.push_back(key);
      }
    return declaration_of(program, names);
  }

  void check(const Declaration& d) {
    program_.function_line = program_.first_line + d.line - 1;
    const std::size_t inputs = program_.in.size();
    const std::vector<Declaration::Argument> parameters(
        d.arguments.begin() + static_cast<std::ptrdiff_t>(std::min(inputs, d.arguments.size())), d.arguments.end());
    const auto refuse = [&](std::string why) {
      complain_at(program_.function_line, fmt::format("{} {}; expected {}", d.name, why, expected(parameters)));
    };
    if (d.is_template) return refuse("is a template");
    if (!d.is_device) return refuse("lacks __device__");
    if (!is_type_of(program_.out, d.result)) return refuse(fmt::format("returns {}", d.result));
    if (d.arguments.size() < inputs)
      return refuse(fmt::format("takes {} argument(s), but `in` names {}", d.arguments.size(), inputs));
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string& type = d.arguments[i].type;
      const bool pointer = type.ends_with('*');
      if (!is_type_of(program_.in[i], pointer ? type.substr(0, type.size() - 1) : type) ||
          pointer == program_.element_wise())
        return refuse(fmt::format("takes {} as argument {}{}", type, i + 1,
                                  pointer && program_.element_wise() ? ", but `past` and `future` are 0" : ""));
    }
    check_parameters(d.name, parameters);
  }

  void check_parameters(const std::string& function, const std::vector<Declaration::Argument>& parameters) {
    if (parameters.size() > kMostParameters)
      return complain_at(program_.function_line, fmt::format("{} has {} parameters; the maximum is {}", function,
                                                             parameters.size(), kMostParameters));
    program_.types.clear();
    program_.values.clear();
    std::vector<std::string_view> names;
    for (const Declaration::Argument& p : parameters) {
      names.push_back(p.name);
      take_parameter(function, p);
    }
    for (const auto& item : config_.params)
      if (std::ranges::find(names, item.first) == names.end())
        complain("params." + item.first, fmt::format("{} has no parameter of this name{}; to add it, declare {}",
                                                     function, did_you_mean(item.first, names), expected(parameters)));
  }

  void take_parameter(const std::string& function, const Declaration::Argument& p) {
    if (!is_parameter_type(p.type))
      return complain_at(program_.function_line,
                         fmt::format("parameter '{}' of {} is {}; it can be float, float2, double, int, unsigned, long "
                                     "long or bool",
                                     p.name, function, p.type));
    const auto written = config_.params.find(p.name);
    if (p.name.empty() || written == config_.params.end())
      return complain("params", fmt::format("parameter '{0}' of {1} has no value: `params: {{{0}: …}}`",
                                            p.name.empty() ? p.type : p.name, function));
    std::string why;
    const auto value = read_parameter(p.type, written->second, why);
    if (!value) return complain("params." + p.name, fmt::format("'{}' {}", written->second, why));
    program_.types.push_back(p.type);
    program_.values.push_back(*value);
  }

  const Config& config_;
  const Section& section_;
  Program& program_;
};

}  // namespace

void read_function(const Config& config, const Section& section, Program& program) {
  FunctionReading(config, section, program).read();
}

}  // namespace iqd::kernel
