// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "pipeline/stages/transmit/aph_predistorter/aph_predistorter.hpp"

/// For tests: signals, coefficients, the result by definition, and the result of the CPU.
namespace iqd::aph_predistorter {

using Exact = std::complex<double>;

inline constexpr float kNoClip = std::numeric_limits<float>::infinity();

/// z(n) term by term, in double precision; x is zero before its beginning.
inline std::vector<Exact> definition(const AphOrders& o, const std::vector<Exact>& h, const std::vector<Complex>& x) {
  const auto psi = [](int p, Exact v) { return std::pow(std::abs(v), p - 1) * v; };
  std::vector<Exact> z(x.size(), h.back());
  for (int n = 0; n < static_cast<int>(x.size()); ++n)
    for (int k = 0; k < std::min(o.taps, n + 1); ++k) {
      const Exact v(x[static_cast<std::size_t>(n - k)].re, x[static_cast<std::size_t>(n - k)].im);
      Exact& sum = z[static_cast<std::size_t>(n)];
      std::size_t at = static_cast<std::size_t>(k);
      for (int p = 1; p <= o.main; p += 2, at += static_cast<std::size_t>(o.taps)) sum += h[at] * psi(p, v);
      for (int q = 1; q <= o.conjugate; q += 2, at += static_cast<std::size_t>(o.taps))
        sum += h[at] * std::conj(psi(q, v));
    }
  return z;
}

inline std::vector<Exact> coefficients(const AphOrders& o, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> part(0, 0.1);
  std::vector<Exact> h(static_cast<std::size_t>(o.coefficients()));
  for (Exact& v : h) v = {part(engine), part(engine)};
  h[0] += 1;
  return h;
}
/// Like a carrier of rms 0.27, with some samples of up to 1.5.
inline std::vector<Complex> signal(int n, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> part(0, 0.19f);
  std::uniform_real_distribution<float> size(0.9f, 1.5f), phase(0, 6.28f);
  std::vector<Complex> x(static_cast<std::size_t>(n));
  for (Complex& v : x) v = {part(engine), part(engine)};
  for (std::size_t i = 7; i < x.size(); i += 97) {
    const auto v = std::polar(size(engine), phase(engine));
    x[i] = {v.real(), v.imag()};
  }
  return x;
}
inline std::vector<sc16> shorts(const std::vector<Complex>& x) {
  std::vector<sc16> s;
  bool cut = false;
  for (const Complex v : x) s.push_back({to_part(v.re / 2, cut), to_part(v.im / 2, cut)});
  return s;
}

/// In blocks of these lengths, the last one repeating; each is a copy with the past that it needs.
template <class Out, class In>
std::vector<Out> predistorted(const Model& model, const std::vector<In>& x, float clip = kNoClip,
                              const std::vector<std::int64_t>& lengths = {1 << 30}, Watch* told = nullptr) {
  std::vector<std::byte> scratch(scratch_bytes(model));
  std::vector<Out> z;
  std::size_t turn = 0;
  for (std::int64_t at = 0; at < std::ssize(x);) {
    const std::int64_t n = std::min(lengths[std::min(turn++, lengths.size() - 1)], std::ssize(x) - at);
    const std::int64_t past = std::min<std::int64_t>(model.taps - 1, at);
    const std::vector<In> window(x.begin() + at - past, x.begin() + at + n);
    std::vector<Out> block(static_cast<std::size_t>(n));
    Watch watch;
    run_cpu(model, clip, Row<In, Out>{window.data() + past, past, block.data(), n}, watch, scratch.data());
    if (told != nullptr) told->add(watch);
    z.insert(z.end(), block.begin(), block.end());
    at += n;
  }
  return z;
}

template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
inline Exact value(Complex v) {
  return {v.re, v.im};
}

}  // namespace iqd::aph_predistorter
