// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "config/fields.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

/// `suffix`: the name may lack it, and may be that of a part of an archive.
bool exists(const fs::path& path, std::string_view suffix) {
  std::error_code error;
  if (fs::exists(path, error)) return true;
  if (suffix.empty()) return false;
  if (fs::exists(path.string() + std::string(suffix), error)) return true;
  for (fs::path file = path.parent_path(); file.has_relative_path(); file = file.parent_path())
    if (fs::is_regular_file(file, error)) return true;
  return false;
}

/// A configuration from a pipe or a command line lies in no folder.
fs::path folder_of(const Place& place) {
  const bool is_stream = place.file.starts_with("/dev/") || place.file.starts_with("/proc/");
  return is_stream ? fs::path() : fs::path(place.file).parent_path();
}

}  // namespace

FoundFile find_file(const Place& place, std::string_view name, std::string_view suffix) {
  const fs::path folder = folder_of(place);
  const fs::path beside = folder / name;
  if (exists(beside, suffix)) return {.path = beside.string(), .found = true};
  if (exists(fs::path(name), suffix)) return {.path = std::string(name), .found = true};
  if (fs::path(name).is_absolute()) return {.path = std::string(name)};
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path there = fs::absolute(folder.empty() ? fs::path(".") : folder, error).lexically_normal();
  const auto plain = [](const fs::path& p) { return p.has_filename() ? p.string() : p.parent_path().string(); };
  return {.path = beside.string(),
          .looked = plain(there) == plain(here)
                        ? fmt::format(" (looked in {})", plain(here))
                        : fmt::format(" (looked beside the pipeline file, in {}, and in the working directory, {})",
                                      plain(there), plain(here))};
}

}  // namespace iqd
