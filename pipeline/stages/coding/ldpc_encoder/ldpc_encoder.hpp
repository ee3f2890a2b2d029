// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/coding/ldpc_keys.hpp"
#include "signal/codes/ldpc_code.hpp"

/// Encodes LDPC words: a word is its k information bits followed by its parity bits.
///
/// bits   [item][…]     u8, each counts by its lowest bit; the size of an item is a multiple of k
/// words  [item][W][n]  u8, 0 or 1; no dimension W if an item is one word
///
/// Keeps nothing between calls.
namespace iqd::ldpc_encoder {

struct Config {
  coding::CodeName code{};

  void fields(FieldVisitor& visitor);
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const LdpcCode& code, std::int64_t words_of_item);

}  // namespace iqd::ldpc_encoder
