// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>

#include "pipeline/stages/telemetry/packet_quality/packet_quality.hpp"
#include "signal/filters/power_of_two_fft.hpp"
#include "signal/formats/pn_sequence.hpp"
#include "signal/formats/soqpsk.hpp"

namespace iqd::packet_quality {
namespace {

std::vector<std::uint8_t> reference_bits() {
  const PnSequence sequence(15);
  std::vector<std::uint8_t> bits;
  for (std::uint32_t state = sequence.state_at(1000); bits.size() < kReferenceBits; state = sequence.next(state))
    bits.push_back(static_cast<std::uint8_t>(sequence.bit(state)));
  return bits;
}

}  // namespace

Levels levels_of(std::span<float> rails) noexcept {
  std::ranges::sort(rails);
  Levels levels{};
  float sum = 0;
  for (float& level : levels.at) {
    for (const float rail : rails.first<kPerLevel>()) level += rail;
    rails = rails.subspan(kPerLevel);
    sum += level;
  }
  for (float& level : levels.at) level *= kLevels / sum;
  return levels;
}

void set_reference(Setup& setup) {
  setup.reference_bits = reference_bits();
  std::vector<std::complex<double>> spectrum = soqpsk::modulate(setup.reference_bits, 2);
  power_of_two_fft(spectrum);
  const std::vector<double> detection = soqpsk::detection_response(kReference, 2);
  setup.reference.clear();
  std::vector<std::complex<double>> filtered;
  for (std::size_t k = 0; k < kReference; ++k) {
    filtered.push_back(std::conj(spectrum[k] * detection[k]));
    setup.reference.emplace_back(spectrum[k] * detection[k]);
  }
  // A transform of the conjugate is the conjugate of the inverse.
  power_of_two_fft(filtered);
  std::vector<float> rails;
  for (std::size_t k = kEnds; k < kReferenceBits - kEnds; ++k) {
    const std::complex<double> y = std::conj(filtered[2 * k]);
    const double rail = k % 2 == 0 ? y.real() : y.imag();
    rails.push_back(static_cast<float>(setup.reference_bits[k] != 0 ? rail : -rail));
  }
  setup.filter = levels_of(rails);
}

}  // namespace iqd::packet_quality
