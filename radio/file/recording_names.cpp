// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/recording_names.hpp"

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
  if (ending == "raw" || ending == "iq" || ending == "bin" || find_raw_format(ending)) return Container::raw;
  return Container::sigmf;
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
