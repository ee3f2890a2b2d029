// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/recording_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "radio/file/disk_format.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {
namespace {

std::string_view ending_of(std::string_view path) {
  const std::size_t dot = path.find_last_of('.');
  const std::size_t slash = path.find_last_of('/');
  const bool has_one = dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
  return has_one ? path.substr(dot + 1) : std::string_view();
}

std::string beside(std::string_view array, std::string_view suffix) {
  return std::string(array.substr(0, array.size() - 4)).append(suffix);
}

}  // namespace

bool is_wav(std::string_view path) {
  return path.ends_with(".wav") || path.ends_with(".WAV");
}

bool is_npy(std::string_view path) {
  return path.ends_with(".npy");
}

Container container_of(std::string_view path) {
  if (is_wav(path)) return Container::wav;
  if (is_npy(path)) return Container::npy;
  const std::string_view ending = ending_of(path);
  if (ending == "sigmf") return Container::archive;
  if (ending == "raw" || ending == "iq" || ending == "bin" || ending == "dat" || find_raw_format(ending))
    return Container::raw;
  return Container::sigmf;
}

std::string unwritable_name(std::string_view path) {
  constexpr std::string_view kOthers[] = {"csv",  "txt", "mat", "h5",  "hdf5", "npz", "json", "yaml", "yml", "mp3",
                                          "flac", "ogg", "png", "svg", "zip",  "gz",  "bz2",  "xz",   "zst", "tar"};
  constexpr std::string_view kKnown =
      "NAME.sigmf-meta, NAME.sigmf, NAME.wav, NAME.npy, NAME.cu8, NAME.cs16, NAME.cf32 …";
  if (path == "-") return fmt::format("-: recordings are files, not standard output; name one: {}", kKnown);
  const std::string_view ending = ending_of(path);
  if (std::ranges::find(kOthers, ending) == std::end(kOthers)) return {};
  return fmt::format("{}: iqd writes no .{} files; it writes {}", path, ending, kKnown);
}

bool names_recording(const std::string& path) {
  if (container_of(path) != Container::sigmf || path.ends_with(".sigmf-meta") || path.ends_with(".sigmf-data"))
    return true;
  if (path.find(".sigmf/") != std::string::npos) return true;  // in an archive
  std::error_code ignored;
  return !std::filesystem::exists(path, ignored) && std::filesystem::exists(path + ".sigmf-meta", ignored);
}

std::vector<std::string> recording_files(const std::string& path) {
  switch (container_of(path)) {
    case Container::sigmf: return {sigmf_paths(path).data, sigmf_paths(path).meta};
    case Container::npy: return {path, messages_path(path), items_path(path), json_path(path)};
    default: return {path};
  }
}

std::string messages_path(std::string_view path) {
  return beside(path, ".messages.npy");
}
std::string items_path(std::string_view path) {
  return beside(path, ".facts.npy");
}
std::string json_path(std::string_view path) {
  return beside(path, ".json");
}

}  // namespace iqd::radio
