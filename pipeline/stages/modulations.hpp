// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stage/port_shape.hpp"
#include "pipeline/stages/alphabets.hpp"
#include "signal/formats/antenna_bits.hpp"
#include "signal/formats/symbol_map.hpp"

/// The key `modulation` of users or antennas that may differ.
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

/// All antennas with this alphabet.
inline Alphabets alike(std::int64_t antennas, int bits) {
  const std::vector<std::uint8_t> all(static_cast<std::size_t>(antennas), static_cast<std::uint8_t>(bits));
  return Alphabets{.most = bits}.with(all.data(), static_cast<int>(antennas));
}

/// What antennas send in LLRs or bits [frame][…][tx][bit]: by the key, or by the input `modulation` frame by frame; then
/// all have the largest alphabet here. Reports what is wrong, and is then empty.
inline std::optional<Alphabets> antennas_of(const std::vector<std::string>& words, const PortShape& in,
                                            const PortShape& sent, const Section& section) {
  const auto wrong = [&](std::string what) {
    section.problem("modulation", std::move(what));
    return std::nullopt;
  };
  const std::size_t dims = in.item.size();
  if (dims < 2 || in.item[dims - 2].name != "tx" || in.item[dims - 2].extent > AntennaBits::kMost)
    return wrong(fmt::format("needs antennas, [carrier][symbol][tx][bit]; the input is {}", in.text()));
  const std::int64_t tx = in.item[dims - 2].extent;
  const auto most = static_cast<int>(in.item.back().extent);
  if (!sent.item.empty()) {
    if (!words.empty() || sent.item_size() != tx)
      return wrong(fmt::format("either the key or the input 'modulation', [frame][tx {}]", tx));
    return alike(tx, most);
  }
  const auto bits = AntennaBits::of_words(words, tx);
  if (!bits || bits->most() > most || bits->most() == 0)
    return wrong(
        fmt::format("has to be qpsk, 16qam, 64qam, 256qam or silent, one for all {} antennas or one for each, "
                    "with at most the {} bits of the input",
                    tx, most));
  return Alphabets::of(*bits, most);
}

}  // namespace iqd::dsp
