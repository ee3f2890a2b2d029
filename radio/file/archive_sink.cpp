// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/archive_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/tar_members.hpp"

namespace iqd::radio {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCopied = 1 << 20;
constexpr const char* kPart = ".part";

/// NAME for NAME.sigmf.
std::string stem_of(const std::string& path) {
  return path.substr(0, path.size() - std::string_view(".sigmf").size());
}

FileSinkSettings settings_of_parts(FileSinkSettings settings) {
  if (!settings.overwrite && ::access(settings.path.c_str(), F_OK) == 0)
    throw SetupError(fmt::format("{}: already exists; set overwrite: true or choose another path", settings.path));
  settings.path = stem_of(settings.path) + kPart;
  return settings;
}

bool add_member(std::ofstream& archive, const std::string& name, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  if (!file || error) return false;
  const std::string header = tar_header(fs::path(name).filename().string(), bytes);
  archive.write(header.data(), static_cast<std::streamsize>(header.size()));
  std::vector<char> buffer(kCopied);
  for (std::int64_t left = bytes; left > 0 && archive;) {
    file.read(buffer.data(), std::min(left, static_cast<std::int64_t>(kCopied)));
    if (file.gcount() == 0) return false;
    archive.write(buffer.data(), file.gcount());
    left -= file.gcount();
  }
  const std::string padding(static_cast<std::size_t>((kTarBlock - bytes % kTarBlock) % kTarBlock), '\0');
  archive.write(padding.data(), static_cast<std::streamsize>(padding.size()));
  return archive.good();
}

/// Under another name first, so that an archive is complete whenever it is seen.
bool pack(const std::string& path, const SigmfPaths& parts) {
  const SigmfPaths names = sigmf_paths(stem_of(path));
  const std::string unfinished = path + ".part";
  std::ofstream archive(unfinished, std::ios::binary | std::ios::trunc);
  bool good = add_member(archive, names.meta, parts.meta) && add_member(archive, names.data, parts.data);
  const std::string end(2 * kTarBlock, '\0');
  archive.write(end.data(), static_cast<std::streamsize>(end.size()));
  archive.close();
  good = good && archive && std::rename(unfinished.c_str(), path.c_str()) == 0;
  if (!good) ::unlink(unfinished.c_str());
  return good;
}

}  // namespace

ArchiveSink::ArchiveSink(const FileSinkSettings& settings, const PortFormat& format)
    : path_(settings.path),
      parts_(sigmf_paths(stem_of(settings.path) + kPart)),
      sink_(settings_of_parts(settings), format) {}

ArchiveSink::~ArchiveSink() {
  try {
    close();
  } catch (const std::exception& e) {
    log::error("{}: {}", path_, e.what());
  }
}

void ArchiveSink::finish() {
  if (!close()) throw SetupError(path_ + ": its end cannot be written");
}

/// False if it cannot be written, which is logged.
bool ArchiveSink::close() {
  if (std::exchange(finished_, true)) return true;
  bool is_whole = true;
  try {
    sink_.finish();
  } catch (const SetupError&) {
    is_whole = false;  // what was written goes into the archive
  }
  errno = 0;
  if (!pack(path_, parts_)) {
    log::error("{}: cannot be written: {}; the recording is {} and {}", path_, std::strerror(errno), parts_.meta,
               parts_.data);
    return false;
  }
  ::unlink(parts_.meta.c_str());
  ::unlink(parts_.data.c_str());
  return is_whole;
}

}  // namespace iqd::radio
