// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "signal/formats/packet_format.hpp"

/// SOQPSK-TG (IRIG 106): constant envelope, continuous phase, each bit's pulse eight bits long. Sample s k (with s
/// samples per bit) is the centre of the eye of bit k. Even bits are on the real axis, odd ones on the imaginary axis,
/// 1 on the positive side. So phase is absolute, and the state after bit k is the point of the bits k and k - 1.
///
///   alpha_k = (-1)^(k+1) a_(k-1) (a_k - a_(k-2)) / 2,  a = 2 b - 1;  the phase turns by pi/2 alpha_k around bit k - 1
namespace iqd::soqpsk {

/// Phase increments of one ternary symbol of +1 from sample to sample, in half turns: 8 s numbers that add up to 1/2.
/// They begin 4 s samples before the pulse's centre.
std::vector<double> phase_increments(std::int64_t samples_per_bit);

/// Looks up the samples of bits. A sample depends on its own bit, on `kPast` bits before and `kFuture` bits after it,
/// and on whether its bit is even or odd.
class Modulator {
 public:
  static constexpr int kPast = 4;
  static constexpr int kFuture = 5;
  static constexpr int kBits = kPast + 1 + kFuture;

  explicit Modulator(std::int64_t samples_per_bit, double amplitude = 1);
  std::int64_t samples_per_bit() const noexcept { return samples_per_bit_; }

  /// The samples of bit k, `samples_per_bit` of them. Bit i of `bits` is bit k + kFuture - i: the oldest is the
  /// highest.
  const cf32* samples(std::int64_t k, std::uint32_t bits) const noexcept {
    const auto row = static_cast<std::size_t>(k & 1) << kBits | (bits & ((1u << kBits) - 1));
    return table_.data() + row * static_cast<std::size_t>(samples_per_bit_);
  }
  /// [parity of k][bits][sample]
  std::span<const cf32> table() const noexcept { return table_; }

 private:
  std::int64_t samples_per_bit_;
  std::vector<cf32> table_;
};

/// The signal of these bits, beginning with bit 0. The first two and the last two are repeated before and after, so
/// that the phase does not turn there. In double, for references.
std::vector<std::complex<double>> modulate(std::span<const std::uint8_t> bits, std::int64_t samples_per_bit);

/// The pilot's samples p(m), m = 0 … s pilot_bits - 1, with the preamble continued on both sides.
std::vector<std::complex<double>> pilot_waveform(const PacketFormat& format);

enum class Template : std::uint8_t {
  exact,   // the signal itself
  grid45,  // its samples rounded to the nearest of eight points, multiples of 45 degrees
};
inline std::span<const std::string_view> enum_names(Template) {
  static constexpr std::string_view names[] = {"exact", "grid45"};
  return names;
}
/// One period of the preamble in the middle of many.
std::vector<std::complex<double>> preamble_waveform(const PacketFormat& format, Template form);

/// The filter before the decisions, d(-11) … d(11) at two samples per bit: real and symmetric.
std::span<const double> detection_filter();
/// Its response at the bins of a transform of `size` samples; 0 beyond the band of two samples per bit.
std::vector<double> detection_response(std::int64_t size, std::int64_t samples_per_bit);

/// The power spectral density at the bins of a transform of `size` samples: mean 1, at least 1e-4 of its maximum.
std::vector<double> power_spectrum(std::int64_t size, std::int64_t samples_per_bit);

/// c(k) = b(k) ^ ~c(k-1) for even k, b(k) ^ c(k-1) for odd k; c(-1) = 0. In place, bits 0 or 1.
void encode_differential(std::span<std::uint8_t> bits);
void decode_differential(std::span<std::uint8_t> bits);

}  // namespace iqd::soqpsk
