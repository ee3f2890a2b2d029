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

/// Pilots and data of NOMA frames, extracted from the carriers where docs/noma-frame.md puts them. The phase ramp of a
/// window that begins `early` samples early is removed, and timing and frequency are corrected.
///
/// carriers  [frame][symbol][carrier][rx]  cf32, of ofdm_demod
/// train_rx  [frame][t][antenna]           cf32, the pilots as received
/// train_tx  [frame][t][user]              cf32, the pilots as sent
/// rx        [frame][t][antenna]           cf32, the data as received
/// delay     [frame]                       f32, samples by which the frame came later than its timing said
/// drift     [frame]                       f32, phase drift in radians from one symbol to the next
///
///   y(s, c, r) = x(s, c, r) exp(j (2 pi f(c) (early + delay) / fft - drift s - phase)),  s from the training symbol on
///   delay: -angle of x*(c, r) x(c + carriers/2, r) in the training symbol, which all users send alike, over
///          2 pi (carriers/2 + 1) / fft, minus `early`
///   drift: angle of h*(s, u, r) h(s+1, u, r), least squares channels of the pilot symbols
///   phase: of the training symbol, over all c and r: gives frames the same phase, whatever the oscillators do
///
/// Angles are those of sums over r. Each antenna is weighted by its |c_r|^2, with c_r the mean of the products over the
/// mean of the energies. An antenna without energy, or with a value there that is not finite, is excluded. Without any
/// antenna, or switched off, delay and drift are 0. A NaN or an infinity stays in its place. Keeps nothing between
/// calls.
namespace iqd::noma_slots {

struct Config {
  NomaFormat format;
  bool timing = true;
  bool drift = true;

  void fields(FieldVisitor& visitor);
};

Layout layout_of(const Config& config, std::int64_t antennas) noexcept;

/// What is known of frames in advance.
struct Known {
  explicit Known(const NomaFormat& format);
  std::vector<cf32> signs;     // [carrier], of the training symbol
  std::vector<cf32> points;    // [t][user]: pilots
  std::vector<cf32> channels;  // [pilot symbol][user][carrier]: weights that give least squares channels
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
