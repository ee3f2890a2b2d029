// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/symbol_density.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

namespace iqd::live {
namespace {

template <class T> double root_of_mean(std::span<const T> values) noexcept {
  double sum = 0;
  std::size_t count = 0;
  for (const T& x : values) {
    const auto square = static_cast<double>(std::norm(x));
    if (!std::isfinite(square)) continue;
    sum += square;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

std::size_t cell_of(double part, double extent) noexcept {
  return static_cast<std::size_t>(std::clamp(std::floor((part / extent + 1) * SymbolDensity::kCells / 2), 0.0,
                                             static_cast<double>(SymbolDensity::kCells - 1)));
}

}  // namespace

double round_up(double x) noexcept {
  if (!(x > 0) || !std::isfinite(x)) return 1;
  const double decade = std::pow(10.0, std::floor(std::log10(x)));
  // A little more, since 0.1 is no binary number.
  for (const double step : {1.0, 2.0, 5.0})
    if (x <= decade * step * (1 + 1e-9)) return decade * step;
  return decade * 10;
}

double Extent::fit(double rms, double times) noexcept {
  const double least = rms * times;
  if (least > 0 && (least > value_ || least < value_ / 3)) value_ = round_up(least);
  return value_;
}

SymbolDensity::SymbolDensity(std::span<const cf32> symbols, double extent) noexcept {
  for (const cf32& s : symbols) {
    if (!std::isfinite(s.real()) || !std::isfinite(s.imag())) continue;
    const std::size_t column = cell_of(static_cast<double>(s.real()), extent);
    const std::size_t row = kCells - 1 - cell_of(static_cast<double>(s.imag()), extent);
    ++counts_[row * kCells + column];
  }
}

std::string SymbolDensity::codes() const {
  const double most = std::log2(1.0 + *std::ranges::max_element(counts_));
  std::string codes;
  for (const std::uint16_t count : counts_)
    codes += static_cast<char>(1 + (most > 0 ? std::lround(254 * std::log2(1.0 + count) / most) : 0));
  return codes;
}

double rms_of(std::span<const cf32> symbols) noexcept {
  return root_of_mean(symbols);
}
double rms_of(std::span<const float> values) noexcept {
  return root_of_mean(values);
}

}  // namespace iqd::live
