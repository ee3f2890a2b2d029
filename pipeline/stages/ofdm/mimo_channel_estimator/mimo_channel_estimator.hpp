// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/formats/ofdm_format.hpp"

/// Estimates channel and noise of OFDM frames from their training and synchronisation symbols; removes the common phase
/// of each data symbol, which pilots show; scales all antennas to the same noise. README.md has the formulas.
///
/// carriers  [frame][symbol][carrier][rx]  cf32, from ofdm_demod
/// y         [frame][carrier][symbol][rx]  cf32, data carriers and data symbols only
/// h         [frame][carrier][rx][tx]      cf32, of the data carriers: y = h s + noise
/// noise     [frame]                       f32, variance of the complex noise of every antenna in y
/// phase     [frame][symbol]               f32, radians removed from the data symbol
///
/// A NaN or an infinity in a frame makes all results of that frame NaN. Zeros give zeros. Noise is at least 1e-10 of
/// the signal, so it is 0 only where all is 0. Keeps nothing between calls.
namespace iqd::mimo_channel_estimator {

struct Config {
  OfdmFormat format;
  std::int64_t delay_spread = 0;
  double snr = 40;
  bool track_phase = true;

  void fields(FieldVisitor& visitor);
};

inline constexpr int kMostAntennas = 8;
/// Carriers used for the estimate of one. With a profile as long as the prefix of 5 or 20 MHz, 16 leave -7.6 dB of the
/// least squares' error, 24 -8.0, 32 -8.9, 48 -9.4 (at snr 40, a channel within the profile adds less than -50 dB).
inline constexpr int kTaps = 32;
/// Noise relative to the signal: the limit of float arithmetic.
inline constexpr double kLeastNoise = 1e-10;

/// All extents, for host and device.
struct Extents {
  std::int32_t rx = 0;
  std::int32_t tx = 0;
  std::int32_t symbols = 0;
  std::int32_t carriers = 0;
  std::int32_t pilots = 0;
  bool track_phase = true;

  IQD_HOST_DEVICE int data_symbols() const noexcept { return symbols - 1 - tx; }
  IQD_HOST_DEVICE int data_carriers() const noexcept { return carriers - pilots; }
  IQD_HOST_DEVICE int pairs() const noexcept { return rx * tx; }
  IQD_HOST_DEVICE int row() const noexcept { return carriers * rx; }  // elements of a symbol
};

/// What is known before frames arrive.
struct Design {
  Extents extents;
  std::vector<cf32> known;          // [carrier]: training / tx, without the ramp
  std::vector<cf32> ramp;           // [carrier]: effect of the middle delay on the channel
  std::vector<cf32> uncover;        // [tx][training]: conj(cover)
  std::vector<float> taps;          // [carrier][kTaps]
  std::vector<std::int32_t> first;  // [carrier]: the carrier of its first tap
  std::vector<std::int32_t> odd;    // empty carriers in the synchronisation symbol
  std::vector<std::int32_t> pilot;  // [pilot]: its carrier
  std::vector<std::int32_t> data;   // [data carrier]: its carrier
  std::vector<std::int32_t> place;  // [carrier]: index of its data carrier, or -1 - that of its pilot
  std::vector<float> pilot_signs;   // [data symbol][pilot][tx]
  std::vector<cf32> pilot_weights;  // [data symbol][pilot][training]: expected pilot, from the training symbols
};
Design make_design(const Config& config, std::int64_t rx);

/// The outputs of a block, frame after frame. `phase` may be null.
struct Estimates {
  cf32* y;
  cf32* h;
  float* noise;
  float* phase;
};

std::size_t scratch_bytes(const Extents& extents);
void run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, const Estimates& out,
             std::byte* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Design& design, std::int64_t most_frames);

}  // namespace iqd::mimo_channel_estimator
