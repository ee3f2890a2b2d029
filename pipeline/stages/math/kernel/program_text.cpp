// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/program_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files/text_file.hpp"
#include "pipeline/stages/math/kernel/included.hpp"
#include "pipeline/stages/math/program_source.hpp"

namespace iqd::kernel {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // NVRTC does not accept it

/// The folder of the pipeline's file.
std::filesystem::path folder_of(const Section& section) {
  return std::filesystem::path(section.place().file).parent_path();
}
std::string folder_name(const std::filesystem::path& folder) {
  return folder.empty() ? "." : folder.string();
}

void take_code(const Config& config, const Section& section, Program& program) {
  program.text = config.code;
  program.is_code = true;
  program.name = section.place().file.empty() ? "code" : section.place().file;
  program.folder = folder_name(folder_of(section));
  program.first_line = program_source::first_line_of(config.code, section);
}

/// Reads the text of a file; returns what is wrong with it, or nothing.
std::string read_file(const std::filesystem::path& path, std::string& text) {
  std::string why;
  auto content = read_text(path.string(), program_source::kMostText, why);
  if (!content) return why;
  if (content->starts_with(kByteOrderMark)) content->erase(0, kByteOrderMark.size());
  if (content->find_first_not_of(" \t\r\n") == std::string::npos) return "is empty";
  if (content->find('\0') != std::string::npos) return "is not a text file";
  text = std::move(*content);
  return {};
}

bool take_file(const Config& config, const Section& section, Program& program) {
  const FoundFile file = find_file(section.place(), config.file);
  const std::filesystem::path path = file.path;
  if (const std::string why = read_file(path, program.text); !why.empty()) {
    section.problem("file", fmt::format("{} {}{}", program_source::shown_path(path), why, file.looked));
    return false;
  }
  program.name = program_source::shown_path(path);
  program.folder = folder_name(path.parent_path());
  return true;
}

}  // namespace

bool load_text(const Config& config, const Section& section, Program& program) {
  if (!program_source::is_one(config.file, config.code, section)) return false;
  if (config.file.empty())
    take_code(config, section, program);
  else if (!take_file(config, section, program))
    return false;
  Included included = included_by(program.text, program.folder);
  program.included = std::move(included.text);
  if (included.endless.empty()) return true;
  section.problem(program.is_code ? "code" : "file",
                  fmt::format("includes {}, which is not a regular file", included.endless));
  return false;
}

}  // namespace iqd::kernel
