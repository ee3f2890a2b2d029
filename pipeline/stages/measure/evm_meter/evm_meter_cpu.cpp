// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "pipeline/stages/measure/evm_meter/evm_meter.hpp"

namespace iqd::evm_meter {
namespace {

using Complex = std::complex<double>;

/// The nearest level of an axis.
double decide(SymbolMap map, double x) noexcept {
  const double scale = static_cast<double>(axis_scale(map)), most = (1 << axis_bits(map)) - 1;
  const double odd = 2 * std::floor(x / scale / 2) + 1;
  return std::clamp(odd, -most, most) * scale;
}
Complex decide(SymbolMap map, Complex x) noexcept {
  return {decide(map, x.real()), map == SymbolMap::bpsk ? 0.0 : decide(map, x.imag())};
}
bool is_finite(cf32 x) noexcept {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

}  // namespace

bool measure(SymbolMap map, std::span<const cf32> symbols, Levels levels) noexcept {
  double power = 0, count = 0;
  for (const cf32 y : symbols)
    if (is_finite(y)) power += std::norm(Complex(y)), count += 1;
  if (!(power > 0)) return false;
  const double rms = std::sqrt(power / count);
  double along = 0, decided = 0;  // sums of Re(y conj d) and |d|^2
  for (const cf32 y : symbols) {
    if (!is_finite(y)) continue;
    const Complex x = Complex(y) / rms, d = decide(map, x);
    along += x.real() * d.real() + x.imag() * d.imag();
    decided += std::norm(d);
  }
  const double gain = along / decided;
  double error = 0;
  for (const cf32 y : symbols) {
    if (!is_finite(y)) continue;
    const Complex x = Complex(y) / rms;
    error += std::norm(x / gain - decide(map, x));
  }
  const double evm = std::sqrt(error / decided);
  levels[0] = static_cast<float>(evm);
  levels[1] = static_cast<float>(20 * std::log10(std::max(evm, 1e-10)));
  levels[2] = static_cast<float>(gain * rms);
  levels[3] = static_cast<float>(count);
  return true;
}

}  // namespace iqd::evm_meter
