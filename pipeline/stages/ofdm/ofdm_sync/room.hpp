// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"
#include "pipeline/stages/complex.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/block_sums.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/tones.hpp"
#include "signal/filters/scratch.hpp"
#include "signal/formats/phase.hpp"

/// What the CPU half works with: its memory, samples as complex numbers, and tables of phasors.
namespace iqd::ofdm_sync {

inline constexpr std::int64_t kRun = 64;  // phasors that share a factor

/// A frame confirmed by the training symbols.
struct Found {
  std::int64_t place;
  std::int64_t start;
  double offset;  // carriers
  float fit;      // Q
  float metric;
};

/// Memory for one block.
struct Room {
  const Grid& g;
  std::int64_t most_new;
  Scratch scratch;
  std::int64_t pitch = ceil_div(g.past() + most_new + g.future(), g.step) + g.blocks + kSteps + kMargin;
  std::int64_t tile = std::max<std::int64_t>(4096, 4 * g.fft);
  float* re = scratch.take<float>(tile + g.lag);
  float* im = scratch.take<float>(tile + g.lag);
  float* sums = scratch.take<float>(kSums * g.antennas * pitch);  // [antenna][which, as in Sums][step]
  float* likeness = scratch.take<float>(pitch);
  // [antenna][which, as in Alikes][step]: zeros at both ends, where there are no halves
  std::int64_t alikes_pitch = g.rejects_tones() ? pitch + 2 * g.others * g.apart : 0;
  float* alikes = scratch.take<float>(kAlikes * g.antennas * alikes_pitch);
  cf32* points = scratch.take<cf32>(g.fft);
  cf32* spectra = scratch.take<cf32>(g.antennas * g.tx * g.fft);  // [antenna][training symbol][bin]
  float* profile = scratch.take<float>(g.fft);
  cf32* phasors = scratch.take<cf32>(std::max(g.fft, kRun) + kRun);
  Complex* fits = scratch.take<Complex>(g.antennas * g.hypotheses());  // [antenna][hypothesis]
  Found* found = scratch.take<Found>(pitch / (g.nearby + 1) + 1);
};

inline cf32 complex_of(cf32 x) noexcept {
  return x;
}
inline cf32 complex_of(sc16 x) noexcept {
  return {static_cast<float>(x.re) * (1.0f / 32768), static_cast<float>(x.im) * (1.0f / 32768)};
}
inline Complex parts(cf32 x) noexcept {
  return {x.real(), x.imag()};
}

/// exp(2 pi j m step): a factor for each run, and a table for the position within it; both rounded from double.
class Phasors {
 public:
  Phasors(Phase step, cf32* table) noexcept : step_(step), table_(table) {
    for (std::int64_t i = 0; i < kRun; ++i) table_[i] = cf32((step * i).phasor());
  }
  /// The phasors of the run that begins at m.
  void run(std::int64_t m, cf32* to) const noexcept {
    const cf32 factor((step_ * m).phasor());
    for (std::int64_t i = 0; i < kRun; ++i) to[i] = dsp::product(factor, table_[i]);
  }

 private:
  Phase step_;
  cf32* table_;
};

}  // namespace iqd::ofdm_sync
