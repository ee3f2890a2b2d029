// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>

#include "pipeline/stages/ofdm/mimo_channel_estimator/held_channel.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/whitened_channel.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

/// What estimates a frame, as the keys want it.
struct Way {
  Way(const Design& design, Scratch& scratch) {
    if (design.measures_noise_alone())
      held.emplace(design, scratch);
    else
      whitened.emplace(design, scratch);
  }
  void run(const cf32* frame, const Decoded& data, const Estimates& out) noexcept {
    if (held)
      held->run(frame, out);
    else
      whitened->run(frame, data, out);
  }
  std::optional<HeldChannel> held;
  std::optional<WhitenedChannel> whitened;
};

/// The outputs of frame f.
Estimates frame_of(const Design& design, const Estimates& out, std::int64_t f) {
  const Extents& e = design.extents;
  const Sizes size = sizes_of(design);
  return {.y = out.y + f * size.y,
          .h = out.h + f * size.h,
          .noise = out.noise + f * size.noise,
          .phase = out.phase ? out.phase + f * e.data_symbols() : nullptr,
          .level = out.level + f,
          .covariance = out.covariance ? out.covariance + f * size.covariance : nullptr,
          .doppler = out.doppler ? out.doppler + f : nullptr,
          .interference = out.interference ? out.interference + f : nullptr};
}

void spoil(const Design& design, const Estimates& out) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Sizes size = sizes_of(design);
  std::fill_n(out.y, size.y, cf32(kNan, kNan));
  std::fill_n(out.h, size.h, cf32(kNan, kNan));
  std::fill_n(out.noise, size.noise, kNan);
  if (out.phase) std::fill_n(out.phase, design.extents.data_symbols(), kNan);
  *out.level = kNan;
  if (out.covariance) std::fill_n(out.covariance, size.covariance, cf32(kNan, kNan));
  if (out.doppler) *out.doppler = kNan;
  if (out.interference) *out.interference = kNan;
}

}  // namespace

std::size_t scratch_bytes(const Design& design) {
  Scratch count(nullptr);
  Way(design, count);
  return count.bytes();
}

void run_cpu(const Design& design, const cf32* carriers, const Decoded& data, std::int64_t frames, const Estimates& out,
             std::byte* memory) noexcept {
  Scratch scratch(memory);
  const std::int64_t own_symbols = std::int64_t{design.extents.symbols} * design.extents.row();
  const std::int64_t frame = std::int64_t{design.extents.all_symbols()} * design.extents.row();
  Way way(design, scratch);
  for (std::int64_t f = 0; f < frames; ++f, carriers += frame) {
    const Estimates own = frame_of(design, out, f);
    if (is_finite(carriers, own_symbols))
      way.run(carriers, data.of_frame(f, sizes_of(design).soft, design.extents.tx), own);
    else
      spoil(design, own);
  }
}

}  // namespace iqd::mimo_channel_estimator
