// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/soqpsk.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <utility>

#include "signal/filters/windows.hpp"

namespace iqd::soqpsk {
namespace {

using complex = std::complex<double>;
constexpr double kPi = std::numbers::pi;
constexpr std::int64_t kPulseBits = 8;

double sinc(double x) {
  return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x);
}

/// The frequency pulse of SOQPSK-TG, not scaled; u in units of two bits, -2 … 2.
double pulse(double u) {
  constexpr double kRho = 0.7, kB = 1.25, kFlat = 1.5, kSlope = 0.5;
  u = std::fabs(u);
  // cos(pi x / 2) / (1 - x^2), written without a singularity at x = 1.
  const double x = 2 * kRho * kB * u;
  const double cosine = kPi / 2 * sinc((1 - x) / 2) / (1 + x);
  const double window = u <= kFlat ? 1 : (1 + std::cos(kPi * (u - kFlat) / kSlope)) / 2;
  return cosine * sinc(kB * u) * window;
}

/// Simpson's rule.
double integral_of_pulse(double from, double to) {
  constexpr int kSteps = 64;
  const double h = (to - from) / kSteps;
  double sum = pulse(from) + pulse(to);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 != 0 ? 4 : 2) * pulse(from + i * h);
  return sum * h / 3;
}

/// The samples of one bit, from the bit and its neighbours.
class Samples {
 public:
  explicit Samples(std::int64_t samples_per_bit) : samples_per_bit_(samples_per_bit), turned_{0} {
    for (const double step : phase_increments(samples_per_bit)) turned_.push_back(turned_.back() + step);
  }

  /// Sample j of bit k; `bits` as in Modulator::samples.
  complex at(std::int64_t k, std::uint32_t bits, std::int64_t j) const {
    const auto a = [bits](int offset) { return (bits >> (Modulator::kFuture - offset) & 1) != 0 ? 1.0 : -1.0; };
    const bool even = k % 2 == 0;
    // All pulses up to that of bit k - 3 are over: the phase starts from the state after it.
    double phase = even ? std::atan2(a(-3), a(-4)) : std::atan2(a(-4), a(-3));
    for (int i = -2; i <= Modulator::kFuture; ++i) {
      const double sign = even == (i % 2 == 0) ? -1 : 1;
      const double alpha = sign * a(i - 1) * (a(i) - a(i - 2)) / 2;
      phase += kPi * alpha * turned_[static_cast<std::size_t>(samples_per_bit_ * (Modulator::kFuture - i) + j)];
    }
    return std::polar(1.0, phase);
  }

 private:
  std::int64_t samples_per_bit_;
  std::vector<double> turned_;  // phase of a symbol of +1, in half turns, at each sample of its pulse
};

/// The samples of the bits 0 … count - 1; bit(k) also returns those before and after them.
template <class Bit> std::vector<complex> modulated(std::int64_t count, std::int64_t samples_per_bit, Bit bit) {
  const Samples samples(samples_per_bit);
  std::vector<complex> x;
  x.reserve(static_cast<std::size_t>(count * samples_per_bit));
  for (std::int64_t k = 0; k < count; ++k) {
    std::uint32_t bits = 0;
    for (int i = -Modulator::kPast; i <= Modulator::kFuture; ++i) bits = bits << 1 | (bit(k + i) & 1u);
    for (std::int64_t j = 0; j < samples_per_bit; ++j) x.push_back(samples.at(k, bits, j));
  }
  return x;
}

std::size_t modulo(std::int64_t k, std::size_t n) {
  const auto size = static_cast<std::int64_t>(n);
  return static_cast<std::size_t>((k % size + size) % size);
}

/// c(0) + 2 sum of c(i) cos(2 pi f i) at the bins of a transform, f in turns per sample at two samples per bit; 0
/// beyond that band.
std::vector<double> even_response(std::span<const double> c, std::int64_t size, std::int64_t samples_per_bit) {
  std::vector<double> response;
  for (std::int64_t bin = 0; bin < size; ++bin) {
    const std::int64_t signed_bin = bin <= size / 2 ? bin : bin - size;
    const double f = static_cast<double>(signed_bin * samples_per_bit) / static_cast<double>(2 * size);
    double sum = c[0];
    for (std::size_t i = 1; i < c.size(); ++i) sum += 2 * c[i] * std::cos(2 * kPi * f * static_cast<double>(i));
    response.push_back(std::fabs(f) <= 0.5 ? sum : 0);
  }
  return response;
}

}  // namespace

std::vector<double> phase_increments(std::int64_t samples_per_bit) {
  const std::int64_t n = kPulseBits * samples_per_bit;
  std::vector<double> steps;
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto u = [&](std::int64_t at) { return 4 * static_cast<double>(at) / static_cast<double>(n) - 2; };
    steps.push_back(integral_of_pulse(u(i), u(i + 1)));
    total += steps.back();
  }
  for (double& step : steps) step *= 0.5 / total;
  return steps;
}

Modulator::Modulator(std::int64_t samples_per_bit, double amplitude) : samples_per_bit_(samples_per_bit) {
  const Samples samples(samples_per_bit);
  for (std::int64_t parity = 0; parity < 2; ++parity)
    for (std::uint32_t bits = 0; bits < 1u << kBits; ++bits)
      for (std::int64_t j = 0; j < samples_per_bit; ++j) table_.emplace_back(amplitude * samples.at(parity, bits, j));
}

std::vector<complex> modulate(std::span<const std::uint8_t> bits, std::int64_t samples_per_bit) {
  const std::int64_t n = std::ssize(bits);
  return modulated(n, samples_per_bit, [&](std::int64_t k) {
    if (k < 0) k = std::min(k & 1, n - 1);
    if (k >= n) k = std::max<std::int64_t>(0, (k - n) % 2 == 0 ? n - 2 : n - 1);
    return bits[static_cast<std::size_t>(k)];
  });
}

std::vector<complex> pilot_waveform(const PacketFormat& format) {
  const auto pilot = format.pilot();
  const auto period = read_bits(format.preamble).value();
  const std::int64_t n = std::ssize(pilot);
  return modulated(n, format.samples_per_bit, [&](std::int64_t k) {
    if (k >= 0 && k < n) return pilot[static_cast<std::size_t>(k)];
    return period[modulo(k < 0 ? k : k - n, period.size())];
  });
}

std::vector<complex> preamble_waveform(const PacketFormat& format, Template form) {
  const auto period = read_bits(format.preamble).value();
  auto x = modulated(std::ssize(period), format.samples_per_bit,
                     [&](std::int64_t k) { return period[modulo(k, period.size())]; });
  if (form == Template::grid45)
    for (complex& v : x) v = std::polar(1.0, std::round(std::arg(v) * 4 / kPi) * kPi / 4);
  return x;
}

std::span<const double> detection_filter() {
  static constexpr std::array kHalf{.423924,  .360951,  .189789, .020359, -.046993, -.052621,
                                    -.036366, -.005831, .011879, .012683, .005823,  -.003733};
  static constexpr auto kTaps = [] {
    std::array<double, 2 * kHalf.size() - 1> taps{};
    for (std::size_t i = 0; i < kHalf.size(); ++i) taps[kHalf.size() - 1 - i] = taps[kHalf.size() - 1 + i] = kHalf[i];
    return taps;
  }();
  return kTaps;
}

std::vector<double> detection_response(std::int64_t size, std::int64_t samples_per_bit) {
  return even_response(detection_filter().subspan(detection_filter().size() / 2), size, samples_per_bit);
}

namespace {

/// Autocorrelation of a long random signal at two samples per bit, lags 0 … 64.
constexpr std::array kAutocorrelation{
    1.000000e+00,  8.848085e-01,  6.096299e-01,  3.199632e-01,  1.203672e-01,  2.698500e-02,  4.283933e-04,
    -1.845737e-03, -6.462847e-04, -1.218605e-04, 1.825733e-04,  4.916937e-04,  7.766146e-04,  1.044049e-03,
    1.292179e-03,  1.478381e-03,  1.556312e-03,  1.523104e-03,  1.417658e-03,  1.277291e-03,  1.110102e-03,
    9.070708e-04,  6.802657e-04,  4.880707e-04,  3.982478e-04,  4.172957e-04,  4.834633e-04,  5.390702e-04,
    5.863514e-04,  6.627690e-04,  7.810514e-04,  9.106344e-04,  1.009858e-03,  1.056785e-03,  1.048328e-03,
    9.839328e-04,  8.506679e-04,  6.279147e-04,  3.251656e-04,  3.588931e-06,  -2.667420e-04, -4.631187e-04,
    -6.000633e-04, -6.573271e-04, -5.487610e-04, -2.089714e-04, 2.869707e-04,  7.193509e-04,  8.505038e-04,
    5.838822e-04,  4.277752e-05,  -5.101483e-04, -8.527064e-04, -9.152959e-04, -7.590351e-04, -4.830424e-04,
    -1.397353e-04, 2.751423e-04,  7.413286e-04,  1.136163e-03,  1.288284e-03,  1.128305e-03,  7.487172e-04,
    2.960890e-04,  -1.751549e-04};

}  // namespace

std::vector<double> power_spectrum(std::int64_t size, std::int64_t samples_per_bit) {
  constexpr std::int64_t kLags = std::ssize(kAutocorrelation);
  std::array<double, kLags> weighted;
  for (std::int64_t i = 0; i < kLags; ++i) {
    const auto lag = static_cast<std::size_t>(i);
    weighted[lag] = kAutocorrelation[lag] * window_at(Window::blackman, kLags + i, 2 * kLags + 1);
  }
  std::vector<double> power = even_response(weighted, size, samples_per_bit);
  const double least = 1e-4 * *std::max_element(power.begin(), power.end());
  double sum = 0;
  for (double& p : power) sum += p = std::max(p, least);
  for (double& p : power) p *= static_cast<double>(size) / sum;
  return power;
}

void encode_differential(std::span<std::uint8_t> bits) {
  std::uint8_t last = 0;
  for (std::size_t k = 0; k < bits.size(); ++k) {
    last = static_cast<std::uint8_t>(bits[k] ^ last ^ (k % 2 == 0 ? 1 : 0));
    bits[k] = last;
  }
}

void decode_differential(std::span<std::uint8_t> bits) {
  std::uint8_t last = 0;
  for (std::size_t k = 0; k < bits.size(); ++k)
    bits[k] = static_cast<std::uint8_t>(std::exchange(last, bits[k]) ^ bits[k] ^ (k % 2 == 0 ? 1 : 0));
}

}  // namespace iqd::soqpsk
