// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/integer.hpp"
#include "base/random.hpp"
#include "radio/soapy-modules/sim/scenarios/code_arguments.hpp"
#include "radio/soapy-modules/sim/scenarios/mimo_frames.hpp"
#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/other_clock.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "radio/soapy-modules/sim/scenarios/tone.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd::sim {
namespace {

constexpr std::int64_t kPiece = 4096;
constexpr std::int64_t kMostTaps = 512;
constexpr std::int64_t kMostTones = 16;
constexpr double kToneDb = 20;        // over a carrier
constexpr double kWeakestTap = 1e-3;  // relative power of the first tap, unless `taps` is given
constexpr std::string_view kOffOn[] = {"off", "on"};

OfdmFormat mimo_format(const Arguments& args) {
  static constexpr std::string_view kNames[] = {"5mhz", "20mhz"};
  OfdmFormat format;
  if (args.choice("format", "5mhz", kNames) == 1)
    format = {.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720};
  format.tx = args.count("tx", 4, 1, 8);
  format.midambles = args.count("midambles", 0, 0, OfdmFormat::kMostMidambles);
  return format;
}

/// The default number of taps: those strong enough to matter, within the part of the prefix that stays ahead of a
/// receiver's window.
std::int64_t taps_of(double spread, const OfdmFormat& format) {
  return 1 + std::min(format.prefix - format.early(),
                      static_cast<std::int64_t>(std::ceil(-std::log(kWeakestTap) * spread)));
}

enum class Profile : std::uint8_t { exponential, epa, eva, etu };
std::span<const std::string_view> enum_names(Profile) {
  static constexpr std::string_view kNames[] = {"exponential", "epa", "eva", "etu"};
  return kNames;
}

struct Echo {
  double delay_s, db;
};
/// 3GPP TS 36.101, tables B.2.1-2 to B.2.1-4: Extended Pedestrian A, Extended Vehicular A, Extended Typical Urban.
constexpr Echo kEpa[] = {{0, 0}, {30e-9, -1}, {70e-9, -2}, {90e-9, -3}, {110e-9, -8}, {190e-9, -17.2}, {410e-9, -20.8}};
constexpr Echo kEva[] = {{0, 0},         {30e-9, -1.5}, {150e-9, -1.4}, {310e-9, -3.6},  {370e-9, -0.6},
                         {710e-9, -9.1}, {1090e-9, -7}, {1730e-9, -12}, {2510e-9, -16.9}};
constexpr Echo kEtu[] = {{0, -1},     {50e-9, -1},   {120e-9, -1},  {200e-9, 0},  {230e-9, 0},
                         {500e-9, 0}, {1600e-9, -3}, {2300e-9, -5}, {5000e-9, -7}};
/// Of the interferer: within 260 ns.
constexpr Echo kNear[] = {{0, 0}, {100e-9, -3}, {180e-9, -6}, {260e-9, -9}};

/// The mean powers of echoes at the nearest samples.
std::vector<double> powers_of(std::span<const Echo> echoes, double rate_hz) {
  std::vector<double> powers;
  for (const auto& [delay_s, db] : echoes) {
    const auto at = static_cast<std::size_t>(std::lround(delay_s * rate_hz));
    powers.resize(std::max(powers.size(), at + 1));
    powers[at] += std::pow(10, db / 10);
  }
  return powers;
}
std::span<const Echo> echoes_of(Profile profile) {
  return profile == Profile::epa ? std::span<const Echo>(kEpa) : profile == Profile::eva ? kEva : kEtu;
}

/// Of all antennas, or of each.
AntennaBits mimo_modulation(const Arguments& args, const std::string& key, const std::string& otherwise,
                            std::int64_t tx) {
  constexpr std::string_view kNames[] = {"qpsk", "16qam", "64qam", "256qam", AntennaBits::kSilent};
  std::vector<std::string> words;
  for (const std::size_t word : args.choices(key, otherwise, kNames, tx, "each transmit antenna"))
    words.emplace_back(kNames[word]);
  const auto bits = AntennaBits::of_words(words, tx);
  if (bits->most() == 0) refuse(key, args.text(key, ""), "one antenna has to send data");
  return *bits;
}

MimoOptions mimo_options(const Setting& setting) {
  const Arguments& args = setting.arguments;
  MimoOptions options;
  options.format = mimo_format(args);
  options.modulation = mimo_modulation(args, "modulation", "16qam", options.format.tx);
  options.modulation_odd = mimo_modulation(args, "modulation_odd", args.text("modulation", "16qam"), options.format.tx);
  options.announce = args.choice("announce", "off", kOffOn) == 1;
  options.code = word_code(args);
  if (options.code && options.code->n() > std::min(options.format.bits(options.modulation),
                                                   options.format.bits(options.modulation_odd)))
    refuse(args.number("nr_e") ? "nr_e" : "code", args.text(args.number("nr_e") ? "nr_e" : "code", ""),
           "a frame is shorter than one code word");
  options.order = order_of(static_cast<PnName>(args.choice("payload", "pn23", enum_names(PnName{}))));
  options.frames = args.count("period", 16, 1, 256);
  const double spread = args.number_up_to("delay_spread", 0, 1e-4) * setting.rate_hz;
  const std::int64_t taps = args.count("taps", taps_of(spread, options.format), 1, kMostTaps);
  options.channel = {.rx = setting.channels,
                     .tx = options.format.tx,
                     .powers = exponential_profile(spread, taps),
                     .fading = static_cast<Fading>(args.choice("fading", "block", enum_names(Fading{}))),
                     .block = options.format.frame,
                     .doppler = args.numbers_up_to("doppler", options.format.tx, "one for each transmit antenna", 1e5),
                     .seed = seed_of(args)};
  for (double& shift : options.channel.doppler) shift /= setting.rate_hz;
  const auto profile = static_cast<Profile>(args.choice("profile", "exponential", enum_names(Profile{})));
  if (profile != Profile::exponential) options.channel.powers = powers_of(echoes_of(profile), setting.rate_hz);
  if (const auto level = args.number("interferer")) {
    options.interferer = amplitude_of(*level);
    options.interferer_channel = options.channel;
    options.interferer_channel.tx = 1;
    if (!options.channel.doppler.empty())
      options.interferer_channel.doppler = {std::ranges::max(options.channel.doppler)};
    options.interferer_channel.powers = powers_of(kNear, setting.rate_hz);
    options.interferer_channel.seed = mix(options.channel.seed);
  }
  return options;
}

/// Antennas that send frames; each receive channel receives all of them.
class MimoScenario final : public Scenario {
 public:
  explicit MimoScenario(const Setting& setting)
      : options_(mimo_options(setting)),
        start_(setting.arguments.count("start", 1001, 0, std::int64_t{1} << 40)),
        carrier_(setting.arguments.number("offset", 0) / setting.rate_hz) {
    const double level = setting.arguments.number("level", -20);
    for (const double own : setting.arguments.numbers("levels", setting.channels, "one for each receive channel"))
      amplitudes_.push_back(amplitude_of(level + own));
    if (const auto snr = setting.arguments.number("snr")) {
      noise_ = Noise::shared(seed_of(setting.arguments));
      // A sample's noise spreads over all bins; only that of the carriers in use counts.
      const OfdmFormat& format = options_.format;
      noise_amplitude_ =
          std::sqrt(static_cast<double>(format.fft) / static_cast<double>(format.carriers)) * amplitude_of(-*snr);
    }
    add_tones(setting);
  }

  void prepare() override { frames_ = render_mimo_frames(options_); }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    const auto c = static_cast<std::size_t>(channel);
    const auto period = std::ssize(frames_[c]);
    while (!out.empty()) {
      const std::int64_t turns = floor_div(first - start_, period);
      const std::int64_t offset = first - start_ - turns * period;
      const std::int64_t most = std::min({std::ssize(out), kPiece, period - offset});
      const std::span<cf32> piece = out.first(static_cast<std::size_t>(most));
      render_piece(c, first, frames_[c].data() + offset, piece);
      first += most;
      out = out.subspan(piece.size());
    }
  }

 private:
  struct HeardTone {
    Tone wave;
    double amplitude;            // relative to frames of power 1
    std::vector<double> phases;  // of receive channels, in turns
  };

  void add_tones(const Setting& setting) {
    const Arguments& args = setting.arguments;
    const std::vector<double> frequencies = args.list("tone");
    const std::int64_t count = std::ssize(frequencies);
    if (count > kMostTones)
      refuse("tone", args.text("tone", ""), "expected at most " + std::to_string(kMostTones) + " frequencies");
    std::vector<double> levels = args.numbers_or_one("tone_db", count, "one for each tone");
    levels.resize(frequencies.size(), kToneDb);
    std::uint64_t draw = mix(seed_of(args));
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      tones_.push_back({Tone(frequencies[i] / setting.rate_hz),
                        amplitude_of(levels[i]) / std::sqrt(static_cast<double>(options_.format.carriers)),
                        {}});
      for (std::size_t c = 0; c < amplitudes_.size(); ++c) tones_.back().phases.push_back(uniform(mix(draw++)));
    }
  }

  void render_piece(std::size_t c, std::int64_t first, const cf32* samples, std::span<cf32> out) {
    carrier_at_.resize(out.size());
    carrier_.write(first, amplitudes_[c], 0, carrier_at_);
    rotate_by(samples, carrier_at_.data(), out);
    for (const HeardTone& tone : tones_) {
      tone.wave.write(first, tone.amplitude * amplitudes_[c], tone.phases[c], carrier_at_);
      for (std::size_t n = 0; n < out.size(); ++n) out[n] += carrier_at_[n];
    }
    if (noise_) noise_->add(c, first, static_cast<float>(noise_amplitude_ * amplitudes_[c]), out);
  }

  MimoOptions options_;
  std::int64_t start_;
  Tone carrier_;
  std::vector<double> amplitudes_;  // of receive channels
  std::shared_ptr<const Noise> noise_;
  double noise_amplitude_ = 0;  // relative to frames of power 1
  std::vector<HeardTone> tones_;
  std::vector<std::vector<cf32>> frames_;  // of receive channels
  std::vector<cf32> carrier_at_;
};

}  // namespace

std::unique_ptr<Scenario> make_mimo(const Setting& setting) {
  return with_other_clock(setting, std::make_unique<MimoScenario>(setting));
}

}  // namespace iqd::sim
