// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/stage_keys.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "base/error.hpp"

namespace iqd {

std::string keys_of(const std::vector<std::string>& config) {
  std::string text;
  std::map<std::string, std::string> groups;
  for (const std::string& item : config) {
    const auto equals = item.find('=');
    if (equals == item.npos) {
      std::ifstream file(item);
      if (!file) throw UsageError(fmt::format("--config {}: is neither key=value nor a file that can be read", item));
      text += (std::stringstream() << file.rdbuf() << "\n").str();
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
