// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"

/// Packs bits into bytes along an item's last dimension.
///
/// bits   [item][…][B]            u8, each counts by its lowest bit
/// bytes  [item][…][ceil(B / 8)]  u8; bits that the last byte lacks are 0
///
/// Keeps nothing between calls.
namespace iqd::pack_bits {

enum class Order : std::uint8_t { msb, lsb };
inline std::span<const std::string_view> enum_names(Order) {
  static constexpr std::string_view names[] = {"msb", "lsb"};
  return names;
}

struct Config {
  Order order = Order::msb;

  void fields(FieldVisitor& visitor);
};

struct Setup {
  std::int64_t bits = 8;  // of a row
  std::int64_t rows = 1;  // of an item
  bool msb = true;

  IQD_HOST_DEVICE std::int64_t bytes() const noexcept { return (bits + 7) / 8; }
  /// Byte `at` of a row.
  IQD_HOST_DEVICE std::uint8_t byte(const std::uint8_t* row, std::int64_t at) const noexcept {
    const std::uint8_t* const from = row + 8 * at;
    const auto count = static_cast<int>(bits - 8 * at < 8 ? bits - 8 * at : 8);
    unsigned sum = 0;
    for (int i = 0; i < count; ++i) sum |= (from[i] & 1u) << (msb ? 7 - i : i);
    return static_cast<std::uint8_t>(sum);
  }
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::pack_bits
