// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sigmf_archive.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "radio/file/sigmf_recording.hpp"
#include "radio/file/tar_members.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kMostMeta = 256 << 20;

/// Where the data of this metadata are, which lie in the same folder of the archive.
const TarMember* data_of(const SigmfMeta& meta, const TarMember& described, const std::vector<TarMember>& members) {
  std::string name = sigmf_paths(described.name).data;
  if (!meta.dataset.empty()) name = (std::filesystem::path(name).parent_path() / meta.dataset).string();
  const auto found = std::ranges::find(members, name, &TarMember::name);
  return found == members.end() ? nullptr : &*found;
}

}  // namespace

Recording read_archive(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems) {
  const auto refuse = [&](const std::string& why) {
    problems.push_back(fmt::format("{}: {}", path, why));
    return Recording{};
  };
  const FileBytes file(path);
  std::string why;
  const std::vector<TarMember> members = tar_members(file, why);
  if (!why.empty()) return refuse(why);
  std::vector<std::string> names;
  const TarMember* described = nullptr;
  for (const TarMember& m : members) {
    const std::string base = std::filesystem::path(m.name).filename().string();
    if (!base.ends_with(".sigmf-meta") || base.starts_with("._")) continue;  // macOS adds ._NAME
    described = &m;
    names.push_back(m.name);
  }
  if (!described) return refuse("is an archive without a .sigmf-meta file");
  if (names.size() > 1)
    return refuse(
        fmt::format("has {} recordings; unpack it (tar -xf) and name one: {}{}", names.size(),
                    fmt::join(names.begin(), names.begin() + std::min<std::ptrdiff_t>(std::ssize(names), 20), ", "),
                    names.size() > 20 ? ", …" : ""));
  const std::string meta_name = fmt::format("{}({})", path, described->name);
  if (described->bytes > kMostMeta) return refuse(fmt::format("{} MB cannot be metadata", described->bytes >> 20));
  const std::size_t before = problems.size();
  const SigmfMeta meta =
      parse_meta(file.read(described->begin, static_cast<std::size_t>(described->bytes)), meta_name, keys, problems);
  if (problems.size() != before) return {};
  const TarMember* data = data_of(meta, *described, members);
  if (!data)
    return refuse(meta.metadata_only ? "holds metadata only (core:metadata_only), without samples that could be played"
                                     : fmt::format("has no data file for {}", described->name));
  return lay_out(meta, {meta_name, fmt::format("{}({})", path, data->name)}, {path, data->begin, data->bytes},
                 problems);
}

}  // namespace iqd::radio
