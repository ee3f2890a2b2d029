// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "pipeline/stage/stage.hpp"

/// What modulators share. They generate frames from a stream of bits, u8 [n], or with a payload of their own for
/// samples, cf32 [n]: then only the positions count.
namespace iqd::dsp {

/// Reports an input that is not [n] to the section.
inline void check_bits_or_samples(const ShapeContext& context) {
  const PortShape& in = context.in[0];
  if (in.axis != Axis::stream || !in.item.empty())
    context.section.problem("", fmt::format("takes single bits or samples, [n]; its input is {}", in.text()));
}

/// The output for frames of `frame` samples, made from `bits` input bits each, for `rows` channels. `payload_problem`
/// is reported if the key `payload` is set although the input is bits.
inline void shape_frames(ShapeContext& context, std::int64_t rows, std::int64_t bits, std::int64_t frame,
                         const char* payload_problem) {
  const PortShape& in = context.in[0];
  PortShape& out = context.out[0];
  out.leave_air();
  out.rows.clear();
  if (rows > 1) out.rows.push_back({"channel", rows});
  if (in.element != Element::u8) return;
  context.footprint[0] = {.granule = bits, .yield = frame, .whole = true};
  out.element = Element::cf32;
  out.rate_hz = in.rate_hz * static_cast<double>(frame) / static_cast<double>(bits);
  if (context.section.has("payload")) context.section.problem("payload", payload_problem);
}

/// The run on the CPU, with `Frames::modulate` for bits and `Frames::make` for samples.
template <class Frames> std::unique_ptr<StageRun> frames_cpu_run(std::shared_ptr<const Frames> frames, bool of_bits) {
  return cpu_run([frames = std::move(frames), of_bits](const StageIo& io) noexcept {
    const PortIo &in = io.in[0], &out = io.out[0];
    if (!of_bits) return frames->make(out.as<cf32>(), out.first, io.scratch);
    frames->modulate({in.row<const std::uint8_t>(), static_cast<std::size_t>(in.length)}, in.first, out.as<cf32>(),
                     out.first, io.scratch);
  });
}

}  // namespace iqd::dsp
