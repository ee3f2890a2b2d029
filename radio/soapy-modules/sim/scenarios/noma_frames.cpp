// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/noma_frames.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <optional>

#include "radio/soapy-modules/sim/scenarios/format.hpp"
#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "radio/soapy-modules/sim/scenarios/tone.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

namespace iqd::sim {
namespace {

/// y += h x, by real and imaginary parts: the library's complex product checks for NaN.
void add_scaled(const cf32* from, cf32 h, std::span<cf32> to) noexcept {
  const auto* __restrict x = reinterpret_cast<const float*>(from);
  auto* __restrict y = reinterpret_cast<float*>(to.data());
  for (std::size_t i = 0; i < 2 * to.size(); i += 2) {
    y[i] += h.real() * x[i] - h.imag() * x[i + 1];
    y[i + 1] += h.real() * x[i + 1] + h.imag() * x[i];
  }
}

class Renderer {
 public:
  explicit Renderer(const NomaOptions& options)
      : options_(options),
        channel_(options.channel),
        maker_(options.format, options.modulation),
        payload_(options.format.frame_bits(options.modulation), std::nullopt, options.order),
        length_(options.format.air.frame),
        carrier_(carrier_of(options)),
        noise_(options.snr_db ? Noise::shared(options.channel.seed) : nullptr),
        bits_(static_cast<std::size_t>(payload_.bits())),
        scratch_(maker_.scratch_bytes()),
        sent_(static_cast<std::size_t>(options.format.users * length_)),
        turns_(static_cast<std::size_t>(length_)),
        heard_(static_cast<std::size_t>(length_)),
        rotated_(static_cast<std::size_t>(length_)) {
    double power = 0;
    for (std::int64_t u = 0; u < options.format.users; ++u) power += channel_.power(u);
    amplitude_ = amplitude_of(options.level_db) / std::sqrt(power);
    // A sample's noise spreads over all bins; only that of the carriers in use counts.
    const OfdmFormat& air = options.format.air;
    noise_amplitude_ = amplitude_ * amplitude_of(-options.snr_db.value_or(0)) *
                       std::sqrt(static_cast<double>(air.fft) / static_cast<double>(air.carriers));
  }

  /// Renders frame number `frame` into its place in the rows of all antennas.
  void render(std::int64_t frame, std::vector<std::vector<std::int16_t>>& rows) {
    send(frame);
    carrier_.write(frame * length_, amplitude_, 0, turns_);
    for (std::size_t m = 0; m < rows.size(); ++m) {
      std::fill(heard_.begin(), heard_.end(), cf32{});
      for (std::int64_t u = 0; u < options_.format.users; ++u)
        add_scaled(sent_.data() + u * length_,
                   cf32(channel_.gain(static_cast<std::int64_t>(m), u, seconds_of(options_, frame))), heard_);
      rotate_by(heard_.data(), turns_.data(), rotated_);
      if (noise_) noise_->add(m, frame * length_, static_cast<float>(noise_amplitude_), rotated_);
      to_cs16(rotated_, rows[m].data() + 2 * frame * length_);
    }
  }

 private:
  /// Rounds the offset to whole turns per period.
  static Tone carrier_of(const NomaOptions& options) {
    const auto period = static_cast<double>(options.frames * options.format.air.frame);
    return Tone(std::round(options.offset_hz / options.rate_hz * period) / period);
  }

  void send(std::int64_t frame) {
    payload_.payload(frame, bits_);
    const auto each = static_cast<std::size_t>(options_.format.user_bits(options_.modulation));
    for (std::int64_t u = 0; u < options_.format.users; ++u)
      maker_.make(u, 1, std::span(bits_).subspan(static_cast<std::size_t>(u) * each, each), sent_.data() + u * length_,
                  scratch_.data());
  }

  const NomaOptions& options_;
  ArrayChannel channel_;
  NomaFrameMaker maker_;
  OfdmFrameBits payload_;
  std::int64_t length_;  // of a frame
  Tone carrier_;
  std::shared_ptr<const Noise> noise_;
  double amplitude_ = 1;
  double noise_amplitude_ = 0;
  std::vector<std::uint8_t> bits_;
  std::vector<std::byte> scratch_;
  std::vector<cf32> sent_;  // [user][sample]
  std::vector<cf32> turns_;
  std::vector<cf32> heard_;
  std::vector<cf32> rotated_;  // what is heard, with the carrier
};

}  // namespace

double seconds_of(const NomaOptions& options, std::int64_t frame) {
  const std::int64_t frames = std::min(frame, options.frames - frame);
  return static_cast<double>(frames * options.format.air.frame) / options.rate_hz;
}

std::vector<std::vector<std::int16_t>> render_noma_frames(const NomaOptions& options) {
  const std::int64_t samples = options.frames * options.format.air.frame;
  std::vector<std::vector<std::int16_t>> rows(static_cast<std::size_t>(options.channel.antennas));
  for (auto& row : rows) row.resize(static_cast<std::size_t>(2 * samples));
  Renderer renderer(options);
  for (std::int64_t frame = 0; frame < options.frames; ++frame) renderer.render(frame, rows);
  return rows;
}

}  // namespace iqd::sim
