// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/array_channel.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "base/random.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;

constexpr double kMostElevation = 5;
constexpr double kRadians = std::numbers::pi / 180;

/// Random draws per user; the scattered parts follow them.
enum Draw : std::uint8_t { kJitter, kElevation, kPhase, kDraws };

double drawn(std::uint64_t seed, std::int64_t user, Draw draw) {
  return uniform(mix(mix(seed) + static_cast<std::uint64_t>(user * kDraws + draw)));
}

complex scattered(std::uint64_t seed, std::int64_t path) {
  const std::uint64_t key = mix(mix(~seed) + static_cast<std::uint64_t>(path));
  return std::polar(std::sqrt(-std::log(uniform(mix(key)))), 2 * std::numbers::pi * uniform(mix(key + 1)));
}

constexpr int kPathWaves = 16;  // of a path that fades

/// The same when it fades, of mean power 1.
complex faded(std::uint64_t seed, std::int64_t path, double turns) {
  const std::uint64_t key = mix(mix(~seed) + static_cast<std::uint64_t>(path));
  complex sum = 0;
  for (int w = 0; w < kPathWaves; ++w) {
    const double towards =
        2 * std::numbers::pi * (w + uniform(mix(key + 2 * static_cast<std::uint64_t>(w)))) / kPathWaves;
    const double phase = uniform(mix(key + 2 * static_cast<std::uint64_t>(w) + 1));
    sum += std::polar(1 / std::sqrt(double{kPathWaves}), 2 * std::numbers::pi * (turns * std::cos(towards) + phase));
  }
  return sum;
}

std::int64_t columns_of(std::int64_t antennas) {
  std::int64_t rows = 1;
  for (std::int64_t r = 1; r * r <= antennas; ++r)
    if (antennas % r == 0) rows = r;
  return antennas / rows;
}

}  // namespace

ArrayChannel::ArrayChannel(Options options) : options_(std::move(options)), columns_(columns_of(options_.antennas)) {}

ArrayChannel::Vector ArrayChannel::position(std::int64_t antenna) const {
  if (options_.array == ArrayKind::planar)
    return {0, 0.5 * static_cast<double>(antenna % columns_), 0.5 * static_cast<double>(antenna / columns_)};
  const double angle = 2 * std::numbers::pi * static_cast<double>(antenna) / static_cast<double>(options_.antennas);
  return {0, options_.radius * std::cos(angle), options_.radius * std::sin(angle)};
}

double ArrayChannel::azimuth_deg(std::int64_t user, double seconds) const {
  const double place =
      options_.users == 1 ? 0 : static_cast<double>(user) / static_cast<double>(options_.users - 1) - 0.5;
  const double off = 2 * drawn(options_.seed, user, kJitter) - 1;
  return options_.spread_deg * place + options_.jitter_deg * off + options_.motion_deg * seconds;
}

double ArrayChannel::elevation_deg(std::int64_t user) const {
  return kMostElevation * (2 * drawn(options_.seed, user, kElevation) - 1);
}

double ArrayChannel::power(std::int64_t user) const {
  return user < std::ssize(options_.powers_db) ? std::pow(10.0, options_.powers_db[static_cast<std::size_t>(user)] / 10)
                                               : 1;
}

double ArrayChannel::doppler_hz(std::int64_t user) const {
  return user < std::ssize(options_.doppler_hz) ? options_.doppler_hz[static_cast<std::size_t>(user)] : 0;
}

complex ArrayChannel::gain(std::int64_t antenna, std::int64_t user, double seconds) const {
  const double azimuth = kRadians * azimuth_deg(user, seconds), elevation = kRadians * elevation_deg(user);
  const Vector p = position(antenna);
  const double along =
      std::cos(elevation) * (p.x * std::cos(azimuth) + p.y * std::sin(azimuth)) + p.z * std::sin(elevation);
  const double turns = along + drawn(options_.seed, user, kPhase);
  const double rice = std::pow(10.0, options_.rice_db / 10);
  const complex direct = std::polar(std::sqrt(rice / (rice + 1)), 2 * std::numbers::pi * turns);
  const std::int64_t path = user * options_.antennas + antenna;
  const double doppler = doppler_hz(user);
  const complex rest = doppler > 0 ? faded(options_.seed, path, doppler * seconds) : scattered(options_.seed, path);
  return std::sqrt(power(user)) * (direct + rest / std::sqrt(rice + 1));
}

}  // namespace iqd
