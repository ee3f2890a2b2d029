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
#include "signal/filters/fractional_delay.hpp"
#include "signal/formats/noma_frame_bits.hpp"

namespace iqd::sim {
namespace {

constexpr std::int64_t kDelayTaps = 48;
constexpr std::int64_t kGainStep = 512;  // samples between two gains of a channel that fades
constexpr std::uint64_t kEchoSeed = 0x9e3779b97f4a7c15;

/// y += h x, by real and imaginary parts: the library's complex product checks for NaN.
void add_scaled(const cf32* from, cf32 h, std::span<cf32> to) noexcept {
  const auto* __restrict x = reinterpret_cast<const float*>(from);
  auto* __restrict y = reinterpret_cast<float*>(to.data());
  for (std::size_t i = 0; i < 2 * to.size(); i += 2) {
    y[i] += h.real() * x[i] - h.imag() * x[i + 1];
    y[i + 1] += h.real() * x[i + 1] + h.imag() * x[i];
  }
}

/// The same with a gain that goes from `h` at the first sample to `end` behind the last.
void add_fading(const cf32* x, cf32 h, cf32 end, std::span<cf32> y) noexcept {
  const cf32 step = (end - h) / static_cast<float>(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) add_scaled(x + i, h + static_cast<float>(i) * step, y.subspan(i, 1));
}

/// A user's way to the antennas.
struct Path {
  std::int64_t user;
  const ArrayChannel* channel;
  double amplitude;
  double delay;              // samples
  std::vector<cf32> signal;  // [sample] of a frame, as it arrives; empty if it is what was sent
};

class Renderer {
 public:
  explicit Renderer(const NomaOptions& options)
      : options_(options),
        channel_(options.channel),
        echo_channel_(echo_options(options.channel)),
        maker_(options.format, options.modulation),
        payload_(options.format, options.modulation, options.code, options.order),
        length_(options.format.air.frame),
        carrier_(carrier_of(options, options.offset_hz)),
        noise_(options.snr_db ? Noise::shared(options.channel.seed) : nullptr),
        information_(static_cast<std::size_t>(payload_.information())),
        bits_(static_cast<std::size_t>(payload_.bits())),
        scratch_(std::max(maker_.scratch_bytes(), payload_.scratch_bytes())),
        sent_(static_cast<std::size_t>(options.format.users * 3 * length_)),
        turns_(static_cast<std::size_t>(length_)),
        heard_(static_cast<std::size_t>(length_)),
        rotated_(static_cast<std::size_t>(length_)) {
    double power = 0;
    for (std::int64_t u = 0; u < options.format.users; ++u) {
      const double echo = of(options.echoes_db, u) ? std::pow(10.0, *of(options.echoes_db, u) / 10) : 0;
      power += channel_.power(u) * (1 + echo);
      const double delay = of(options.delays, u).value_or(0);
      add_path(u, channel_, 1, delay);
      if (echo > 0) add_path(u, echo_channel_, std::sqrt(echo), delay + options.echo_delay);
    }
    amplitude_ = amplitude_of(options.level_db) / std::sqrt(power);
    // A sample's noise spreads over all bins; only that of the carriers in use counts.
    const OfdmFormat& air = options.format.air;
    noise_amplitude_ = amplitude_ * amplitude_of(-options.snr_db.value_or(0)) *
                       std::sqrt(static_cast<double>(air.fft) / static_cast<double>(air.carriers));
    send(options.frames - 1, 1);
    send(0, 2);
  }

  /// Renders frame number `frame` into its place in the rows of all antennas; frames in order.
  void render(std::int64_t frame, std::vector<std::vector<std::int16_t>>& rows) {
    for (std::int64_t u = 0; u < options_.format.users; ++u) {
      cf32* const own = sent_.data() + u * 3 * length_;
      std::copy_n(own + length_, 2 * length_, own);
    }
    send((frame + 1) % options_.frames, 2);
    for (Path& path : paths_) arrive(frame, path);
    carrier_.write(frame * length_, amplitude_, 0, turns_);
    for (std::size_t m = 0; m < rows.size(); ++m) {
      std::fill(heard_.begin(), heard_.end(), cf32{});
      for (const Path& path : paths_) hear(frame, path, static_cast<std::int64_t>(m));
      rotate_by(heard_.data(), turns_.data(), rotated_);
      if (noise_) noise_->add(m, frame * length_, static_cast<float>(noise_amplitude_), rotated_);
      to_cs16(rotated_, rows[m].data() + 2 * frame * length_);
    }
  }

 private:
  static std::optional<double> of(const std::vector<double>& by_user, std::int64_t user) {
    if (by_user.empty()) return {};
    return by_user[static_cast<std::size_t>(user)];
  }
  static ArrayChannel::Options echo_options(ArrayChannel::Options options) {
    options.seed ^= kEchoSeed;
    return options;
  }
  /// Rounds the offset to whole turns per period.
  static Tone carrier_of(const NomaOptions& options, double offset_hz) {
    const auto period = static_cast<double>(options.frames * options.format.air.frame);
    return Tone(std::round(offset_hz / options.rate_hz * period) / period);
  }

  void add_path(std::int64_t user, const ArrayChannel& channel, double amplitude, double delay) {
    const bool moved = delay != 0 || !options_.offsets_hz.empty();
    paths_.push_back(
        {user, &channel, amplitude, delay, std::vector<cf32>(static_cast<std::size_t>(moved ? length_ : 0))});
  }

  /// Frame number `frame` of all users, in place 0, 1 or 2 of three frames in a row.
  void send(std::int64_t frame, std::int64_t place) {
    payload_.payload(frame, information_);
    payload_.encode(0, options_.format.users, information_, bits_, scratch_.data());
    for (std::int64_t u = 0; u < options_.format.users; ++u)
      maker_.make(u, 1, std::span(bits_).subspan(static_cast<std::size_t>(payload_.first_bit(u))),
                  sent_.data() + (3 * u + place) * length_, scratch_.data());
  }

  /// The user's frame in the middle, delayed and turned.
  void arrive(std::int64_t frame, Path& path) {
    if (path.signal.empty()) return;
    const auto whole = static_cast<std::int64_t>(std::ceil(path.delay));
    const cf32* const from = sent_.data() + (3 * path.user + 1) * length_ - whole;
    const double fraction = static_cast<double>(whole) - path.delay;
    std::ranges::fill(path.signal, cf32{});
    if (fraction == 0) {
      std::copy_n(from, length_, path.signal.data());
    } else {
      const std::vector<float> taps = fractional_delay(fraction, kDelayTaps);
      for (std::int64_t q = 0; q < kDelayTaps; ++q)
        add_scaled(from + kDelayTaps / 2 - q, taps[static_cast<std::size_t>(q)], path.signal);
    }
    if (const auto offset = of(options_.offsets_hz, path.user)) {
      std::vector<cf32> turned(path.signal.size()), turns(path.signal.size());
      carrier_of(options_, *offset).write(frame * length_, 1, 0, turns);
      rotate_by(path.signal.data(), turns.data(), turned);
      path.signal = std::move(turned);
    }
  }

  cf32 gain(const Path& path, std::int64_t antenna, double seconds) const {
    return cf32(path.amplitude * path.channel->gain(antenna, path.user, seconds));
  }
  /// What an antenna receives of a path, added to what it hears.
  void hear(std::int64_t frame, const Path& path, std::int64_t antenna) {
    const cf32* const signal = path.signal.empty() ? sent_.data() + (3 * path.user + 1) * length_ : path.signal.data();
    if (path.channel->doppler_hz(path.user) == 0)
      return add_scaled(signal, gain(path, antenna, seconds_of(options_, frame)), heard_);
    const std::int64_t all = options_.frames * length_;
    const auto gain_at = [&](std::int64_t n) {
      return gain(path, antenna, static_cast<double>(std::min(n, all - n)) / options_.rate_hz);
    };
    cf32 begin = gain_at(frame * length_);
    for (std::int64_t n = 0; n < length_; n += kGainStep) {
      const std::int64_t count = std::min(kGainStep, length_ - n);
      const cf32 end = gain_at(frame * length_ + n + count);
      add_fading(signal + n, begin, end,
                 std::span(heard_).subspan(static_cast<std::size_t>(n), static_cast<std::size_t>(count)));
      begin = end;
    }
  }

  const NomaOptions& options_;
  ArrayChannel channel_;
  ArrayChannel echo_channel_;
  NomaFrameMaker maker_;
  NomaFrameBits payload_;
  std::int64_t length_;  // of a frame
  Tone carrier_;
  std::shared_ptr<const Noise> noise_;
  double amplitude_ = 1;
  double noise_amplitude_ = 0;
  std::vector<Path> paths_;
  std::vector<std::uint8_t> information_;
  std::vector<std::uint8_t> bits_;
  std::vector<std::byte> scratch_;
  std::vector<cf32> sent_;  // [user][sample]: the frame before, the frame, the one behind it
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
