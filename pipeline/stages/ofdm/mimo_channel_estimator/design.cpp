// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>

#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/track_design.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

using Row = std::array<double, kTaps>;

double sinc(double x) {
  return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

/// Solves R x = b. R is symmetric and positive definite, so elimination needs no pivots.
Row solve(std::vector<Row> r, Row b) {
  const std::size_t n = r.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      const double factor = r[k][i] / r[i][i];
      for (std::size_t j = i; j < n; ++j) r[k][j] -= factor * r[i][j];
      b[k] -= factor * b[i];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= r[i][j] * b[j];
    b[i] /= r[i][i];
  }
  return b;
}

/// The Wiener filter that estimates the channel at frequency 0 from that at `at`, in noise. All delays within -width/2
/// … width/2 turns a carrier are equally likely: E h(f) h*(g) = sinc(width (f - g)).
Row wiener(const std::vector<std::int64_t>& at, double width, double noise) {
  std::vector<Row> r(at.size());
  Row b{};
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (std::size_t j = 0; j < at.size(); ++j) r[i][j] = sinc(width * static_cast<double>(at[i] - at[j]));
    r[i][i] += noise;
    b[i] = sinc(width * static_cast<double>(at[i]));
  }
  return solve(std::move(r), b);
}

/// The range of path delays in a window, in samples; the first is 0.
double profile_of(const Config& config) {
  const OfdmFormat& f = config.format;
  return static_cast<double>(config.delay_spread > 0 ? f.early() + config.delay_spread : f.prefix);
}

void design_filter(const Config& config, Design& design) {
  const OfdmFormat& f = config.format;
  const std::int64_t taps = std::min<std::int64_t>(kTaps, f.carriers);
  std::map<std::vector<std::int64_t>, Row> rows;  // most carriers have the same neighbourhood
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    const std::int64_t first = std::clamp<std::int64_t>(c - kTaps / 2, 0, f.carriers - taps);
    std::vector<std::int64_t> at;
    for (std::int64_t k = first; k < first + taps; ++k) at.push_back(f.frequency_of(k) - f.frequency_of(c));
    auto found = rows.find(at);
    if (found == rows.end())
      found =
          rows.emplace(at, wiener(at, profile_of(config) / static_cast<double>(f.fft), std::pow(10, -config.snr / 10)))
              .first;
    design.first.push_back(static_cast<std::int32_t>(first));
    design.taps.insert(design.taps.end(), found->second.begin(), found->second.end());
  }
  for (const float tap : design.taps) design.smoothed_noise += tap * tap / static_cast<float>(f.carriers);
}

void list_carriers(const OfdmFormat& f, Design& design) {
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    const auto carrier = static_cast<std::int32_t>(c);
    if (f.frequency_of(c) % 2 != 0) design.odd.push_back(carrier);
    std::vector<std::int32_t>& kind = f.is_pilot(c) ? design.pilot : design.data;
    const auto index = static_cast<std::int32_t>(kind.size());
    design.place.push_back(f.is_pilot(c) ? -1 - index : index);
    kind.push_back(carrier);
  }
}

void list_values(const Config& config, const OfdmReference& reference, Design& design) {
  const OfdmFormat& f = config.format;
  const double turn = std::numbers::pi * profile_of(config) / static_cast<double>(f.fft);
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    const std::complex<double> ramp = std::polar(1.0, -turn * static_cast<double>(f.frequency_of(c)));
    const double known = static_cast<double>(reference.training()[static_cast<std::size_t>(c)]);
    design.ramp.emplace_back(ramp);
    design.known.emplace_back(known / static_cast<double>(f.tx) * std::conj(ramp));
  }
  design.training.assign(reference.training().begin(), reference.training().end());
  for (std::int64_t a = 0; a < f.tx; ++a)
    for (std::int64_t t = 0; t < f.tx; ++t) {
      design.cover.push_back(reference.cover(a, t));
      design.uncover.push_back(std::conj(reference.cover(a, t)));
    }
  for (std::int64_t s = 0; s < f.behind(); ++s)
    for (std::int64_t i = 0; i < f.pilots(); ++i) {
      for (std::int64_t a = 0; a < f.tx; ++a) design.pilot_signs.push_back(reference.pilot(s, i, a));
      for (std::int64_t t = 0; t < f.tx; ++t) design.pilot_weights.push_back(reference.pilot_weight(s, i, t));
    }
  for (std::int64_t j = 0; j < f.midambles; ++j)
    for (std::int64_t c = 0; c < f.carriers; ++c) design.combs.push_back(reference.midamble(j, c, c % f.tx));
}

}  // namespace

Design make_design(const Config& config, std::int64_t rx, double symbol_seconds) {
  const OfdmFormat& f = config.format;
  Design design;
  design.extents = {.rx = static_cast<std::int32_t>(rx),
                    .tx = static_cast<std::int32_t>(f.tx),
                    .symbols = static_cast<std::int32_t>(f.symbols()),
                    .carriers = static_cast<std::int32_t>(f.carriers),
                    .pilots = static_cast<std::int32_t>(f.pilots()),
                    .group = static_cast<std::int32_t>(std::min(config.group, f.carriers)),
                    .midambles = static_cast<std::int32_t>(f.midambles),
                    .tail = f.tail,
                    .track_phase = config.track_phase};
  list_carriers(f, design);
  list_values(config, OfdmReference(f), design);
  design_filter(config, design);
  design.track = config.track, design.whiten = config.whiten;
  if (config.track == Track::frame) design_track(config, symbol_seconds, design);
  return design;
}

}  // namespace iqd::mimo_channel_estimator
