// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/formats/soqpsk.hpp"

/// For the tests: packets behind a channel, and the equalizers in double precision, by the sums of their definitions.
namespace iqd::equalizer {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

inline std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// A packet with its neighbours, the channel that it came through, and the noise's variance; rounded to float.
struct Received {
  Signal window;
  Signal channel;  // h(-12) … h(25)
  double noise;
  std::vector<std::uint8_t> bits{};  // of the packet
};

inline void round_to_float(Signal& x) {
  for (Complex& v : x) v = Complex(cf32(v));
}

struct Ray {
  std::int64_t delay;  // samples
  Complex gain;
};

inline void PrintTo(const Ray& ray, std::ostream* out) {
  *out << ray.gain << " after " << ray.delay;
}

/// Rays that are band-limited like the signal, as an estimate from the signal is. `pilot`: what the packet begins with;
/// all other bits are random.
inline Received receive(const PacketFormat& format, const std::vector<Ray>& rays, double noise, unsigned seed,
                        const std::vector<std::uint8_t>& pilot = {}) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, std::sqrt(noise / 2));
  const auto d = soqpsk::detection_filter();
  Received received{Signal(at(format.window())), Signal(kChannelTaps), static_cast<float>(noise)};
  for (const Ray& ray : rays)
    for (std::int64_t i = 0; i < std::ssize(d); ++i)
      received.channel[at(i - std::ssize(d) / 2 + ray.delay - kChannelFirst)] += ray.gain * d[at(i)];
  round_to_float(received.channel);

  const std::int64_t margin = 64;  // bits, so that the window's ends see the whole channel
  const std::int64_t s = format.samples_per_bit;
  std::vector<std::uint8_t> bits(at(format.window() / s + 2 * margin));
  for (std::uint8_t& b : bits) b = static_cast<std::uint8_t>(engine() & 1);
  const auto first = bits.begin() + margin + PacketFormat::kGuard / s;
  std::copy(pilot.begin(), pilot.end(), first);
  received.bits.assign(first, first + format.bits());
  const Signal sent = soqpsk::modulate(bits, s);
  for (std::int64_t n = 0; n < format.window(); ++n) {
    for (std::int64_t m = 0; m < kChannelTaps; ++m)
      received.window[at(n)] += received.channel[at(m)] * sent[at(n + margin * s - m - kChannelFirst)];
    received.window[at(n)] += Complex(normal(engine), normal(engine));
  }
  round_to_float(received.window);
  return received;
}

/// The unscaled transform; sign -1: forward.
inline Signal transform(const Signal& x, int sign) {
  if (x.size() == 1) return x;
  const std::size_t half = x.size() / 2;
  Signal even(half), odd(half), y(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = transform(even, sign);
  odd = transform(odd, sign);
  for (std::size_t k = 0; k < half; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(x.size());
    const Complex turned = odd[k] * std::polar(1.0, sign * angle);
    y[k] = even[k] + turned;
    y[k + half] = even[k] - turned;
  }
  return y;
}

/// One packet's equalizers.
class Model {
 public:
  Model(const PacketFormat& format, const Received& received) : format_(format), r_(received) {}

  /// (R + load I) c = h*(-k), by elimination.
  Signal solve(double load) const {
    const std::int64_t n = kTaps;
    std::vector<Signal> rows(at(n), Signal(at(n + 1)));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) rows[at(i)][at(j)] = correlation(i - j) + (i == j ? load : 0);
      rows[at(i)][at(n)] = std::conj(channel(-(i + kFirst)));
    }
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j + 1; i < std::min(n, j + kChannelTaps); ++i) {
        const Complex factor = rows[at(i)][at(j)] / rows[at(j)][at(j)];
        for (std::int64_t k = j; k < std::min(n, j + kChannelTaps); ++k)
          rows[at(i)][at(k)] -= factor * rows[at(j)][at(k)];
        rows[at(i)][at(n)] -= factor * rows[at(j)][at(n)];
      }
    Signal c(at(n));
    for (std::int64_t i = n - 1; i >= 0; --i) {
      Complex sum = rows[at(i)][at(n)];
      for (std::int64_t k = i + 1; k < n; ++k) sum -= rows[at(i)][at(k)] * c[at(k)];
      c[at(i)] = sum / rows[at(i)][at(i)];
    }
    return c;
  }
  double energy() const { return correlation(0).real(); }

  Signal descend(Signal c, double step, std::int64_t iterations) const {
    const std::int64_t samples = format_.samples();
    double power = 0;
    for (std::int64_t m = 0; m < samples; ++m) power += std::norm(r(m)) / static_cast<double>(samples);
    for (std::int64_t i = 0; i < iterations; ++i) {
      Signal gradient(at(kTaps));
      for (std::int64_t m = 0; m < samples; ++m) {
        const Complex y = filtered_sample(c, m);
        const Complex z = 2 * (std::norm(y) - 1) * y / static_cast<double>(samples);
        for (std::int64_t k = 0; k < kTaps; ++k) gradient[at(k)] += z * std::conj(r(m - k - kFirst));
      }
      for (std::int64_t k = 0; k < kTaps; ++k) c[at(k)] -= step / power * gradient[at(k)];
    }
    return c;
  }

  /// Symbols that the taps give at the bits' centres; if d is applied, two samples a bit.
  Signal symbols_of_taps(const Signal& c, bool detection_filter) const {
    const auto d = soqpsk::detection_filter();
    const std::int64_t reach = detection_filter ? std::ssize(d) / 2 : 0;
    Signal y;
    for (std::int64_t n = -reach; n < format_.samples() + reach; ++n) y.push_back(filtered_sample(c, n));
    Signal symbols;
    for (std::int64_t n = 0; n < format_.samples(); n += format_.samples_per_bit) {
      Complex sum = detection_filter ? 0 : y[at(n)];
      for (std::int64_t i = -reach; detection_filter && i <= reach; ++i) sum += d[at(i + reach)] * y[at(n - i + reach)];
      symbols.push_back(sum);
    }
    return symbols;
  }

  /// fde1 if psi is all 1.
  Signal symbols_of_bins(const std::vector<double>& psi, const std::vector<double>& d) const {
    const std::int64_t size = transform_size(format_);
    Signal x(at(size)), h(at(size));
    std::copy(r_.window.begin(), r_.window.end(), x.begin());
    for (std::int64_t m = 0; m < kChannelTaps; ++m) h[at((m + kChannelFirst + size) % size)] = r_.channel[at(m)];
    x = transform(x, -1);
    h = transform(h, -1);
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] *= std::conj(h[k]) * psi[k] / (std::norm(h[k]) * psi[k] + r_.noise) * d[k] / static_cast<double>(size);
    x = transform(x, 1);
    Signal symbols;
    for (std::int64_t k = 0; k < format_.bits(); ++k)
      symbols.push_back(x[at(PacketFormat::kGuard + k * format_.samples_per_bit)]);
    return symbols;
  }

 private:
  Complex r(std::int64_t n) const { return r_.window[at(n + PacketFormat::kGuard)]; }
  Complex channel(std::int64_t m) const {
    const std::int64_t i = m - kChannelFirst;
    return i >= 0 && i < kChannelTaps ? r_.channel[at(i)] : 0;
  }
  Complex correlation(std::int64_t k) const {
    Complex sum = 0;
    for (std::int64_t n = kChannelFirst; n < kChannelFirst + kChannelTaps; ++n)
      sum += channel(n) * std::conj(channel(n - k));
    return sum;
  }
  Complex filtered_sample(const Signal& c, std::int64_t n) const {
    Complex sum = 0;
    for (std::int64_t k = 0; k < kTaps; ++k) sum += c[at(k)] * r(n - k - kFirst);
    return sum;
  }

  const PacketFormat& format_;
  const Received& r_;
};

}  // namespace iqd::equalizer
