// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tuning.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/reader.hpp"

namespace iqd {
namespace {

std::filesystem::path state_folder() {
  const auto named = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value ? value : "";
  };
  if (const auto folder = named("STATE_DIRECTORY"); !folder.empty()) return folder;
  if (const auto folder = named("XDG_STATE_HOME"); !folder.empty()) return folder / "iqd";
  if (const auto home = named("HOME"); !home.empty()) return home / ".local/state/iqd";
  return "/var/lib/iqd";
}

}  // namespace

std::filesystem::path tuning_file(const std::string& device) {
  std::string name = "device-";
  for (const char c : device)
    name += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '-';
  return state_folder() / (name + ".yaml");
}

std::optional<std::size_t> tuned_mapped_bytes(const std::string& device) {
  const std::filesystem::path path = tuning_file(device);
  std::ifstream file(path);
  if (!file) return {};
  const std::string text = (std::stringstream() << file.rdbuf()).str();
  Problems problems;
  std::int64_t bytes = -1;
  const Document document = parse_document(text, path.string(), problems);
  read_fields(
      document.root,
      [&](FieldVisitor& v) {
        v.field("mapped_bytes", bytes, {.help = "up to here in place", .low = 0, .required = true});
      },
      problems);
  if (problems.empty()) return static_cast<std::size_t>(bytes);
  log::warn("{}; it is not used: `iqd tune` writes it anew", problems.front().text());
  return {};
}

void store_tuning(const std::string& device, std::size_t mapped_bytes) {
  const std::filesystem::path path = tuning_file(device);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << fmt::format("# {}, by `iqd tune`: blocks of so many bytes are used in place, larger ones copied\n", device)
       << fmt::format("mapped_bytes: {}\n", mapped_bytes);
  file.flush();
  if (!file) throw SetupError(fmt::format("{} cannot be written", path.string()));
}

MappedLimits mapped_limits_of(const Backend& backend) {
  if (const auto bytes = tuned_mapped_bytes(backend.device())) return {*bytes, *bytes};
  return backend.mapped_limits();
}

}  // namespace iqd
