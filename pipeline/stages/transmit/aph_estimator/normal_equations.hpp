// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/element.hpp"
#include "signal/aph.hpp"

/// Least squares of an augmented parallel Hammerstein model, min |z - Psi(u) h|, in double precision.
///
/// By the normal equations (Psi^H Psi) h = Psi^H z of functions that are orthonormal for Gaussian u, and Cholesky. With
/// adjacent taps of an oversampled signal cond(Psi^H Psi) is 1e6 … 1e8: of 16 digits 8 or more are left, where the
/// coefficients are used with 7. A QR decomposition would leave more, for 20 times the work: taps are delays of each
/// other, so the 351 products of 26 columns are 45 sums over the samples (of each 4 real ones), and the samples at the
/// edges that one column has and another has not.
namespace iqd::aph_estimator {

struct Solution {
  bool found = false;    // not where something is infinite, NaN or nothing at all
  double condition = 0;  // of Psi^H Psi with its columns made of norm 1: an estimate, within a factor of 10
};

class NormalEquations {
 public:
  explicit NormalEquations(const AphOrders& orders);
  std::size_t scratch_bytes() const noexcept;

  /// Rows `first` … u.size()-1 count, first >= taps. h of the orthogonal basis for this power.
  Solution solve(std::span<const std::complex<double>> u, std::span<const cf32> z, std::int64_t first, double power,
                 std::span<std::complex<double>> h, std::byte* scratch) const noexcept;

 private:
  struct Sums;
  struct Work;
  Work work_in(std::byte* scratch) const noexcept;
  void add_up(std::span<const std::complex<double>> u, std::span<const cf32> z, std::int64_t first, double scale,
              Work& work) const noexcept;
  void functions(std::complex<double> u, std::complex<double>* psi) const noexcept;
  void fill(const Work& work, std::int64_t rows) const noexcept;
  void fill_branches(const Work& work, int p, int q) const noexcept;

  AphOrders orders_;
  int functions_;  // psi_1, psi_3 …: those of the longer branch
  int lefts_;      // these, z, and 1
};

}  // namespace iqd::aph_estimator
