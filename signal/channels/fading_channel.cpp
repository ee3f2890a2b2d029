// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/fading_channel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/integer.hpp"
#include "base/random.hpp"
#include "signal/filters/filter_kernel.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;

constexpr int kWaves = 16;
constexpr double kStep = 1.0 / 1024;  // of a turn

complex turned(double turns) {
  return std::polar(1.0, 2 * std::numbers::pi * (turns - std::floor(turns)));
}

/// With variance 1.
complex gaussian(std::uint64_t key) {
  return std::sqrt(-std::log(uniform(mix(key)))) * turned(uniform(mix(key + 1)));
}

/// With mean power 1 over time, after `moved` turns of the fastest wave.
complex waves(std::uint64_t key, double moved) {
  complex sum = 0;
  const double first = uniform(mix(key));
  for (int k = 0; k < kWaves; ++k) {
    const double from = 2 * std::numbers::pi * (k + first) / kWaves;
    sum += turned(std::cos(from) * moved + uniform(mix(key + 1 + static_cast<std::uint64_t>(k))));
  }
  return sum / std::sqrt(kWaves);
}

std::int64_t held(const FadingChannel::Options& options) {
  if (options.fading == Fading::block) return options.block;
  const double fastest = options.doppler.empty() ? 0 : std::ranges::max(options.doppler);
  if (options.fading == Fading::none || fastest <= 0) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(1, std::llround(std::min(1e15, kStep / fastest)));
}

}  // namespace

FadingChannel::FadingChannel(Options options) : options_(std::move(options)), held_(held(options_)) {
  const double sum = std::accumulate(options_.powers.begin(), options_.powers.end(), 0.0);
  for (double& power : options_.powers) power /= sum;
}

complex FadingChannel::gain(std::int64_t r, std::int64_t t, std::int64_t d, std::int64_t n) const {
  const double amplitude = std::sqrt(options_.powers[static_cast<std::size_t>(d)]);
  if (options_.fading == Fading::none)
    return amplitude * turned(static_cast<double>(r * t) / static_cast<double>(std::max(options_.rx, options_.tx)));
  const std::int64_t path = (r * options_.tx + t) * std::ssize(options_.powers) + d;
  const std::uint64_t key = mix(mix(options_.seed) + static_cast<std::uint64_t>(path));
  const std::int64_t steps = floor_div(n, held_);
  if (options_.fading == Fading::block) return amplitude * gaussian(key ^ mix(static_cast<std::uint64_t>(steps)));
  return amplitude * waves(key, doppler(t) * static_cast<double>(steps) * static_cast<double>(held_));
}

void FadingChannel::receive(std::int64_t r, std::int64_t first, std::span<const std::complex<float>* const> sent,
                            std::span<std::complex<float>> y) const {
  const std::int64_t taps = std::ssize(options_.powers);
  std::vector<float> re(static_cast<std::size_t>(options_.tx * taps));
  std::vector<float> im(re.size());
  std::vector<FilterPhase> phases(static_cast<std::size_t>(options_.tx));
  for (std::int64_t done = 0; done < std::ssize(y);) {
    const std::int64_t n = first + done;
    const std::int64_t same = std::min(std::ssize(y) - done, held_ - (n - floor_div(n, held_) * held_));
    for (std::size_t i = 0; i < re.size(); ++i) {
      const auto path = static_cast<std::int64_t>(i);
      const complex h = gain(r, path / taps, path % taps, n);
      re[i] = static_cast<float>(h.real());
      im[i] = static_cast<float>(h.imag());
    }
    for (std::size_t t = 0; t < phases.size(); ++t) {
      const std::size_t row = t * static_cast<std::size_t>(taps);
      phases[t] = {&re[row], &im[row], taps, reinterpret_cast<const float*>(sent[t] + done)};
    }
    filter_tile(phases, true, reinterpret_cast<float*>(y.data() + done), same);
    done += same;
  }
}

std::vector<double> exponential_profile(double spread, std::int64_t taps) {
  std::vector<double> powers(static_cast<std::size_t>(std::max<std::int64_t>(1, taps)));
  for (std::size_t d = 0; d < powers.size(); ++d) powers[d] = d == 0 ? 1 : std::exp(-static_cast<double>(d) / spread);
  return powers;
}

}  // namespace iqd
