// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pipeline/stages/telemetry/equalizer/toeplitz.hpp"

// Plain loops of fixed length over separate real and imaginary parts, compiled once for each CPU instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/toeplitz_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

template <std::int64_t Size> struct Split {
  alignas(64) double re[Size] = {};
  alignas(64) double im[Size] = {};
};

/// The two vectors, from the diagonal down: u is the factor's next column, v what remains to be subtracted from it.
struct Generators {
  Split<kStride> u;
  Split<kStride + 1> v;

  explicit Generators(std::span<const std::complex<double>, kBand> t) {
    const double scale = 1 / std::sqrt(t[0].real());
    for (std::size_t p = 0; p < kBand; ++p) {
      u.re[p] = v.re[p] = t[p].real() * scale;
      u.im[p] = v.im[p] = t[p].imag() * scale;
    }
  }

  void advance() {
    const double re = v.re[1] / u.re[0];
    const double im = v.im[1] / u.re[0];
    const double w = 1 / std::sqrt(1 - (re * re + im * im));
    for (std::int64_t p = 0; p < kStride; ++p) {
      const double a_re = u.re[p];
      const double a_im = u.im[p];
      const double b_re = v.re[p + 1];
      const double b_im = v.im[p + 1];
      u.re[p] = (a_re - (re * b_re + im * b_im)) * w;
      u.im[p] = (a_im - (re * b_im - im * b_re)) * w;
      v.re[p] = (b_re - (re * a_re - im * a_im)) * w;
      v.im[p] = (b_im - (re * a_im + im * a_re)) * w;
    }
  }
};

/// b becomes the solution of L b = g; `factor` becomes L.
void substitute_forward(Generators& generators, Split<kRows + kStride>& b, ToeplitzFactor& factor) {
  const auto& u = generators.u;
  for (std::int64_t j = 0; j < kRows; ++j) {
    if (j > 0) generators.advance();
    std::copy_n(u.re, kStride, factor.re[j]);
    std::copy_n(u.im, kStride, factor.im[j]);
    const double re = b.re[j] / u.re[0];
    const double im = b.im[j] / u.re[0];
    for (std::int64_t p = 0; p < kStride; ++p) {
      b.re[j + p] -= u.re[p] * re - u.im[p] * im;
      b.im[j + p] -= u.re[p] * im + u.im[p] * re;
    }
    b.re[j] = re;
    b.im[j] = im;
  }
}

/// b becomes the solution of L^H c = b; it is zero-padded.
void substitute_back(const ToeplitzFactor& factor, Split<kRows + kStride>& b) {
  constexpr std::int64_t kLanes = 8;
  std::fill_n(b.re + kRows, kStride, 0.0);
  std::fill_n(b.im + kRows, kStride, 0.0);
  for (std::int64_t j = kRows - 1; j >= 0; --j) {
    const double* const l_re = factor.re[j];
    const double* const l_im = factor.im[j];
    const double diagonal = l_re[0];
    const double own_re = b.re[j];
    const double own_im = b.im[j];
    b.re[j] = b.im[j] = 0;
    double re[kLanes] = {};
    double im[kLanes] = {};
    for (std::int64_t p = 0; p < kStride; p += kLanes)
      for (std::int64_t l = 0; l < kLanes; ++l) {
        re[l] += l_re[p + l] * b.re[j + p + l] + l_im[p + l] * b.im[j + p + l];
        im[l] += l_re[p + l] * b.im[j + p + l] - l_im[p + l] * b.re[j + p + l];
      }
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
      for (std::int64_t l = 0; l < half; ++l) {
        re[l] += re[l + half];
        im[l] += im[l + half];
      }
    b.re[j] = (own_re - re[0]) / diagonal;
    b.im[j] = (own_im - im[0]) / diagonal;
  }
}

void solve(std::span<const std::complex<double>, kBand> t, std::span<const cf32, kRows> g, ToeplitzFactor& factor,
           std::span<cf32, kRows> c) {
  Generators generators(t);
  Split<kRows + kStride> b;
  for (std::size_t i = 0; i < kRows; ++i) {
    b.re[i] = g[i].real();
    b.im[i] = g[i].imag();
  }
  substitute_forward(generators, b, factor);
  substitute_back(factor, b);
  for (std::size_t i = 0; i < kRows; ++i) c[i] = {static_cast<float>(b.re[i]), static_cast<float>(b.im[i])};
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(solve);

void solve_toeplitz(std::span<const std::complex<double>, kBand> t, std::span<const cf32, kRows> g,
                    ToeplitzFactor& factor, std::span<cf32, kRows> c) noexcept {
  HWY_DYNAMIC_DISPATCH(solve)(t, g, factor, c);
}

}  // namespace iqd::equalizer
#endif
