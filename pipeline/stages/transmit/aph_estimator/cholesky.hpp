// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "base/views.hpp"
#include "pipeline/stages/transmit/aph_estimator/products.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::aph_estimator {

/// A numerically singular matrix is loaded with 1e-14 of its diagonal; if that fails, with 1e-12 …
inline constexpr double kFirstLoad = 1e-14, kNextLoad = 100, kLastLoad = 1e-6;
IQD_HOST_DEVICE inline bool is_pivot(double pivot, double load) noexcept {
  return pivot > load / 10;
}
/// Inverse iteration, for the condition number.
inline constexpr int kProbes = 6;
IQD_HOST_DEVICE inline Complex64 first_probe(std::int64_t i) noexcept {
  return i % 2 == 0 ? Complex64(1, 0) : Complex64(-1, 0.5);
}

/// A Hermitian matrix with a positive diagonal, and the solution of its equations.
class Hermitian {
 public:
  Hermitian() = default;
  Hermitian(std::int64_t order, Scratch& scratch)
      : order_(order),
        m_(scratch.take<Complex64>(order * order)),
        scale_(scratch.take<double>(order)),
        diagonal_(scratch.take<double>(order)),
        probe_(scratch.take<Complex64>(order)) {}

  /// Set both M(i, j) and M(j, i).
  Complex64& operator()(std::int64_t i, std::int64_t j) const noexcept { return m_[i * order_ + j]; }

  /// x becomes M^-1 x; the matrix is overwritten. Returns the approximate condition number of M scaled to a diagonal of
  /// ones; infinite, with a meaningless x, if something is not finite or the diagonal is not positive.
  double solve(std::span<Complex64> x) const noexcept;

 private:
  bool scale() const noexcept;
  bool factor(double load) const noexcept;
  void substitute(Complex64* x) const noexcept;
  double norm() const noexcept;
  double inverse_norm() const noexcept;

  std::int64_t order_ = 0;
  Complex64* m_ = nullptr;  // scaled above the diagonal, the factor's columns below
  double* scale_ = nullptr;
  double* diagonal_ = nullptr;  // of the factor
  Complex64* probe_ = nullptr;
};

}  // namespace iqd::aph_estimator
