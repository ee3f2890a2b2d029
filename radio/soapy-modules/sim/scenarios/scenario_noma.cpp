// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "base/integer.hpp"
#include "radio/soapy-modules/sim/scenarios/code_arguments.hpp"
#include "radio/soapy-modules/sim/scenarios/format.hpp"
#include "radio/soapy-modules/sim/scenarios/noma_frames.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd::sim {
namespace {

constexpr double kMostDegrees = 360;
constexpr double kMostWavelengths = 1000;
constexpr double kMostDoppler = 1000;
constexpr double kMostDelay = 2048;  // samples

NomaOptions noma_options(const Setting& setting) {
  const Arguments& args = setting.arguments;
  NomaOptions options;
  options.format.users = args.count("users", options.format.users, 1, NomaFormat::kMostUsers);
  const std::int64_t users = options.format.users;
  const std::string each = "one for each user";
  for (const std::size_t map : args.choices("modulation", "qpsk", enum_names(SymbolMap{}), users, each))
    options.modulation.push_back(static_cast<SymbolMap>(map));
  options.code = word_code(args);
  for (const SymbolMap map : options.modulation)
    if (options.code && options.code->n() > options.format.user_bits(map))
      refuse("code", args.text("code", ""), "a user's part of a frame is shorter than one code word");
  options.order = order_of(static_cast<PnName>(args.choice("payload", "pn23", enum_names(PnName{}))));
  options.frames = args.count("period", options.frames, 1, 256);
  options.rate_hz = setting.rate_hz;
  ArrayChannel::Options& channel = options.channel;
  channel.array = static_cast<ArrayKind>(args.choice("array", "circular", enum_names(ArrayKind{})));
  channel.antennas = setting.channels;
  channel.users = options.format.users;
  channel.radius = args.number_up_to("radius", channel.radius, kMostWavelengths);
  channel.spread_deg = args.number_up_to("spread", channel.spread_deg, kMostDegrees);
  channel.jitter_deg = args.number_up_to("jitter", channel.jitter_deg, kMostDegrees);
  channel.powers_db = args.numbers("powers", users, each);
  channel.motion_deg = args.number("motion", 0);
  channel.doppler_hz = args.numbers_up_to("doppler", users, each, kMostDoppler);
  channel.seed = seed_of(args);
  options.level_db = args.number("level", options.level_db);
  options.snr_db = args.number("snr");
  if (args.text("offset", "").find('/') == std::string::npos)
    options.offset_hz = args.number("offset", 0);
  else
    options.offsets_hz = args.numbers("offset", users, each);
  options.delays = args.numbers_up_to("delay", users, each, kMostDelay);
  options.echoes_db = args.numbers_or_one("echo", users, each);
  options.echo_delay = args.number_up_to("echo_delay", options.echo_delay, kMostDelay);
  return options;
}

/// Users that send frames on the same carriers, received by the antennas of an array. One period, noise included, is
/// rendered once and repeated: a fraction of a core then plays many fast channels in real time.
class NomaScenario final : public Scenario {
 public:
  explicit NomaScenario(const Setting& setting)
      : options_(noma_options(setting)), start_(setting.arguments.count("start", 1001, 0, std::int64_t{1} << 40)) {}

  void prepare() override { frames_ = render_noma_frames(options_); }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    for_pieces(channel, first, std::ssize(out), [&](const std::int16_t* from, std::int64_t at, std::int64_t count) {
      from_cs16(from, out.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
    });
  }

  bool render_cs16(int channel, std::int64_t first, std::int64_t samples, std::int16_t* out) override {
    for_pieces(channel, first, samples, [&](const std::int16_t* from, std::int64_t at, std::int64_t count) {
      std::copy_n(from, 2 * count, out + 2 * at);
    });
    return true;
  }

 private:
  template <class F> void for_pieces(int channel, std::int64_t first, std::int64_t samples, F f) const {
    const auto& row = frames_[static_cast<std::size_t>(channel)];
    const std::int64_t period = std::ssize(row) / 2;
    for (std::int64_t done = 0; done < samples;) {
      const std::int64_t n = first + done - start_;
      const std::int64_t offset = n - floor_div(n, period) * period;
      const std::int64_t count = std::min(samples - done, period - offset);
      f(row.data() + 2 * offset, done, count);
      done += count;
    }
  }

  NomaOptions options_;
  std::int64_t start_;
  std::vector<std::vector<std::int16_t>> frames_;  // of receive channels
};

}  // namespace

std::unique_ptr<Scenario> make_noma(const Setting& setting) {
  return std::make_unique<NomaScenario>(setting);
}

}  // namespace iqd::sim
