// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/arithmetic.hpp"

/// One sample of each waveform, for host and device code. NVRTC compiles this too: no standard library.
namespace iqd::signal_source {

using elementwise::Complex;

enum class Waveform : unsigned char { complex, cosine, sine, square, constant };

/// Phases in units of 2^-64 turns, so that they wrap around on their own.
struct Oscillation {
  unsigned long long step;
  unsigned long long start;
  float amplitude;
};

template <class Y> IQD_HOST_DEVICE constexpr Y real_as(float x) {
  return {x};  // the real part of a Complex
}

/// Sample n of an endless signal. The input's value is ignored.
template <Waveform waveform, class Y> struct Tone {
  using Input = Complex;
  using Output = Y;
  static constexpr int kInputs = 1;
  static constexpr int kOutputs = 1;

  Oscillation of;

  IQD_HOST_DEVICE constexpr void operator()(Complex, Y& y, long long n) const {
    const unsigned long long phase = of.start + of.step * static_cast<unsigned long long>(n);
    if constexpr (waveform == Waveform::complex)
      y = elementwise::scaled(elementwise::phasor(phase), of.amplitude);
    else if constexpr (waveform == Waveform::cosine)
      y = real_as<Y>(of.amplitude * elementwise::phasor(phase).re);
    else if constexpr (waveform == Waveform::sine)
      y = real_as<Y>(of.amplitude * elementwise::phasor(phase).im);
    else if constexpr (waveform == Waveform::square)
      y = real_as<Y>(static_cast<long long>(phase) < 0 ? -of.amplitude : of.amplitude);
    else
      y = real_as<Y>(of.amplitude);
  }
};

}  // namespace iqd::signal_source
