// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/code_keys.hpp"
#include "signal/codes/word_code.hpp"

/// Encodes LDPC words: information bits and their CRC, then parity bits; of these, those that the code sends, with what
/// frames a word on the air.
///
/// bits   [item][…]     u8, each counts by its lowest bit; the size of an item is a multiple of k
/// words  [item][W][n]  u8, 0 or 1, n with a marker; no dimension W if an item is one word
///
/// Keeps nothing between calls.
namespace iqd::ldpc_encoder {

struct Config {
  WordChoice code{.code = "80216e_2304_1_2"};
  FrameChoice frame{};

  void fields(FieldVisitor& visitor);
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const WordEncoder& encoder, const WordFrame& frame,
                                           std::int64_t words_of_item);

}  // namespace iqd::ldpc_encoder
