// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/front_end.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace iqd::sim {
namespace {

constexpr double kHome = 100e6;  // tuned here, the scenario is at its own frequencies

std::int16_t rounded(double x) {
  return static_cast<std::int16_t>(std::lrint(std::clamp(x, -32768.0, 32767.0)));
}

}  // namespace

void FrontEnd::set(std::size_t channel, std::int64_t from, double gain_db, double frequency_hz) {
  const std::lock_guard lock(mutex_);
  settings_[channel].push_back({from, gain_db, frequency_hz});
}

void FrontEnd::receive(const Stream& rx, double rate_hz, void* const* buffers, std::int64_t samples) {
  const std::lock_guard lock(mutex_);
  for (std::size_t c = 0; c < rx.channels.size(); ++c) {
    const auto& settings = settings_[rx.channels[c]];
    auto next = settings.begin();
    double gain = 1;
    long double turns = 0;  // per sample
    for (std::int64_t n = 0; n < samples; ++n) {
      const std::int64_t at = rx.next + n;
      for (; next != settings.end() && next->from <= at; ++next) {
        gain = std::pow(10, next->gain_db / 20);
        turns = static_cast<long double>(kHome - next->frequency_hz) / rate_hz;
      }
      const long double turned = turns * at;
      const std::complex<double> factor =
          std::polar(gain, 2 * std::numbers::pi * static_cast<double>(turned - std::floor(turned)));
      if (rx.format == Format::cf32) {
        auto& x = static_cast<cf32*>(buffers[c])[n];
        x = cf32(std::complex<double>(x) * factor);
      } else {
        auto* x = static_cast<std::int16_t*>(buffers[c]) + 2 * n;
        const std::complex<double> y = std::complex<double>(x[0], x[1]) * factor;
        x[0] = rounded(y.real());
        x[1] = rounded(y.imag());
      }
    }
  }
}

}  // namespace iqd::sim
