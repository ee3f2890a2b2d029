// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/fields.hpp"
#include "pipeline/stages/coding/ldpc_keys.hpp"

/// Encodes LDPC words: a word is its k information bits, then its parity bits.
///
/// bits   [item][…]     u8, each counts by its lowest bit; an item has a multiple of k
/// words  [item][W][n]  u8, 0 or 1; W is left out where an item is one word
///
/// Keeps nothing between calls.
namespace iqd::ldpc_encoder {

struct Config {
  coding::CodeName code{};

  void fields(FieldVisitor& visitor);
};

}  // namespace iqd::ldpc_encoder
