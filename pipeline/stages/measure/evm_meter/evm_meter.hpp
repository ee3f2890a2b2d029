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

/// Measures how far symbols are from where they should be, without knowing which were sent.
///
/// symbols  [symbol]  cf32  a stream or counted
/// levels   [level]   f32   kLevels, of the block; or none, where it has no symbol
///
/// Symbols are scaled to mean power 1, decided, and scaled anew by the gain g that fits the decisions d best; then
/// evm = sqrt(sum |y / g - d|^2 / sum |d|^2). Where so many decisions are wrong that noise looks like symbols, it says
/// too little: qpsk beyond 0.4. What is not finite is left out. Keeps nothing between calls.
namespace iqd::evm_meter {

inline constexpr std::array<std::string_view, 4> kLevels{"evm", "evm_db", "gain", "symbols"};
using Levels = std::span<float, kLevels.size()>;

struct Config {
  SymbolMap modulation = SymbolMap::qpsk;

  void fields(FieldVisitor& visitor);
};

/// False where there is no finite symbol other than 0.
bool measure(SymbolMap map, std::span<const cf32> symbols, Levels levels) noexcept;

}  // namespace iqd::evm_meter
