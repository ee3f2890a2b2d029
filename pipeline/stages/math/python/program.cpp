// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/program.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/files/text_file.hpp"
#include "base/printable.hpp"
#include "pipeline/stages/math/program_source.hpp"

namespace iqd::python {
namespace {

namespace fs = std::filesystem;

using program_source::kMostText;
using program_source::shown_path;

std::string absolute_text(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return (error ? path : whole).lexically_normal().string();
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

/// Reads the text of a file; returns what is wrong with it, or nothing.
std::string read_script(const fs::path& path, std::string& text) {
  std::string why;
  auto content = read_text(path.string(), kMostText, why);
  if (!content) return why;
  if (content->find_first_not_of(" \t\r\n") == std::string::npos) return "is empty";
  if (content->find('\0') != std::string::npos || !is_utf8(*content)) return "is not a text file (UTF-8)";
  text = std::move(*content);
  return {};
}

/// Changes if the model does; `why` is set if it cannot be read.
std::string stamp_of(const std::string& path, std::string& why) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0)
    why = "cannot be read: there is no such file";
  else if (!S_ISREG(file.st_mode))
    why = "is not a regular file";
  else if (::access(path.c_str(), R_OK) != 0)
    why = "cannot be read: permission denied";
  return fmt::format("{} {} {}.{}", file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

/// The name that a text begins with, up to 64 characters.
std::string_view name_at(std::string_view text) {
  std::size_t n = 0;
  while (n < std::min<std::size_t>(text.size(), 64) &&
         (std::isalnum(static_cast<unsigned char>(text[n])) || text[n] == '_'))
    ++n;
  return text.substr(0, n);
}

/// The text without its first blanks.
std::string_view after_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

/// The texts of modules in the folder that a text imports, directly or not.
class Imports {
 public:
  explicit Imports(fs::path folder) : folder_(std::move(folder)) {}
  std::string text_of(const std::string& text) {
    add(text);
    return std::move(found_);
  }

 private:
  void add(std::string_view text) {
    while (!text.empty()) {
      std::string_view line = after_blanks(text.substr(0, text.find('\n')));
      text.remove_prefix(text.find('\n') == text.npos ? text.size() : text.find('\n') + 1);
      const bool import = line.starts_with("import "), from = line.starts_with("from ");
      if (!import && !from) continue;
      line = after_blanks(line.substr(line.find(' ')));
      add_module(std::string(name_at(line)));
      for (std::size_t at = line.find(','); import && at != line.npos; at = line.find(',', at + 1))
        add_module(std::string(name_at(after_blanks(line.substr(at + 1)))));
    }
  }
  void add_module(const std::string& name) {
    if (name.empty() || found_.size() > kMostText || !seen_.insert(name).second) return;
    std::string why;
    const auto content = read_text((folder_ / (name + ".py")).string(), kMostText, why);
    if (!content) return;
    found_ += *content;
    add(*content);
  }

  fs::path folder_;
  std::set<std::string> seen_;
  std::string found_;
};

bool take_code(const Config& config, const Section& section, Program& program) {
  const fs::path folder = fs::path(section.place().file).parent_path();
  program.text = config.code;
  program.name = section.place().file.empty() ? "code" : section.place().file;
  program.folder = absolute_text(folder.empty() ? "." : folder);
  program.first_line = program_source::first_line_of(config.code, section);
  if (config.code.find_first_not_of(" \t\r\n") != std::string::npos) return true;
  section.problem("code", "is empty");
  return false;
}

bool take_file(const Config& config, const Section& section, Program& program) {
  const FoundFile file = find_file(section.place(), config.file);
  const fs::path path = file.path;
  program.path = absolute_text(path);
  program.folder = fs::path(program.path).parent_path().string();
  program.is_model = path.extension() == ".onnx";
  std::string why;
  if (program.is_model)
    program.included = stamp_of(program.path, why);
  else
    why = read_script(path, program.text);
  if (!why.empty()) {
    section.problem("file", fmt::format("{} {}{}", shown_path(path), why, file.looked));
    return false;
  }
  program.name = shown_path(path);
  return true;
}

}  // namespace

bool read_program(const Config& config, const Section& section, Program& program) {
  if (!program_source::is_one(config.file, config.code, section)) return false;
  if (!(config.file.empty() ? take_code(config, section, program) : take_file(config, section, program))) return false;
  if (!program.is_model) program.included = Imports(program.folder).text_of(program.text);
  return true;
}

}  // namespace iqd::python
