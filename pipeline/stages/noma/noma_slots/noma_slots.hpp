// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/noma/noma_slots/layout.hpp"
#include "signal/formats/noma_format.hpp"

/// Pilots and data of NOMA frames, out of their carriers: where docs/noma-frame.md puts them, without the ramp of phase
/// that a window leaves which begins `early` samples early, and with timing and frequency set right.
///
/// carriers  [frame][symbol][carrier][rx]  cf32, of ofdm_demod
/// train_rx  [frame][t][antenna]           cf32, the pilots as received
/// train_tx  [frame][t][user]              cf32, the pilots as sent
/// rx        [frame][t][antenna]           cf32, the data as received
/// delay     [frame]                       f32, samples that the frame came later than its timing said
/// drift     [frame]                       f32, radians that it turned on by from one symbol to the next
///
///   y(s, c, r) = x(s, c, r) exp(j (2 pi f(c) (early + delay) / fft - drift s - phase)),  s from the training symbol on
///   delay: -angle of x*(c, r) x(c + carriers/2, r) in the training symbol, which all users send alike, over
///          2 pi (carriers/2 + 1) / fft, `early` taken away
///   drift: angle of h*(s, u, r) h(s+1, u, r), least squares channels of the symbols of pilots
///   phase: of the training symbol, over all c and r: frames have one phase then, whatever oscillators do
///
/// Angles are those of sums over r, each antenna by its |c_r|^2, c_r the mean of the products over that of the
/// energies. An antenna without energy, or with something not finite there, has no part in it; without any, or switched
/// off, delay and drift are 0. A NaN or an infinity stays where it is. Keeps nothing between calls.
namespace iqd::noma_slots {

struct Config {
  NomaFormat format;
  bool timing = true;
  bool drift = true;

  void fields(FieldVisitor& visitor);
};

Layout layout_of(const Config& config, std::int64_t antennas) noexcept;

/// What is known of frames beforehand.
struct Known {
  explicit Known(const NomaFormat& format);
  std::vector<cf32> signs;     // [carrier], of the training symbol
  std::vector<cf32> points;    // [t][user]: pilots
  std::vector<cf32> channels;  // [symbol of pilots][user][carrier]: what makes least squares channels of carriers
};

std::size_t scratch_bytes(const Layout& layout) noexcept;

void run_cpu(const Layout& layout, const Known& known, const Complex* carriers, std::int64_t frames, const Output& out,
             std::byte* scratch) noexcept;

/// The stage's outputs, in order.
enum Port : std::uint8_t { kTrainRx, kTrainTx, kRx, kDelay, kDrift, kPorts };

inline Output output_of(const StageIo& io) noexcept {
  return {.train_rx = reinterpret_cast<Complex*>(io.out[kTrainRx].data),
          .train_tx = reinterpret_cast<Complex*>(io.out[kTrainTx].data),
          .rx = reinterpret_cast<Complex*>(io.out[kRx].data),
          .delay = reinterpret_cast<float*>(io.out[kDelay].data),
          .drift = reinterpret_cast<float*>(io.out[kDrift].data)};
}

/// The CUDA half; `most`: frames in a block.
using CudaHalf = std::unique_ptr<StageRun>(const Layout& layout, const Known& known, std::int64_t most);

}  // namespace iqd::noma_slots
