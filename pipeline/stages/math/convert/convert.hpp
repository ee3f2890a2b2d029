// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// Converts element types: y = x if both are floating point. An integer's full scale is 1 as a float (sc16 and i16:
/// 32768, i8: 128, i32: 2^31), and one integer type becomes another by way of f32.
///
/// x, y  [row][n]  sc16 cf32 (complex), f32 f16 i32 i16 i8 (real); complex and real do not mix
///
/// To an integer: rounds to nearest, halves to even, saturates, NaN gives 0. f32 to f16 rounds the same way, overflows
/// to infinity and keeps NaN. From f16 and from integers of 16 bits or less it is exact. To the same type it is a copy.
/// y(r, n) depends on x(r, n) alone. Keeps nothing between calls.
namespace iqd::convert {

enum class Dtype : std::uint8_t { sc16, cf32, f32, f16, i32, i16, i8 };
inline constexpr std::array<std::string_view, 7> kDtypeNames{"sc16", "cf32", "f32", "f16", "i32", "i16", "i8"};
inline std::span<const std::string_view> enum_names(Dtype) {
  return kDtypeNames;
}

struct Config {
  Dtype dtype = Dtype::cf32;

  void fields(FieldVisitor& visitor);
};

constexpr bool can_convert(Element from, Element to) noexcept {
  const auto known = [](Element e) { return e != Element::u8 && e != Element::i64; };
  return known(from) && known(to) && traits(from).complex == traits(to).complex;
}

/// Converts n elements; `can_convert(from, to)` must hold.
void convert_row(Element from, const void* x, Element to, void* y, std::int64_t n) noexcept;

template <class From, class To> void run_cpu(View<const From, 2> x, View<To, 2> y) noexcept {
  static_assert(can_convert(element_of<From>, element_of<To>));
  for (std::int64_t r = 0; r < y.extent(0); ++r)
    convert_row(element_of<From>, x.row(r).data(), element_of<To>, y.row(r).data(), y.extent(1));
}

/// The CUDA half. `counted`: the input gives the number of positions, instead of the stream.
using CudaHalf = std::unique_ptr<StageRun>(Element from, Element to, bool counted);

}  // namespace iqd::convert
