// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/tuning.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/reader.hpp"
#include "pipeline/backend/kernel_mark.hpp"

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
  MeasuredWith with;
  StringMap times;
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
        v.field("driver", tuning.with.driver, {.help = "that the times were measured with"});
        v.field("kernels", tuning.with.kernels, {.help = "that the times were measured with"});
        v.field("times", tuning.times, {.help = "microseconds of each stage, shape and block"});
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
  if (!tuning.times.empty())
    file << "# Microseconds by stage, block, and a hash of keys and shapes; they hold for this driver and these "
            "kernels.\n"
         << fmt::format("driver: \"{}\"\nkernels: {}\ntimes:\n", tuning.with.driver, tuning.with.kernels);
  for (const auto& [name, us] : tuning.times) file << fmt::format("  {}: {}\n", name, us);
  file.flush();
  if (!file) throw SetupError(fmt::format("{} cannot be written", path.string()));
}

/// Nothing if it is no time.
std::optional<double> microseconds_in(const std::string& text) {
  double us = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(us) || us < 0) return {};
  return us;
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

MeasuredWith measured_with(const std::vector<std::string>& details, const std::filesystem::path& root) {
  if (details.empty()) return {"", std::string(kernel_mark())};
  return {fmt::format("{}, {}", nvidia_driver(root), details.front()), std::string(kernel_mark())};
}

/// `NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  …`: the word that looks like a version.
std::string nvidia_driver(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/driver/nvidia/version");
  for (std::string word; file >> word;)
    if (std::isdigit(static_cast<unsigned char>(word.front())) && word.find('.') != word.npos) return word;
  return "unknown version";
}

TunedTimes tuned_times(const std::string& device, const MeasuredWith& now) {
  const Tuning tuning = read_tuning(device);
  if (tuning.times.empty()) return {};
  if (tuning.with != now) return {{}, true};
  TunedTimes tuned;
  for (const auto& [name, text] : tuning.times) {
    const std::optional<double> us = microseconds_in(text);
    if (!us) {
      log::warn("{}: '{}' is no time: '{}'; its times are ignored: `iqd tune` rewrites them",
                tuning_file(device).string(), name, text);
      return {};
    }
    tuned.us[name] = *us;
  }
  return tuned;
}

void store_times(const std::string& device, const MeasuredWith& now, const Times& times) {
  Tuning tuning = read_tuning(device);
  if (tuned_times(device, now).us.empty()) tuning.times.clear();
  tuning.with = now;
  for (const auto& [name, us] : times) tuning.times[name] = fmt::format("{:.4g}", us);
  write_tuning(device, tuning);
}

MappedLimits mapped_limits_of(const Backend& backend) {
  if (const auto bytes = tuned_mapped_bytes(backend.device())) return {*bytes, *bytes};
  return backend.mapped_limits();
}

}  // namespace iqd
