// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/signal_source/signal_source.hpp"

// A plain loop, compiled once for each kind of CPU, which the compiler vectorises. It may neither fuse nor reorder, so
// a vector's lanes and the rest of a row give the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/math/signal_source/signal_source_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::signal_source::HWY_NAMESPACE {

template <Waveform waveform, class Y>
HWY_INLINE void loop(const Oscillation& oscillation, std::int64_t first, void* to, std::int64_t n) {
  const Tone<waveform, Y> tone{oscillation};
  Y* const y = static_cast<Y*>(to);
  for (std::int64_t i = 0; i < n; ++i) tone({}, y[i], first + i);
}

template <class Y>
void play(Waveform waveform, const Oscillation& oscillation, std::int64_t first, void* y, std::int64_t n) {
  switch (waveform) {
    case Waveform::complex:
      if constexpr (sizeof(Y) == sizeof(Complex)) loop<Waveform::complex, Y>(oscillation, first, y, n);
      return;
    case Waveform::cosine: return loop<Waveform::cosine, Y>(oscillation, first, y, n);
    case Waveform::sine: return loop<Waveform::sine, Y>(oscillation, first, y, n);
    case Waveform::square: return loop<Waveform::square, Y>(oscillation, first, y, n);
    case Waveform::constant: return loop<Waveform::constant, Y>(oscillation, first, y, n);
  }
}

void play_complex(Waveform waveform, const Oscillation& oscillation, std::int64_t first, void* y, std::int64_t n) {
  play<Complex>(waveform, oscillation, first, y, n);
}
void play_real(Waveform waveform, const Oscillation& oscillation, std::int64_t first, void* y, std::int64_t n) {
  play<float>(waveform, oscillation, first, y, n);
}

}  // namespace iqd::signal_source::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::signal_source {

HWY_EXPORT(play_complex);
HWY_EXPORT(play_real);

void run_cpu(Waveform waveform, const Oscillation& oscillation, std::int64_t first, Element element, void* y,
             std::int64_t n) noexcept {
  if (element == Element::cf32)
    HWY_DYNAMIC_DISPATCH(play_complex)(waveform, oscillation, first, y, n);
  else
    HWY_DYNAMIC_DISPATCH(play_real)(waveform, oscillation, first, y, n);
}

}  // namespace iqd::signal_source
#endif
