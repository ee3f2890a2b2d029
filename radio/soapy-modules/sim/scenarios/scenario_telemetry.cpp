// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>

#include "base/files/npy.hpp"
#include "base/files/text_file.hpp"
#include "radio/soapy-modules/sim/scenarios/code_arguments.hpp"
#include "radio/soapy-modules/sim/scenarios/moving_rays.hpp"
#include "radio/soapy-modules/sim/scenarios/noise.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "radio/soapy-modules/sim/scenarios/tone.hpp"
#include "radio/soapy-modules/sim/scenarios/transmission.hpp"

namespace iqd::sim {
namespace {

constexpr std::int64_t kTelemetryPiece = 2048;  // samples that pass through all steps before the next ones
constexpr int kMostBitPpm = 1000;
constexpr std::int64_t kMostRays = 512;
constexpr std::int64_t kMostPayloadBits = 1 << 20;
constexpr int kMostRayHz = 100'000;
constexpr std::size_t kMostPayload = std::size_t{1} << 28;  // bytes of a file

double number_in(const Arguments& args, const std::string& key, int low, int high) {
  const double value = args.number(key, 0);
  if (value < low || value > high)
    refuse(key, args.text(key, ""), "expected a number from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

template <class T> void append_taps(const NpyArray& array, double rate_hz, std::vector<Ray>& rays) {
  for (std::int64_t i = 0; i < array.size(); ++i) {
    std::complex<T> tap;
    std::memcpy(&tap, array.data.data() + i * static_cast<std::int64_t>(sizeof tap), sizeof tap);
    if (!std::isfinite(tap.real()) || !std::isfinite(tap.imag()))
      throw std::invalid_argument("not all taps are finite");
    if (tap == std::complex<T>{}) continue;
    rays.push_back({.gain_db = 20 * std::log10(static_cast<double>(std::abs(tap))),
                    .delay_s = static_cast<double>(i) / rate_hz,
                    .phase_degrees = static_cast<double>(std::arg(tap)) * 180 / std::numbers::pi});
  }
}

/// Each tap is a ray; the first has no delay.
std::vector<Ray> rays_of_file(const std::string& path, double rate_hz) {
  std::vector<Ray> rays;
  try {
    const NpyArray array = read_npy(path);
    if (array.shape.size() != 1 || array.size() > kMostRays || (array.dtype != "<c8" && array.dtype != "<c16"))
      throw std::invalid_argument("expected a 1-D array of up to " + std::to_string(kMostRays) + " complex taps");
    if (array.dtype == "<c8") append_taps<float>(array, rate_hz, rays);
    if (array.dtype == "<c16") append_taps<double>(array, rate_hz, rays);
    if (rays.empty()) throw std::invalid_argument("all taps are 0");
  } catch (const std::exception& e) {
    refuse("channel", path, e.what());
  }
  return rays;
}

std::vector<Ray> rays_of_argument(const std::string& channel, double rate_hz) {
  if (channel.ends_with(".npy")) return rays_of_file(channel, rate_hz);
  const auto names = enum_names(RayChannel{});
  const auto found = std::find(names.begin(), names.end(), channel);
  if (found == names.end()) refuse("channel", channel, "expected awgn, ch1, ch2, ch3, ch4 or a file of taps (.npy)");
  const auto rays = rays_of(static_cast<RayChannel>(found - names.begin()));
  return {rays.begin(), rays.end()};
}

/// Null without a code.
std::shared_ptr<const PacketPayload> coded_payload(const Arguments& args, std::int64_t bits, int order) {
  const auto code = word_code(args);
  if (!code) return nullptr;
  auto payload = std::make_shared<const PacketPayload>(bits, *code, word_frame(args, code->code), order);
  if (payload->words() == 0)
    refuse("payload_bits", std::to_string(bits),
           "a word of the code needs " + std::to_string(code->n()) + " and its marker");
  return payload;
}

MovingRays rays_of_arguments(const Arguments& args, double rate_hz) {
  const std::string channel = args.text("channel", "awgn");
  const std::vector<Ray> rays = rays_of_argument(channel, rate_hz);
  const double hz = number_in(args, "ray_hz", -kMostRayHz, kMostRayHz);
  if (hz != 0 && rays.size() < 2)
    refuse("ray_hz", args.text("ray_hz", ""), "expected 0, since the channel has one ray");
  return {rays, rate_hz, number_in(args, "ppm", -kMostBitPpm, kMostBitPpm) * 1e-6, hz};
}

/// The bytes of `@file`.
std::string payload_of_file(const std::string& payload) {
  std::string why;
  auto bytes = read_text(payload.substr(1), kMostPayload, why);
  if (!bytes || bytes->empty()) refuse("payload", payload, "the file " + (bytes ? "is empty" : why));
  return std::move(*bytes);
}

Transmission::Options options_of(const Arguments& args) {
  const std::string payload = args.text("payload", "pn15");
  const bool is_file = payload.starts_with('@');
  if (!is_file && payload != "pn9" && payload != "pn15" && payload != "pn23")
    refuse("payload", payload, "expected pn9, pn15 or pn23, or the bytes of a file: @PATH");
  if (is_file && args.text("code", "none") != "none")
    refuse("payload", payload, "words of a code carry pn9, pn15 or pn23");
  const std::int64_t bits = args.count("payload_bits", PacketFormat{}.payload_bits, 2, kMostPayloadBits);
  if (bits % 2 != 0) refuse("payload_bits", args.text("payload_bits", ""), "expected an even number");
  const int order = is_file ? 15 : std::stoi(payload.substr(2));
  return {.order = order,
          .bytes = is_file ? payload_of_file(payload) : "",
          .gap = args.count("gap", 0, 0, std::int64_t{1} << 32),
          .fading_db = number_in(args, "fading", 0, 40),
          .seed = seed_of(args),
          .payload_bits = bits,
          .coded = coded_payload(args, bits, order)};
}

void turn(std::span<cf32> samples, std::span<const cf32> by) noexcept {
  auto* __restrict x = reinterpret_cast<float*>(samples.data());
  const auto* __restrict t = reinterpret_cast<const float*>(by.data());
  for (std::size_t i = 0; i < 2 * samples.size(); i += 2) {
    const float re = x[i];
    x[i] = t[i] * re - t[i + 1] * x[i + 1];
    x[i + 1] = t[i] * x[i + 1] + t[i + 1] * re;
  }
}

/// An aircraft that sends packets over a channel.
class TelemetryScenario final : public Scenario {
 public:
  explicit TelemetryScenario(const Setting& setting)
      : transmission_(options_of(setting.arguments)),
        propagation_(rays_of_arguments(setting.arguments, setting.rate_hz)),
        carrier_(setting.arguments.number("offset", 0) / setting.rate_hz),
        amplitude_(amplitude_of(setting.arguments.number("level", -20))) {
    if (const auto eb_n0_db = setting.arguments.number("ebn0")) {
      noise_ = Noise::shared(seed_of(setting.arguments));
      noise_amplitude_ =
          static_cast<float>(amplitude_ * std::sqrt(noise_variance(*eb_n0_db, PacketFormat{}.samples_per_bit)));
    }
  }

  void render(int channel, std::int64_t first, std::span<cf32> out) override {
    for (std::size_t done = 0; done < out.size();) {
      const std::span<cf32> piece = out.subspan(done, std::min<std::size_t>(kTelemetryPiece, out.size() - done));
      render_piece(channel, first + static_cast<std::int64_t>(done), piece);
      done += piece.size();
    }
  }

 private:
  void render_piece(int channel, std::int64_t first, std::span<cf32> out) {
    propagation_.write(transmission_, first, out);
    carrier_at_.resize(out.size());
    carrier_.write(first, amplitude_, channel / 8.0, carrier_at_);
    turn(out, carrier_at_);
    if (noise_) noise_->add(static_cast<std::uint64_t>(channel), first, noise_amplitude_, out);
  }

  Transmission transmission_;
  MovingRays propagation_;
  Tone carrier_;
  double amplitude_;
  std::shared_ptr<const Noise> noise_;
  float noise_amplitude_ = 0;
  std::vector<cf32> carrier_at_;
};

}  // namespace

std::unique_ptr<Scenario> make_telemetry(const Setting& setting) {
  return std::make_unique<TelemetryScenario>(setting);
}

}  // namespace iqd::sim
