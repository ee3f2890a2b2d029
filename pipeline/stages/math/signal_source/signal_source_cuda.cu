// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the same bits as on the CPU.
#include "pipeline/stages/map_run.cuh"
#include "pipeline/stages/math/signal_source/signal_source.hpp"

namespace iqd::signal_source {
namespace {

template <Waveform waveform, class Y> std::unique_ptr<StageRun> run_of(const Oscillation& oscillation) {
  using F = Tone<waveform, Y>;
  return std::make_unique<dsp::MapRun<F, dsp::Index::in_stream>>(F{oscillation});
}

template <class Y> std::unique_ptr<StageRun> make_of(Waveform waveform, const Oscillation& oscillation) {
  switch (waveform) {
    case Waveform::complex:
      if constexpr (sizeof(Y) == sizeof(Complex)) return run_of<Waveform::complex, Y>(oscillation);
      break;
    case Waveform::cosine: return run_of<Waveform::cosine, Y>(oscillation);
    case Waveform::sine: return run_of<Waveform::sine, Y>(oscillation);
    case Waveform::square: return run_of<Waveform::square, Y>(oscillation);
    case Waveform::constant: return run_of<Waveform::constant, Y>(oscillation);
  }
  return nullptr;
}

std::unique_ptr<StageRun> make(Waveform waveform, const Oscillation& oscillation, Element element) {
  return element == Element::cf32 ? make_of<Complex>(waveform, oscillation) : make_of<float>(waveform, oscillation);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::signal_source
