// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "signal/formats/symbol_map.hpp"

/// Measures the error vector magnitude of symbols, without knowing which symbols were sent.
///
/// symbols  [symbol]  cf32  a stream or counted
/// levels   [level]   f32   kLevels, of the block; none for a block without symbols
///
/// Symbols are scaled to mean power 1, decided, and scaled again by the gain g that fits the decisions d best; then
/// evm = sqrt(sum |y / g - d|^2 / sum |d|^2). Wrong decisions hide errors: for qpsk evm is too low above 0.4. Symbols
/// that are not finite are skipped. Keeps nothing between calls.
namespace iqd::evm_meter {

inline constexpr std::array<std::string_view, 4> kLevels{"evm", "evm_db", "gain", "symbols"};
using Levels = std::span<float, kLevels.size()>;

struct Config {
  SymbolMap modulation = SymbolMap::qpsk;

  void fields(FieldVisitor& visitor);
};

/// False if there is no finite symbol other than 0.
bool measure(SymbolMap map, std::span<const cf32> symbols, Levels levels) noexcept;

}  // namespace iqd::evm_meter
