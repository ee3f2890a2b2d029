// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/math/signal_source/tone.hpp"

/// Test tones, with phi(n) = 2 pi f n / fs + phase:
///
///   complex A exp(j phi), cosine A cos(phi), sine A sin(phi), square A in the first half of a turn and -A in the
///   second, constant A
///
/// in   cf32 [row][n]         only its positions count; n counts from the start of the stream, gaps included
/// out  cf32 or f32 [row][n]  the same in all rows; the real waveforms have an imaginary part of 0
///
/// The phase is a 64-bit integer and does not accumulate error: out is within 4e-7 A of the exact value at sample 0 as
/// at sample 1e12. Frequencies are modulo fs: fs/2 alternates, a negative one rotates the other way. out(n) depends on
/// n alone, to the bit, also on a GPU. Keeps nothing between calls.
namespace iqd::signal_source {

inline std::span<const std::string_view> enum_names(Waveform) {
  static constexpr std::string_view names[] = {"complex", "cosine", "sine", "square", "constant"};
  return names;
}
enum class Dtype : std::uint8_t { cf32, f32 };
inline std::span<const std::string_view> enum_names(Dtype) {
  static constexpr std::string_view names[] = {"cf32", "f32"};
  return names;
}

struct Config {
  Waveform waveform = Waveform::complex;
  double frequency = 0;
  double amplitude = 1;
  double phase = 0;
  Dtype dtype = Dtype::cf32;

  void fields(FieldVisitor& visitor);
  Element element() const { return dtype == Dtype::f32 ? Element::f32 : Element::cf32; }
  /// The oscillation at this sample rate.
  Oscillation oscillation(double rate_hz) const;
};

/// Writes samples first … first + n - 1, as elements of this type.
void run_cpu(Waveform waveform, const Oscillation& oscillation, std::int64_t first, Element element, void* y,
             std::int64_t n) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(Waveform waveform, const Oscillation& oscillation, Element element);

}  // namespace iqd::signal_source
