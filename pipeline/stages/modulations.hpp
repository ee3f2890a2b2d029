// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/fields.hpp"
#include "signal/formats/symbol_map.hpp"

/// The key `modulation` of users that may differ.
namespace iqd::dsp {

/// The maps of all users by their names: one for all, or one for each. Reports what is wrong with them, and is then
/// empty.
inline std::vector<SymbolMap> maps_of(const std::vector<std::string>& words, std::int64_t users,
                                      const Section& section) {
  const auto names = enum_names(SymbolMap{});
  std::vector<SymbolMap> maps;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) {
      section.problem("modulation", fmt::format("'{}' is none of {}", word, fmt::join(names, ", ")));
      return {};
    }
    maps.push_back(static_cast<SymbolMap>(found - names.begin()));
  }
  if (maps.size() == 1) maps.resize(static_cast<std::size_t>(users), maps.front());
  if (std::ssize(maps) == users) return maps;
  section.problem("modulation", fmt::format("has to be one word for all {} users, or one for each; there are {}", users,
                                            words.size()));
  return {};
}

}  // namespace iqd::dsp
