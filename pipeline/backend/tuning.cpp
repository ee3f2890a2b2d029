// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/tuning.hpp"

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

struct Tuning {
  std::int64_t mapped_bytes = -1;  // not measured
  StringMap convolutions;
};

/// A device's measurements; none if the file is invalid, which is logged.
Tuning read_tuning(const std::string& device) {
  const std::filesystem::path path = tuning_file(device);
  if (std::error_code error; !std::filesystem::exists(path, error)) return {};
  Problems problems;
  Tuning tuning;
  const Document document = load_document(path.string(), problems, Readable::file);
  read_fields(
      document.root,
      [&](FieldVisitor& v) {
        v.field("mapped_bytes", tuning.mapped_bytes, {.help = "blocks up to this size are used in place", .low = 0});
        v.field("convolutions", tuning.convolutions, {.help = "method and size of each shape"});
      },
      problems);
  if (problems.empty()) return tuning;
  log::warn("{}; the file is ignored: `iqd tune` rewrites it", problems.front().text());
  return {};
}

/// Throws SetupError.
void write_tuning(const std::string& device, const Tuning& tuning) {
  const std::filesystem::path path = tuning_file(device);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << fmt::format("# {}, by `iqd tune`\n", device);
  if (tuning.mapped_bytes >= 0)
    file << "# Blocks of up to this many bytes are used in place, larger ones are copied.\n"
         << fmt::format("mapped_bytes: {}\n", tuning.mapped_bytes);
  if (!tuning.convolutions.empty()) file << "convolutions:\n";
  for (const auto& [shape, choice] : tuning.convolutions) file << fmt::format("  {}: {}\n", shape, choice);
  file.flush();
  if (!file) throw SetupError(fmt::format("{} cannot be written", path.string()));
}

}  // namespace

std::filesystem::path tuning_file(const std::string& device) {
  std::string name = "device-";
  for (const char c : device)
    name += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : '-';
  return state_folder() / (name + ".yaml");
}

std::optional<std::size_t> tuned_mapped_bytes(const std::string& device) {
  const Tuning tuning = read_tuning(device);
  if (tuning.mapped_bytes < 0) return {};
  return static_cast<std::size_t>(tuning.mapped_bytes);
}

void store_tuning(const std::string& device, std::size_t mapped_bytes) {
  Tuning tuning = read_tuning(device);
  tuning.mapped_bytes = static_cast<std::int64_t>(mapped_bytes);
  write_tuning(device, tuning);
}

std::optional<ConvolutionChoice> tuned_convolution(const std::string& device, const ConvolutionShape& shape) {
  const StringMap& convolutions = read_tuning(device).convolutions;
  const auto found = convolutions.find(text_of(shape));
  if (found == convolutions.end()) return {};
  ConvolutionChoice choice;
  std::istringstream(found->second) >> choice.method >> choice.size;
  return choice;
}

void store_convolution(const std::string& device, const ConvolutionShape& shape, const ConvolutionChoice& choice) {
  Tuning tuning = read_tuning(device);
  tuning.convolutions[text_of(shape)] = text_of(choice);
  write_tuning(device, tuning);
}

MappedLimits mapped_limits_of(const Backend& backend) {
  if (const auto bytes = tuned_mapped_bytes(backend.device())) return {*bytes, *bytes};
  return backend.mapped_limits();
}

}  // namespace iqd
