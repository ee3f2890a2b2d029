// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/transmit/uplink_waveform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "signal/filters/fft_plan.hpp"

namespace iqd {
namespace {

constexpr double kPi = std::numbers::pi;
// A carrier is generated with 1024 samples per symbol: a period of 8 slots with 7 symbols each.
constexpr std::int64_t kSymbol = 1024;
constexpr std::array<std::int64_t, 7> kPrefixes{80, 72, 72, 72, 72, 72, 72};
constexpr std::int64_t kSlots = 8;
constexpr std::int64_t kPeriod = 60 * kSymbol;  // samples; turns of the subcarrier spacing in it, times kSymbol
constexpr std::int64_t kMostPeriod = 1 << 24;

/// A random 16-QAM point of power 1.
cf32 point(std::uint64_t random) {
  const auto axis = [](std::uint64_t two) { return (2 * static_cast<float>(two & 3) - 3) / std::sqrt(10.0f); };
  return {axis(random), axis(random >> 2)};
}

/// One carrier around 0 Hz, kPeriod samples.
std::vector<cf32> carrier(std::int64_t subcarriers, std::uint64_t key) {
  const FftPlan spread(subcarriers), transform(kSymbol, FftPlan::Direction::inverse);
  std::vector<cf32> points(static_cast<std::size_t>(subcarriers)), values(points.size());
  std::vector<cf32> bins(kSymbol), samples(kSymbol), half(kSymbol), all;
  for (std::size_t n = 0; n < half.size(); ++n)
    half[n] = std::polar(1.0f, static_cast<float>(kPi * static_cast<double>(n) / kSymbol));
  for (std::int64_t slot = 0; slot < kSlots; ++slot)
    for (const std::int64_t prefix : kPrefixes) {
      for (cf32& p : points) p = point(mix(key++));
      spread.run(points.data(), values.data());
      for (std::int64_t k = 0; k < subcarriers; ++k)
        bins[static_cast<std::size_t>((k - subcarriers / 2 + kSymbol) % kSymbol)] = values[static_cast<std::size_t>(k)];
      transform.run(bins.data(), samples.data());
      // Subcarriers are half a spacing off the bins, centred on 0 Hz.
      for (std::int64_t n = -prefix; n < kSymbol; ++n) {
        const cf32 turn = n < 0 ? -half[static_cast<std::size_t>(n + kSymbol)] : half[static_cast<std::size_t>(n)];
        all.push_back(turn * samples[static_cast<std::size_t>((n + kSymbol) % kSymbol)]);
      }
    }
  return all;
}

/// The edge of a carrier's spectrum: 1 up to where it is filled, then half a cosine to 0 at its bandwidth.
float edge(double bin, double filled, double bandwidth) {
  const double beyond = std::clamp((std::fabs(bin) - filled) / (bandwidth - filled), 0.0, 1.0);
  return static_cast<float>(0.5 + 0.5 * std::cos(kPi * beyond));
}

void scale_to(double rms, std::vector<cf32>& x) {
  double power = 0;
  for (const cf32 v : x) power += static_cast<double>(v.real()) * v.real() + static_cast<double>(v.imag()) * v.imag();
  const auto scale = static_cast<float>(rms / std::sqrt(power / static_cast<double>(x.size())));
  for (cf32& v : x) v *= scale;
}

}  // namespace

std::int64_t UplinkWaveform::period() const noexcept {
  return std::llround(60 * rate_hz / spacing_hz());
}

std::string UplinkWaveform::fault() const {
  for (const double f : frequencies_hz)
    if (!(std::fabs(f) + bandwidth_hz / 2 <= rate_hz / 2))
      return fmt::format("a carrier of {} Hz at {} Hz does not fit into a rate of {} samples a second", bandwidth_hz, f,
                         rate_hz);
  if (60 * rate_hz / spacing_hz() > kMostPeriod)
    return fmt::format(
        "a carrier of {} Hz at a rate of {} samples a second repeats only after {:.0f} samples; "
        "the limit is {}",
        bandwidth_hz, rate_hz, 60 * rate_hz / spacing_hz(), kMostPeriod);
  return {};
}

std::vector<cf32> UplinkWaveform::make() const {
  assert(subcarriers <= 900 && fault().empty());
  const std::int64_t n = period();
  const double filled = 30.0 * static_cast<double>(subcarriers), reach = filled / 0.9;
  const auto last = std::min(static_cast<std::int64_t>(reach), (n - 1) / 2);
  std::vector<cf32> bins(static_cast<std::size_t>(n)), spectrum(kPeriod);
  const FftPlan analysis(kPeriod);
  for (std::size_t c = 0; c < frequencies_hz.size(); ++c) {
    analysis.run(carrier(subcarriers, mix(mix(seed) + c)).data(), spectrum.data());
    const std::int64_t middle = std::llround(frequencies_hz[c] / spacing_hz() * 60);
    for (std::int64_t k = -last; k <= last; ++k)
      bins[static_cast<std::size_t>((k + middle + n) % n)] +=
          edge(static_cast<double>(k), filled, reach) * spectrum[static_cast<std::size_t>((k + kPeriod) % kPeriod)];
  }
  std::vector<cf32> x(bins.size());
  FftPlan(n, FftPlan::Direction::inverse).run(bins.data(), x.data());
  scale_to(rms, x);
  return x;
}

}  // namespace iqd
