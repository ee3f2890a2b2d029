// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/transmit/aph_estimator/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace iqd::aph_estimator {
double Hermitian::solve(std::span<Complex64> x) const noexcept {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (!scale()) return kInfinite;
  const double largest = norm();
  double load = kFirstLoad;
  while (!factor(load))
    if ((load *= kNextLoad) > kLastLoad) return kInfinite;
  for (std::int64_t i = 0; i < order_; ++i) x[static_cast<std::size_t>(i)] *= scale_[i];
  substitute(x.data());
  for (std::int64_t i = 0; i < order_; ++i) x[static_cast<std::size_t>(i)] *= scale_[i];
  const bool finite = std::all_of(x.begin(), x.end(), [](Complex64 v) { return std::isfinite(power_of(v)); });
  return finite ? largest * inverse_norm() : kInfinite;
}

bool Hermitian::scale() const noexcept {
  for (std::int64_t i = 0; i < order_; ++i) {
    const double d = (*this)(i, i).real();
    if (!(d > 0 && std::isfinite(d))) return false;
    scale_[i] = 1 / std::sqrt(d);
  }
  for (std::int64_t i = 0; i < order_; ++i)
    for (std::int64_t j = 0; j < order_; ++j) (*this)(i, j) *= scale_[i] * scale_[j];
  return true;
}

/// L L^H = M + load; L(i, j), i > j, replaces M(i, j).
bool Hermitian::factor(double load) const noexcept {
  for (std::int64_t i = 0; i < order_; ++i) {
    Complex64* const row = m_ + i * order_;
    for (std::int64_t j = 0; j < i; ++j) {
      const Complex64* const other = m_ + j * order_;
      Complex64 sum = conjugate(other[i]);
      for (std::int64_t k = 0; k < j; ++k) sum = less(sum, row[k], other[k]);
      row[j] = sum, row[j] /= diagonal_[j];
    }
    double pivot = 1 + load;
    for (std::int64_t k = 0; k < i; ++k) pivot -= power_of(row[k]);
    if (!is_pivot(pivot, load)) return false;
    diagonal_[i] = std::sqrt(pivot);
  }
  return true;
}

/// x becomes (L L^H)^-1 x.
void Hermitian::substitute(Complex64* x) const noexcept {
  for (std::int64_t i = 0; i < order_; ++i) {
    for (std::int64_t k = 0; k < i; ++k) x[i] = less(x[i], x[k], conjugate((*this)(i, k)));
    x[i] /= diagonal_[i];
  }
  for (std::int64_t i = order_ - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < order_; ++k) x[i] = less(x[i], x[k], (*this)(k, i));
    x[i] /= diagonal_[i];
  }
}

/// The largest row sum of magnitudes: between the largest eigenvalue and sqrt(order) times that.
double Hermitian::norm() const noexcept {
  double largest = 0;
  for (std::int64_t i = 0; i < order_; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < order_; ++j) sum += std::hypot((*this)(i, j).real(), (*this)(i, j).imag());
    largest = std::max(largest, sum);
  }
  return largest;
}

/// 1 over the smallest eigenvalue, by inverse iteration.
double Hermitian::inverse_norm() const noexcept {
  double growth = 1;
  for (std::int64_t i = 0; i < order_; ++i) probe_[i] = first_probe(i);
  for (int turn = 0; turn < kProbes; ++turn) {
    substitute(probe_);
    double sum = 0;
    for (std::int64_t i = 0; i < order_; ++i) sum += power_of(probe_[i]);
    growth = std::sqrt(sum);
    for (std::int64_t i = 0; i < order_; ++i) probe_[i] /= growth;
  }
  return growth;
}

}  // namespace iqd::aph_estimator
