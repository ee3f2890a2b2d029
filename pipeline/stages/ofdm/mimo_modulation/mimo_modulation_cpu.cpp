// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <numbers>

#include "pipeline/stages/ofdm/mimo_modulation/mimo_modulation.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::mimo_modulation {
namespace {

/// Of each antenna, from the carriers that the synchronisation symbol leaves empty.
void measure_noise(const Tables& t, const float* frame, double* noise) noexcept {
  for (int r = 0; r < t.rx; ++r) {
    double alone = 0, training = 0;
    for (int i = 0; i < t.odds; ++i) alone += square_of(frame + 2 * (std::int64_t{t.odd[i]} * t.rx + r));
    for (int i = 0; i < t.tx * t.carriers; ++i)
      training += square_of(frame + 2 * ((std::int64_t{t.carriers} + i) * t.rx + r));
    noise[r] = ofdm::noise_of(alone, t.odds, training, t.tx * t.carriers);
  }
}

void append(std::vector<float>& pairs, std::complex<double> z) {
  pairs.push_back(static_cast<float>(z.real()));
  pairs.push_back(static_cast<float>(z.imag()));
}

}  // namespace

Design make_design(const Config& config, const AntennaBits& configured, std::int64_t rx) {
  const OfdmFormat& f = config.format;
  const OfdmReference reference(f);
  Design design;
  Tables& t = design.tables;
  t.rx = static_cast<std::int32_t>(rx);
  t.tx = static_cast<std::int32_t>(f.tx);
  t.symbols = static_cast<std::int32_t>(f.symbols());
  t.carriers = static_cast<std::int32_t>(f.carriers);
  t.announced = config.announced;
  t.margin = static_cast<float>(config.margin);
  for (int a = 0; a < t.tx; ++a) t.configured[a] = static_cast<std::uint8_t>(configured.of(a));
  design.training.assign(reference.training().begin(), reference.training().end());
  for (std::int64_t a = 0; a < f.tx; ++a)
    for (std::int64_t s = 0; s < f.tx; ++s)
      append(design.uncover, std::complex<double>(std::conj(reference.cover(a, s))) / static_cast<double>(f.tx));
  for (int apart = -kMostApart; apart <= kMostApart; ++apart)
    append(design.ramp,
           std::polar(1.0, -std::numbers::pi * apart * static_cast<double>(f.prefix) / static_cast<double>(f.fft)));
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    if (reference.sync_antenna(c) < 0) {
      design.odd.push_back(static_cast<std::int32_t>(c));
      continue;
    }
    design.even.push_back(static_cast<std::int32_t>(c));
    design.sent.push_back(reference.sync()[static_cast<std::size_t>(c)]);
  }
  t.evens = static_cast<std::int32_t>(design.even.size());
  t.odds = static_cast<std::int32_t>(design.odd.size());
  t.signs_pitch = (t.evens + t.tx - 1) / t.tx;
  for (int k = 0; k < kNumbers; ++k) {
    const auto signs = OfdmAnnouncement::signs(k, t.signs_pitch);
    design.signs.insert(design.signs.end(), signs.begin(), signs.end());
  }
  return design;
}

Tables Design::here() const noexcept {
  Tables t = tables;
  t.training = training.data();
  t.uncover = uncover.data();
  t.ramp = ramp.data();
  t.odd = odd.data();
  t.even = even.data();
  t.sent = sent.data();
  t.signs = signs.data();
  return t;
}

std::size_t scratch_bytes(const Design& design) {
  Scratch count(nullptr);
  count.take<Evidence>(design.tables.evens);
  return count.bytes();
}

std::int64_t run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, Memory& memory,
                     std::uint8_t* modulation, float* margin, std::byte* scratch) noexcept {
  const Tables t = design.here();
  Scratch room(scratch);
  auto* const evidence = room.take<Evidence>(t.evens);
  double noise[kMostAntennas];
  std::int64_t unclear = 0;
  for (std::int64_t f = 0; f < frames; ++f) {
    const auto* const frame = reinterpret_cast<const float*>(carriers + f * t.frame());
    if (t.announced) {
      measure_noise(t, frame, noise);
      for (int i = 0; i < t.evens; ++i) evidence[i] = weigh(t, frame, noise, i);
    }
    for (int a = 0; a < t.tx; ++a) {
      const Reading reading = t.announced ? read_number(t, evidence, a) : Reading{};
      unclear += !settle(t, reading, a, memory);
      modulation[f * t.tx + a] = memory.bits[a];
      if (margin) margin[f * t.tx + a] = reading.margin;
    }
  }
  return unclear;
}

}  // namespace iqd::mimo_modulation
