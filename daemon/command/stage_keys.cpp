// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/stage_keys.hpp"

#include <fmt/format.h>

#include <map>

#include "base/error.hpp"
#include "base/files/text_file.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostText = 4u << 20;

}  // namespace

std::string keys_of(const std::vector<std::string>& config) {
  std::string text;
  std::map<std::string, std::string> groups;
  for (const std::string& item : config) {
    const auto equals = item.find('=');
    if (equals == item.npos) {
      std::string why;
      const auto keys = read_text(item, kMostText, why, Readable::stream);
      if (!keys) throw UsageError(fmt::format("--config {}: neither key=value nor a file with keys: {}", item, why));
      text += *keys + "\n";
      continue;
    }
    const std::string key = item.substr(0, equals);
    const auto dot = key.find('.');
    if (dot == key.npos)
      text += fmt::format("{}: {}\n", key, item.substr(equals + 1));
    else
      groups[key.substr(0, dot)] += fmt::format("  {}: {}\n", key.substr(dot + 1), item.substr(equals + 1));
  }
  for (const auto& [group, keys] : groups) text += fmt::format("{}:\n{}", group, keys);
  return text;
}

std::string sample_keys(const StageEntry& entry) {
  const auto colon = entry.sample.find(':');
  return colon == entry.sample.npos ? "{}" : std::string(entry.sample.substr(colon + 1));
}

}  // namespace iqd
