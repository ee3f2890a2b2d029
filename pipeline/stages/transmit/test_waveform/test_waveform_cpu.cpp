// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/transmit/test_waveform/test_waveform.hpp"

namespace iqd::test_waveform {

UplinkWaveform Config::waveform(double rate_hz) const {
  const bool one = kind == Kind::lte10;
  UplinkWaveform w{.subcarriers = one ? 600 : 180,
                   .bandwidth_hz = bandwidth.value_or(one ? 10e6 : 3e6),
                   .frequencies_hz = frequencies,
                   .rate_hz = rate_hz,
                   .rms = rms.value_or(one ? 0.27 : 0.24),
                   .seed = static_cast<std::uint64_t>(seed)};
  if (frequencies.empty()) w.frequencies_hz = one ? std::vector<double>{0} : std::vector<double>{-5e6, 5e6};
  return w;
}

void play(std::span<const cf32> period, std::int64_t first, std::span<cf32> y) noexcept {
  for (std::int64_t at = first % std::ssize(period); !y.empty(); at = 0) {
    const auto n = static_cast<std::size_t>(std::min(std::ssize(period) - at, std::ssize(y)));
    std::copy_n(period.begin() + at, n, y.begin());
    y = y.subspan(n);
  }
}

}  // namespace iqd::test_waveform
