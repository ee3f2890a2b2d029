// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/text_file.hpp"
#include "pipeline/stages/math/kernel/declaration.hpp"
#include "pipeline/stages/math/kernel/included.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"
#include "pipeline/stages/math/kernel/parameters.hpp"

namespace iqd::kernel {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // NVRTC does not know it

/// What an element may be called in a declaration; the first is shown.
struct ElementName {
  Element element;
  std::vector<std::string_view> types;
};
const std::vector<ElementName>& element_names() {
  static const std::vector<ElementName> names{{Element::cf32, {"float2"}},
                                              {Element::sc16, {"short2"}},
                                              {Element::f32, {"float"}},
                                              {Element::i32, {"int", "int32_t"}},
                                              {Element::i16, {"short", "int16_t"}},
                                              {Element::i8, {"signed char", "int8_t"}},
                                              {Element::u8, {"unsigned char", "uint8_t"}}};
  return names;
}

const ElementName* name_for(Element element) {
  const auto at = std::ranges::find(element_names(), element, &ElementName::element);
  return at == element_names().end() ? nullptr : &*at;
}

/// Reads one program; what is wrong goes to the section.
class Reading {
 public:
  Reading(const Config& config, const Section& section, Program& program)
      : config_(config), section_(section), program_(program), before_(section.problems().size()) {}

  bool done() {
    read_elements();
    check_halo();
    if (!good() || (program_.text.empty() && !read_text())) return false;
    find_function();
    return good();
  }

 private:
  bool good() const { return section_.problems().size() == before_; }
  void complain(std::string_view key, std::string what) { section_.problem(key, std::move(what)); }
  /// In the user's text.
  void complain_at(int line, std::string what) {
    Place place{program_.name, line, 0};
    section_.problems().push_back({std::move(place), section_.path(), std::move(what)});
  }

  Element element_of(std::string_view key, const std::string& name) {
    const auto element = element_named(name);
    if (element && name_for(*element)) return *element;
    complain(key, fmt::format("'{}' is none of cf32 sc16 f32 i32 i16 i8 u8", name));
    return Element::cf32;
  }

  void read_elements() {
    program_.in.clear();
    if (config_.in.empty() || config_.in.size() > 2)
      complain("in", fmt::format("names {} inputs; a kernel has one or two", config_.in.size()));
    else
      for (const std::string& name : config_.in) program_.in.push_back(element_of("in", name));
    program_.out = element_of("out", config_.out);
  }

  void check_halo() {
    program_.past = config_.past;
    program_.future = config_.future;
    if (config_.past + config_.future > kMostHalo)
      complain(config_.past > 0 ? "past" : "future",
               fmt::format("past and future are {} together; {} is the most (a long filter is `fir`)",
                           config_.past + config_.future, kMostHalo));
  }

  bool read_text() {
    if (config_.file.empty() == config_.code.empty()) {
      complain(config_.file.empty() ? "" : "code",
               config_.file.empty() ? "needs `file:`, the file that the function is in (or `code:`, its text)"
                                    : "there is a `file` already: one of them, please");
      return false;
    }
    if (!(config_.file.empty() ? take_code() : read_file())) return false;
    Included included = included_by(program_.text, program_.folder);
    program_.included = std::move(included.text);
    if (included.endless.empty()) return true;
    complain(program_.is_code ? "code" : "file",
             fmt::format("includes {}, which is no ordinary file", included.endless));
    return false;
  }

  bool take_code() {
    program_.text = config_.code;
    program_.is_code = true;
    program_.name = section_.place().file.empty() ? "code" : section_.place().file;
    program_.folder = folder_of_section();
    place_of("code", program_.first_line);
    return true;
  }
  /// The line that the text of `code` begins in: a text of several lines begins behind its key.
  void place_of(std::string_view key, int& line) {
    section_.problem(key, "");
    line = std::max(section_.problems().back().place.line, 1);
    section_.problems().pop_back();
    if (config_.code.find('\n') != config_.code.npos) ++line;
  }
  std::string folder_of_section() const {
    const std::string folder = std::filesystem::path(section_.place().file).parent_path().string();
    return folder.empty() ? "." : folder;
  }

  bool read_file() {
    const std::filesystem::path here = std::filesystem::path(section_.place().file).parent_path();
    const std::filesystem::path path = here / config_.file;
    std::string why;
    auto text = iqd::read_text(path.string(), kMostText, why);
    if (!text) return refuse_file(path, why);
    program_.text = std::move(*text);
    if (program_.text.starts_with(kByteOrderMark)) program_.text.erase(0, kByteOrderMark.size());
    if (program_.text.find_first_not_of(" \t\r\n") == std::string::npos) return refuse_file(path, "is empty");
    if (program_.text.find('\0') != std::string::npos) return refuse_file(path, "is no text");
    program_.name = shown(path);
    program_.folder = path.parent_path().empty() ? "." : path.parent_path().string();
    return true;
  }
  /// `mine.cu` for `lab/../mine.cu`, where both are one file.
  static std::string shown(const std::filesystem::path& path) {
    const std::filesystem::path plain = path.lexically_normal();
    std::error_code error;
    return (std::filesystem::equivalent(path, plain, error) ? plain : path).string();
  }
  bool refuse_file(const std::filesystem::path& path, const std::string& why) {
    program_.text.clear();
    complain("file", fmt::format("{} {}", shown(path), why));
    return false;
  }

  void find_function() {
    const std::string& name = program_.function = config_.function;
    const bool is_name =
        !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
        std::ranges::all_of(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
    if (!is_name) return complain("function", fmt::format("'{}' cannot be the name of a function", name));
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

  /// The declaration as it has to be, with the parameters as they are.
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
      complain_at(program_.function_line, fmt::format("{} {}; it has to be {}", d.name, why, expected(parameters)));
    };
    if (d.is_template) return refuse("is a template");
    if (!d.is_device) return refuse("has no __device__ before it");
    if (!is_called(program_.out, d.result)) return refuse(fmt::format("returns {}", d.result));
    if (d.arguments.size() < inputs)
      return refuse(fmt::format("takes {} value(s), and `in` names {}", d.arguments.size(), inputs));
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::string& type = d.arguments[i].type;
      const bool pointer = type.ends_with('*');
      if (!is_called(program_.in[i], pointer ? type.substr(0, type.size() - 1) : type) ||
          pointer == program_.element_wise())
        return refuse(fmt::format("takes {} as argument {}{}", type, i + 1,
                                  pointer && program_.element_wise() ? ", and there is no `past` or `future`" : ""));
    }
    check_parameters(d.name, parameters);
  }

  static bool is_called(Element element, const std::string& type) {
    const auto& types = name_for(element)->types;
    return std::ranges::find(types, type) != types.end();
  }

  void check_parameters(const std::string& function, const std::vector<Declaration::Argument>& parameters) {
    if (parameters.size() > kMostParameters)
      return complain_at(program_.function_line, fmt::format("{} has {} parameters; {} are the most", function,
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
        complain("params." + item.first, fmt::format("{} has no parameter of this name{}; its declaration may be {}",
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
  std::size_t before_;
};

}  // namespace

std::string_view type_name(Element element) noexcept {
  const ElementName* name = name_for(element);
  return name ? name->types.front() : std::string_view{};
}

std::string declaration_of(const Program& program, const std::vector<std::string>& names) {
  std::string text = fmt::format("__device__ {} {}(", type_name(program.out), program.function);
  for (std::size_t i = 0; i < program.in.size(); ++i)
    text += fmt::format("{}{}{}{} x{}", i ? ", " : "", program.element_wise() ? "" : "const ", type_name(program.in[i]),
                        program.element_wise() ? "" : "*", program.in.size() > 1 ? std::to_string(i) : "");
  for (std::size_t p = 0; p < names.size(); ++p) text += fmt::format(", {} {}", program.types[p], names[p]);
  return text + ")";
}

bool read_program(const Config& config, const Section& section, Program& program) {
  return Reading(config, section, program).done();
}

}  // namespace iqd::kernel
