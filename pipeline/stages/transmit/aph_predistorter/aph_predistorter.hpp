// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/transmit/aph_predistorter/sample_inl.hpp"
#include "signal/transmit/aph.hpp"

/// Predistorts a transmit stream: computes z(n) of signal/transmit/aph.hpp, then limits it.
///
/// x       [row][n]  cf32 or sc16
/// z       [row][n]  as x, or cf32
/// peak    [1]       f32: the largest |z| of a block, before limiting
/// events  [event]   i64: kEvents
///
/// Before the first sample, and after a gap, x is zero. A z beyond `clip` is reduced to that magnitude and keeps its
/// phase. sc16 is rounded to nearest, halves to even, and saturates. A z that is not finite is sent as 0: silence does
/// not harm an amplifier. A bad sample affects only the `taps` outputs from it on. z depends, to the bit, only on its
/// own `taps` samples. Error relative to the same sum in double precision: 2e-6 of the largest |z|.
namespace iqd::aph_predistorter {

enum class Output : std::uint8_t { same, cf32 };
inline constexpr std::array<std::string_view, 2> kOutputNames{"same", "cf32"};
inline std::span<const std::string_view> enum_names(Output) {
  return kOutputNames;
}

/// The GPU kernels: iqd's own, and two for comparison.
enum class Variant : std::uint8_t { own, paper, three_kernels };
inline constexpr std::array<std::string_view, 3> kVariantNames{"own", "paper", "three_kernels"};
inline std::span<const std::string_view> enum_names(Variant) {
  return kVariantNames;
}

/// Samples that were limited, by `clip` or by the range of sc16, and samples that were not finite.
inline constexpr std::string_view kEvents[] = {"clipped", "not_finite"};

/// `coefficients` are monomial.
Model make_model(const AphOrders& orders, std::span<const std::complex<double>> coefficients);

std::size_t scratch_bytes(const Model& model);

/// Samples of one channel: z(0) … z(n-1) are computed, and x has `past` samples before x(0).
template <class In, class Out> struct Row {
  const In* x;
  std::int64_t past;
  Out* z;
  std::int64_t n;
};

/// From Complex to Complex, from sc16 to sc16 or Complex.
template <class In, class Out>
void run_cpu(const Model& model, float clip, const Row<In, Out>& row, Watch& watch, std::byte* scratch) noexcept;

enum Port : std::uint8_t { kOut, kPeak, kTally };

/// The parameters for a block. `clip` is infinite if there is no limit.
struct Setup {
  Model model;
  float clip = 0;
  Element in = Element::cf32;
  Element out = Element::cf32;
  Variant variant = Variant::own;
  std::int64_t most_new = 1;
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::aph_predistorter
