// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/alphabets.hpp"
#include "pipeline/stages/ofdm/antenna_noise.hpp"
#include "signal/formats/ofdm_format.hpp"
#include "signal/formats/soft_qam.hpp"

/// Estimates channel and noise of OFDM frames from their training and synchronisation symbols; removes the common phase
/// of each symbol behind them, which pilots show; scales all antennas to the same noise. README.md has the formulas.
///
/// carriers    [frame][symbol][carrier][rx]      cf32, from ofdm_demod; with `tail` those of the next frame's beginning
/// y           [frame][carrier][symbol][rx]      cf32, data carriers and data symbols only
/// h           [frame][carrier][rx][tx]          cf32, of the data carriers: y = h s + noise
/// noise       [frame]                           f32, variance of the complex noise of every antenna in y
/// phase       [frame][symbol]                   f32, radians removed from the data symbol
/// level       [frame]                           f32, mean variance of the antennas' noise in `carriers`
/// covariance  [frame][group][rx][other]         cf32, of the noise in `carriers`, by groups of carriers
///
/// With `track: frame` h is [frame][carrier][symbol][rx][tx] and noise [frame][carrier][symbol], and there is
///
/// doppler     [frame]                           f32, share of the channel's amplitude that moves
///
/// With `whiten` there is
///
/// interference  [frame]  f32, power of an antenna's noise over what the other antennas do not show of it, mean of all
///
/// With `track: frame` it also takes
///
/// soft        [frame][carrier][symbol][tx][bit] f32, LLRs of what the data carriers sent; left out: nothing is known
/// modulation  [frame][tx]                       u8, bits of each antenna's points, with `modulation: port`
///
/// A NaN or an infinity in a frame makes all results of that frame NaN. Zeros give zeros. Noise is at least 1e-10 of
/// the signal, so it is 0 only where all is 0. Keeps nothing between calls.
namespace iqd::mimo_channel_estimator {

/// Whether the channel stands still during a frame, or is estimated at all its times.
enum class Track : std::uint8_t { hold, frame };
/// What is made white: nothing, the noise of the whole band, that of each group of carriers as well.
enum class Whiten : std::uint8_t { off, band, groups };
std::span<const std::string_view> enum_names(Track);
std::span<const std::string_view> enum_names(Whiten);

struct Config {
  OfdmFormat format;
  std::int64_t delay_spread = 0;
  double snr = 40;
  bool track_phase = true;
  Track track = Track::hold;
  double doppler = 700;
  std::int64_t time_functions = 5;
  double step = 1;
  double span = 32;
  std::int64_t max_taps = 64;
  std::int64_t em = 2;
  Whiten whiten = Whiten::off;
  std::int64_t group = 12;
  std::vector<std::string> modulation{};

  void fields(FieldVisitor& visitor);
};

inline constexpr int kMostAntennas = 8;
/// Carriers used for the estimate of one. With a profile as long as the prefix of 5 or 20 MHz, 16 leave -7.6 dB of the
/// least squares' error, 24 -8.0, 32 -8.9, 48 -9.4 (at snr 40, a channel within the profile adds less than -50 dB).
inline constexpr int kTaps = 32;
using ofdm::kLeastNoise;

/// All extents, for host and device.
struct Extents {
  std::int32_t rx = 0;
  std::int32_t tx = 0;
  std::int32_t symbols = 0;
  std::int32_t carriers = 0;
  std::int32_t pilots = 0;
  std::int32_t group = 12;  // carriers of a group
  std::int32_t midambles = 0;
  bool tail = false;
  bool track_phase = true;

  IQD_HOST_DEVICE int groups() const noexcept { return (carriers + group - 1) / group; }
  /// Symbols behind the training, data and midambles; by their numbers known values, phases and sums are stored.
  IQD_HOST_DEVICE int behind() const noexcept { return symbols - 1 - tx; }
  IQD_HOST_DEVICE Midambles comb() const noexcept { return {behind(), midambles}; }
  IQD_HOST_DEVICE int data_symbols() const noexcept { return behind() - midambles; }
  /// Symbols of a frame in the input, with those of the next frame.
  IQD_HOST_DEVICE int all_symbols() const noexcept { return symbols + (tail ? 1 + tx : 0); }
  /// Training symbols, with those of the next frame, and the symbol of each.
  IQD_HOST_DEVICE int trainings() const noexcept { return tail ? 2 * tx : tx; }
  IQD_HOST_DEVICE int training(int t) const noexcept { return t < tx ? 1 + t : 1 + t + symbols - tx; }
  /// Times at which the channel is estimated: those of symbols 1 … symbols - 1, then of the next frame's training.
  IQD_HOST_DEVICE int times() const noexcept { return symbols - 1 + (tail ? tx : 0); }
  IQD_HOST_DEVICE int training_time(int t) const noexcept { return t < tx ? t : t + symbols - 1 - tx; }
  IQD_HOST_DEVICE int data_carriers() const noexcept { return carriers - pilots; }
  IQD_HOST_DEVICE int pairs() const noexcept { return rx * tx; }
  IQD_HOST_DEVICE int row() const noexcept { return carriers * rx; }  // elements of a symbol
};

/// What the joint estimate over a frame's times needs. `functions` are 0 if the channel is held.
struct TrackDesign {
  std::int32_t functions = 0;
  std::int32_t delays = 0;
  std::int32_t delay_pitch = 0;  // delays, rounded up to whole vectors
  std::int32_t most_taps = 0;
  std::int32_t em = 0;
  float span = 0;    // a kept delay has at least this share of the largest power
  float within = 0;  // the share of a training symbol's energy at the grid's delays is this times their sum

  std::vector<float> phi;                 // [time][function]
  std::vector<float> data_phi;            // [data symbol][function]
  std::vector<float> weights;             // [function]: the channel's power, before a frame is seen
  std::vector<float> turn_re, turn_im;    // [carrier][delay_pitch]: exp(-2 pi j f tau / fft)
  std::vector<float> pilot_re, pilot_im;  // [pilot][delay_pitch]: the same
  std::vector<float> lag_re, lag_im;      // see fill_lags; all carriers count alike
  std::vector<float> tail_re, tail_im;    // the same with the training of the next frame
  std::vector<double> band_re, band_im;   // [delay]: sum over the carriers of turn

  /// Elements of the lag tables.
  std::int64_t lag_count(const Extents& e) const noexcept {
    return std::int64_t{functions} * (functions + 1) / 2 * e.tx * e.tx * (2 * delays - 1);
  }
};

/// What is known before frames arrive.
struct Design {
  Extents extents;
  Track track = Track::hold;
  Whiten whiten = Whiten::off;
  TrackDesign joint;                // with Track::frame
  std::vector<float> training;      // [carrier]
  std::vector<cf32> cover;          // [tx][training]
  std::vector<cf32> known;          // [carrier]: training / tx, without the ramp
  std::vector<cf32> ramp;           // [carrier]: effect of the middle delay on the channel
  std::vector<cf32> uncover;        // [tx][training]: conj(cover)
  std::vector<float> taps;          // [carrier][kTaps]
  std::int32_t soft_bits = 0;       // LLRs of a symbol; 0: there are none
  Alphabets sent{};                 // of the antennas, if there are LLRs
  bool by_port = false;             // or the input `modulation` has them
  float smoothed_noise = 0;         // variance of a smoothed channel's error, of all antennas, over the noise
  std::vector<std::int32_t> first;  // [carrier]: the carrier of its first tap
  std::vector<std::int32_t> odd;    // empty carriers in the synchronisation symbol
  std::vector<std::int32_t> pilot;  // [pilot]: its carrier
  std::vector<std::int32_t> data;   // [data carrier]: its carrier
  std::vector<std::int32_t> place;  // [carrier]: index of its data carrier, or -1 - that of its pilot
  std::vector<float> pilot_signs;   // [symbol behind][pilot][tx]: in a midamble, what antennas send on these carriers
  std::vector<cf32> pilot_weights;  // [symbol behind][pilot][training]: expected pilot, from the training symbols
  std::vector<float> combs;         // [midamble][carrier]: what antenna carrier mod tx sends

  /// What antenna a sends on carrier c in a midamble.
  float comb(int midamble, int c, int a) const noexcept {
    if (c % extents.tx != a) return 0;
    return combs[static_cast<std::size_t>(midamble) * static_cast<std::size_t>(extents.carriers) +
                 static_cast<std::size_t>(c)];
  }
  bool measures_noise_alone() const noexcept { return track == Track::hold && whiten == Whiten::off; }
};
/// What an antenna sent, from the LLRs of its point. Nothing is known of one that is silent but that.
IQD_HOST_DEVICE inline qam::SoftSymbol soft_point(const Alphabets& sent, int antenna, const float* llr) noexcept {
  const int bits = sent.bits(antenna);
  return bits == 0 ? qam::SoftSymbol{.re = 0, .im = 0, .variance = 0} : qam::soft_symbol(bits, llr);
}
/// What a decoder knows of a frame's data, or of the data of a block, frame after frame.
struct Decoded {
  const float* llr = nullptr;          // null: nothing
  const std::uint8_t* sent = nullptr;  // bits of each antenna's points; null: Design::sent has them

  /// Of frame f. `llrs`: of a frame.
  Decoded of_frame(std::int64_t f, std::int64_t llrs, std::int64_t tx) const noexcept {
    return {llr ? llr + f * llrs : nullptr, sent ? sent + f * tx : nullptr};
  }
};
/// Elements of a frame.
struct Sizes {
  std::int64_t y, h, noise, covariance, soft;
};
inline Sizes sizes_of(const Design& design) noexcept {
  const Extents& e = design.extents;
  const std::int64_t vectors = std::int64_t{e.data_carriers()} * e.data_symbols();
  const bool moves = design.track == Track::frame;
  return {.y = vectors * e.rx,
          .h = (moves ? vectors : e.data_carriers()) * e.pairs(),
          .noise = moves ? vectors : 1,
          .covariance = std::int64_t{e.groups()} * e.rx * e.rx,
          .soft = vectors * e.tx * design.soft_bits};
}
/// `symbol_seconds`: from the middle of a symbol to that of the next.
Design make_design(const Config& config, std::int64_t rx, double symbol_seconds);

/// The outputs of a frame, or of a block, frame after frame. All from `phase` on but `level` may be null.
struct Estimates {
  cf32* y;
  cf32* h;
  float* noise;
  float* phase;
  float* level;
  cf32* covariance;
  float* doppler;
  float* interference;
};

std::size_t scratch_bytes(const Design& design);
void run_cpu(const Design& design, const cf32* carriers, const Decoded& data, std::int64_t frames, const Estimates& out,
             std::byte* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Design& design, std::int64_t most_frames);

}  // namespace iqd::mimo_channel_estimator
