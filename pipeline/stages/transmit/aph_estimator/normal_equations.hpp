// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/element.hpp"
#include "base/views.hpp"
#include "pipeline/stages/transmit/aph_estimator/products.hpp"
#include "signal/transmit/aph.hpp"

/// Least squares of an augmented parallel Hammerstein model, min |z - Psi(u) h|, in double precision.
///
/// By the normal equations (Psi^H Psi) h = Psi^H z of functions that are orthonormal for Gaussian u, and Cholesky. With
/// adjacent taps of an oversampled signal cond(Psi^H Psi) is 1e6 … 1e8: of 16 digits at least 8 remain, and the
/// coefficients are used with 7. A QR decomposition would leave more, for 20 times the work: taps are delays of each
/// other, so the 351 products of 26 columns reduce to 45 sums over the samples (each of 4 real ones), and corrections
/// for the samples at the edges that one column has and another has not.
namespace iqd::aph_estimator {

/// Sums of the products of the parts of a left signal a and a right one b.
struct Sums {
  double rr = 0, ii = 0, ri = 0, ir = 0;

  IQD_HOST_DEVICE void add(Complex64 a, Complex64 b) noexcept {
    rr += a.real() * b.real();
    ii += a.imag() * b.imag();
    ri += a.real() * b.imag();
    ir += a.imag() * b.real();
  }
  /// The sum of conj(a) b; either may be replaced by its conjugate.
  IQD_HOST_DEVICE Complex64 inner(bool conjugate_a, bool conjugate_b) const noexcept {
    const Complex64 sum = conjugate_a == conjugate_b ? Complex64(rr + ii, ri - ir) : Complex64(rr - ii, -(ri + ir));
    return conjugate_a ? conjugate(sum) : sum;
  }
};

/// psi_1, psi_3 … of u, orthonormal for Gaussian u of power 1; as many as the longer branch needs.
struct Functions {
  Functions() = default;
  explicit Functions(const AphOrders& orders) : count(std::max(orders.main_branches(), orders.conjugate_branches())) {
    for (int k = 0; k < kMost; ++k) {
      const auto w = aph_orthogonal(k, 1);
      std::copy(w.begin(), w.end(), weights[k]);
    }
  }
  IQD_HOST_DEVICE void of(Complex64 u, Complex64* psi) const noexcept {
    const double a = power_of(u);
    for (int b = 0; b < count; ++b) {
      const double* const w = weights[b];
      const double factor = (((w[4] * a + w[3]) * a + w[2]) * a + w[1]) * a + w[0];
      psi[b] = factor * u;
    }
  }
  static constexpr int kMost = (AphOrders::kMostMain + 1) / 2;
  int count = 0;
  double weights[kMost][kMost] = {};
};

/// The equations, assembled from sums.
struct Assembly {
  AphOrders orders;
  int functions;          // their count
  const Sums* sums;       // [left: function …, z, 1][function][lag]
  const Complex64* head;  // [function][t]: psi(first - 1 - t)
  const Complex64* tail;  // psi(end - 1 - t)
  Complex64* matrix;      // [coefficient][coefficient]
  Complex64* right;       // [coefficient]

  IQD_HOST_DEVICE int sum_count() const noexcept { return (functions + 2) * functions * orders.taps; }
  IQD_HOST_DEVICE int diagonals() const noexcept { return 2 * orders.taps - 1; }

  /// For branches p and q, M(k, l) = sum over n of conj(phi_p(n - k)) phi_q(n - l), where l - k = d - (taps - 1). For k
  /// or l = 0 it is a sum over all samples; otherwise M(k, l) is M(k-1, l-1) plus the row before the first, minus the
  /// last.
  IQD_HOST_DEVICE void fill_diagonal(int p, int q, int d) const noexcept {
    const int taps = orders.taps, size = orders.coefficients();
    const bool conjugate_p = is_conjugate(p), conjugate_q = is_conjugate(q);
    const int a = function_of(p), b = function_of(q);
    int k = d < taps - 1 ? taps - 1 - d : 0, l = d < taps - 1 ? 0 : d - (taps - 1);
    Complex64 m = sums[(a * functions + b) * taps + l].inner(conjugate_p, conjugate_q);
    if (k > 0) m = conjugate(sums[(b * functions + a) * taps + k].inner(conjugate_q, conjugate_p));
    for (;; ++k, ++l) {
      matrix[(p * taps + k) * size + q * taps + l] = m;
      if (k == taps - 1 || l == taps - 1) return;
      m += term(head, a, k, conjugate_p, b, l, conjugate_q) - term(tail, a, k, conjugate_p, b, l, conjugate_q);
    }
  }
  /// The products of tap l of branch q with the constant and with z.
  IQD_HOST_DEVICE void fill_edges(int q, int l) const noexcept {
    const int size = orders.coefficients(), c = orders.constant_at(), at = q * orders.taps + l;
    const int lag = function_of(q) * orders.taps + l, row = functions * orders.taps;
    const Complex64 one = sums[(functions + 1) * row + lag].inner(false, is_conjugate(q));
    matrix[c * size + at] = one;
    matrix[at * size + c] = conjugate(one);
    right[at] = conjugate(sums[functions * row + lag].inner(false, is_conjugate(q)));
  }
  IQD_HOST_DEVICE void fill_corner(std::int64_t rows, Complex64 z_sum) const noexcept {
    const int c = orders.constant_at();
    matrix[c * orders.coefficients() + c] = {static_cast<double>(rows), 0};
    right[c] = z_sum;
  }

 private:
  IQD_HOST_DEVICE bool is_conjugate(int branch) const noexcept { return branch >= orders.main_branches(); }
  IQD_HOST_DEVICE int function_of(int branch) const noexcept {
    return is_conjugate(branch) ? branch - orders.main_branches() : branch;
  }
  IQD_HOST_DEVICE Complex64 term(const Complex64* edge, int a, int s, bool conjugate_a, int b, int t,
                                 bool conjugate_b) const noexcept {
    const Complex64 x = edge[a * orders.taps + s], y = edge[b * orders.taps + t];
    return product(conjugate_a ? x : conjugate(x), conjugate_b ? conjugate(y) : y);
  }
};

struct Solution {
  bool found = false;    // false if something is infinite or NaN, or everything is 0
  double condition = 0;  // of Psi^H Psi with columns of norm 1: an estimate, within a factor of 10
};

class NormalEquations {
 public:
  explicit NormalEquations(const AphOrders& orders);
  std::size_t scratch_bytes() const noexcept;

  /// Uses rows `first` … u.size()-1, first >= taps. h is for the orthogonal basis of this power.
  Solution solve(std::span<const Complex64> u, std::span<const cf32> z, std::int64_t first, double power,
                 std::span<Complex64> h, std::byte* scratch) const noexcept;

 private:
  struct Work;
  Work work_in(std::byte* scratch) const noexcept;
  void add_up(std::span<const Complex64> u, std::span<const cf32> z, std::int64_t first, double scale,
              Work& work) const noexcept;

  AphOrders orders_;
  Functions functions_;
  int lefts_;  // these, z, and 1
};

}  // namespace iqd::aph_estimator
