// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sigmf_archive.hpp"

#include <fmt/format.h>

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

/// The metadata of the recordings in an archive, or of those that `name` names: with or without folders and ending.
std::vector<const TarMember*> recordings_in(const std::vector<TarMember>& members, const std::string& name) {
  const std::string wanted = name.empty() ? "" : sigmf_paths(name).meta;
  std::vector<const TarMember*> all;
  for (const TarMember& m : members) {
    const std::string base = std::filesystem::path(m.name).filename().string();
    if (!base.ends_with(".sigmf-meta") || base.starts_with("._")) continue;  // macOS adds ._NAME
    if (name.empty() || m.name == wanted || m.name.ends_with("/" + wanted)) all.push_back(&m);
  }
  return all;
}

std::string names_of(const std::vector<const TarMember*>& recordings) {
  constexpr std::size_t kMostNames = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(recordings.size(), kMostNames); ++i)
    names += (i ? ", " : "") + recordings[i]->name;
  return names + (recordings.size() > kMostNames ? ", …" : "");
}

}  // namespace

std::optional<ArchivePart> archive_part(const std::string& path) {
  constexpr std::string_view kEnding = ".sigmf";
  const std::size_t at = path.find(std::string(kEnding) + "/");
  if (at == std::string::npos || at + kEnding.size() + 1 == path.size()) return std::nullopt;
  ArchivePart part{path.substr(0, at + kEnding.size()), path.substr(at + kEnding.size() + 1)};
  return unreadable(part.archive).empty() ? std::optional(part) : std::nullopt;
}

Recording read_archive(const ArchivePart& part, const RecordingKeys& keys, std::vector<std::string>& problems) {
  const std::string& path = part.archive;
  const auto refuse = [&](const std::string& why) {
    problems.push_back(fmt::format("{}: {}", path, why));
    return Recording{};
  };
  const FileBytes file(path);
  std::string why;
  const std::vector<TarMember> members = tar_members(file, why);
  if (!why.empty()) return refuse(why);
  const auto all = recordings_in(members, ""), meant = recordings_in(members, part.name);
  if (all.empty()) return refuse("is an archive without a .sigmf-meta file");
  if (meant.empty()) return refuse(fmt::format("has no recording {}; it has {}", part.name, names_of(all)));
  if (meant.size() > 1)
    return refuse(fmt::format("has {} recordings; name one, as {}/NAME: {}", meant.size(), path, names_of(meant)));
  const TarMember* const described = meant.front();
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
