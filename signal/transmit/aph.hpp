// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/views.hpp"

/// The augmented parallel Hammerstein model of a predistorter:
///
///     z(n) = sum over p, k of h(p,k) psi_p(x(n-k)) + sum over q, k of g(q,k) conj(psi_q(x(n-k))) + c
///
/// p = 1, 3 … main, q = 1, 3 … conjugate, k = 0 … taps-1. Coefficients are in the order h1 h3 … g1 g3 … c, the taps of
/// a branch side by side, that of the newest sample first.
namespace iqd {

/// psi is |x|^(p-1) x, or polynomials that are orthonormal for complex Gaussian x of a given power.
enum class AphBasis : std::uint8_t { monomial, orthogonal };
inline std::span<const std::string_view> enum_names(AphBasis) {
  static constexpr std::string_view names[] = {"monomial", "orthogonal"};
  return names;
}

struct AphOrders {
  static constexpr int kMostMain = 9;
  static constexpr int kMostConjugate = 7;
  static constexpr int kMostTaps = 16;
  static constexpr int kMostCoefficients = (kMostMain + 1 + kMostConjugate + 1) / 2 * kMostTaps + 1;

  int main = 5;       // highest odd order of x
  int conjugate = 3;  // highest odd order of x*; 0: no such branches
  int taps = 5;

  IQD_HOST_DEVICE constexpr int main_branches() const noexcept { return (main + 1) / 2; }
  IQD_HOST_DEVICE constexpr int conjugate_branches() const noexcept { return (conjugate + 1) / 2; }
  IQD_HOST_DEVICE constexpr int branches() const noexcept { return main_branches() + conjugate_branches(); }
  IQD_HOST_DEVICE constexpr int coefficients() const noexcept { return branches() * taps + 1; }
  /// Indices of h(2b+1, k), g(2b+1, k) and c.
  IQD_HOST_DEVICE constexpr int main_at(int b, int k) const noexcept { return b * taps + k; }
  IQD_HOST_DEVICE constexpr int conjugate_at(int b, int k) const noexcept { return (main_branches() + b) * taps + k; }
  IQD_HOST_DEVICE constexpr int constant_at() const noexcept { return branches() * taps; }
  friend constexpr bool operator==(const AphOrders&, const AphOrders&) = default;

  /// What is wrong with the orders; empty if nothing is.
  std::string fault() const {
    const auto is_odd_to = [](int order, int most) { return order % 2 == 1 && order >= 1 && order <= most; };
    if (!is_odd_to(main, kMostMain)) return "the main order has to be 1, 3, 5, 7 or 9";
    if (conjugate != 0 && !is_odd_to(conjugate, kMostConjugate)) return "the conjugate order has to be 0, 1, 3, 5 or 7";
    if (taps < 1 || taps > kMostTaps) return "there have to be 1 … 16 taps";
    return "";
  }
};

/// psi_{2k+1}(x) = x (u[0] + u[1] |x|^2 + … + u[k] |x|^2k), orthonormal for complex Gaussian x of E|x|^2 = power. As in
/// Raich and Zhou, Orthogonal polynomials for complex Gaussian processes (2004).
IQD_HOST_DEVICE inline std::array<double, 5> aph_orthogonal(int k, double power) {
  assert(k >= 0 && k < 5 && power > 0);
  std::array<double, 5> u{};
  double term = sqrt((k + 1) / power) * (k % 2 == 0 ? 1 : -1);  // l = 0
  for (int l = 0; l <= k; ++l) {
    u[static_cast<std::size_t>(l)] = term;
    term *= -static_cast<double>(k - l) / ((l + 1) * (l + 2) * power);
  }
  return u;
}

/// The same tap of several branches, `taps` apart. In device code C has to be another complex type, since std::complex
/// does not work there.
template <class C> IQD_HOST_DEVICE void fold_tap(C* h, int branches, int taps, double power) noexcept {
  for (int b = 0; b < branches; ++b) {  // values written below b are not read again
    const auto u = aph_orthogonal(b, power);
    const C one = h[b * taps];
    for (int l = 0; l < b; ++l) h[l * taps] += u[static_cast<std::size_t>(l)] * one;
    h[b * taps] = u[static_cast<std::size_t>(b)] * one;
  }
}

/// Converts coefficients of the orthogonal basis to those of the monomial basis that give the same z, exact to within
/// rounding, 2e-15.
template <class C> void fold_to_monomial(const AphOrders& orders, std::span<C> coefficients, double power) noexcept {
  assert(std::ssize(coefficients) == orders.coefficients());
  for (int k = 0; k < orders.taps; ++k) {
    fold_tap(coefficients.data() + orders.main_at(0, k), orders.main_branches(), orders.taps, power);
    fold_tap(coefficients.data() + orders.conjugate_at(0, k), orders.conjugate_branches(), orders.taps, power);
  }
}

inline std::vector<std::complex<double>> to_monomial(const AphOrders& orders,
                                                     std::span<const std::complex<double>> coefficients, double power) {
  std::vector<std::complex<double>> folded(coefficients.begin(), coefficients.end());
  fold_to_monomial(orders, std::span(folded), power);
  return folded;
}

/// Coefficients that pass samples unchanged: h(1, 0) = 1.
inline std::vector<std::complex<double>> aph_identity(const AphOrders& orders) {
  std::vector<std::complex<double>> coefficients(static_cast<std::size_t>(orders.coefficients()));
  coefficients[0] = 1;
  return coefficients;
}

}  // namespace iqd
