// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the same bits as on the CPU.
#include "gpu/map_rows.cuh"
#include "pipeline/stages/math/signal_source/signal_source_cuda.hpp"

namespace iqd::signal_source {
namespace {

constexpr int kBatch = 4;  // of a thread, where rows are not aligned

/// The input is not loaded, since nothing comes of it.
template <Waveform waveform, class Y> class Run final : public StageRun {
 public:
  explicit Run(const Oscillation& oscillation) : tone_{oscillation} {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    gpu::put_map_rows<kBatch>(tone_,
                              {.positions = out.length,
                               .x = {in.data + (out.first - in.first) * static_cast<std::int64_t>(sizeof(Complex))},
                               .y = {out.data},
                               .x_pitch = {in.pitch},
                               .y_pitch = {out.pitch},
                               .first_at = out.first_at},
                              out.rows, gpu::stream_of(stream));
  }

 private:
  Tone<waveform, Y> tone_;
};

template <class Y> std::unique_ptr<StageRun> make_of(Waveform waveform, const Oscillation& oscillation) {
  switch (waveform) {
    case Waveform::complex:
      if constexpr (sizeof(Y) == sizeof(Complex)) return std::make_unique<Run<Waveform::complex, Y>>(oscillation);
      break;
    case Waveform::cosine: return std::make_unique<Run<Waveform::cosine, Y>>(oscillation);
    case Waveform::sine: return std::make_unique<Run<Waveform::sine, Y>>(oscillation);
    case Waveform::square: return std::make_unique<Run<Waveform::square, Y>>(oscillation);
    case Waveform::constant: return std::make_unique<Run<Waveform::constant, Y>>(oscillation);
  }
  return nullptr;
}

std::unique_ptr<StageRun> make(Waveform waveform, const Oscillation& oscillation, Element element) {
  return element == Element::cf32 ? make_of<Complex>(waveform, oscillation) : make_of<float>(waveform, oscillation);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::signal_source
