// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "pipeline/stages/transmit/aph_estimator/cholesky.hpp"
#include "pipeline/stages/transmit/aph_estimator/normal_equations.hpp"
#include "signal/scratch.hpp"

namespace iqd::aph_estimator {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kRun = 256;  // samples at a time: what is made of them stays in the first cache
constexpr int kLanes = 4;

Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// A signal's run, its real and its imaginary parts, with `past` samples before it.
struct Run {
  double* re = nullptr;
  double* im = nullptr;
};

}  // namespace

/// Of a left signal a and a right one b, the sums of the products of their parts.
struct NormalEquations::Sums {
  double rr = 0, ii = 0, ri = 0, ir = 0;

  void add(Run a, Run b, std::int64_t n) noexcept {
    double s[4][kLanes] = {};
    for (std::int64_t i = 0; i < n; i += kLanes)
      for (int j = 0; j < kLanes; ++j) {
        s[0][j] += a.re[i + j] * b.re[i + j];
        s[1][j] += a.im[i + j] * b.im[i + j];
        s[2][j] += a.re[i + j] * b.im[i + j];
        s[3][j] += a.im[i + j] * b.re[i + j];
      }
    const auto total = [](const double* x) { return (x[0] + x[1]) + (x[2] + x[3]); };
    rr += total(s[0]);
    ii += total(s[1]);
    ri += total(s[2]);
    ir += total(s[3]);
  }
  /// The sum of conj(a) b, where either may be the conjugate of the signal.
  Complex inner(bool conjugate_a, bool conjugate_b) const noexcept {
    const Complex sum = conjugate_a == conjugate_b ? Complex(rr + ii, ri - ir) : Complex(rr - ii, -(ri + ir));
    return conjugate_a ? std::conj(sum) : sum;
  }
};

struct NormalEquations::Work {
  std::array<Run, AphOrders::kMostMain> left{};  // [function …, z, 1]
  Sums* sums = nullptr;                          // [left][function][lag]
  Complex* head = nullptr;                       // [function][t]: psi(first - 1 - t)
  Complex* tail = nullptr;                       // psi(end - 1 - t)
  Complex z_sum;
  Hermitian matrix;
  std::size_t bytes = 0;
};

NormalEquations::NormalEquations(const AphOrders& orders)
    : orders_(orders),
      functions_(std::max(orders.main_branches(), orders.conjugate_branches())),
      lefts_(functions_ + 2) {}

NormalEquations::Work NormalEquations::work_in(std::byte* memory) const noexcept {
  Scratch scratch(memory);
  Work w;
  const std::int64_t taps = orders_.taps, length = kRun + taps;
  const auto end_of = [taps](double* memory_of_run) { return memory_of_run + taps; };
  for (int i = 0; i < lefts_; ++i) {
    double* const re = scratch.take<double>(length);
    double* const im = scratch.take<double>(length);
    if (memory) w.left[static_cast<std::size_t>(i)] = {end_of(re), end_of(im)};
  }
  w.sums = scratch.take<Sums>(lefts_ * functions_ * taps);
  w.head = scratch.take<Complex>(functions_ * taps);
  w.tail = scratch.take<Complex>(functions_ * taps);
  w.matrix = Hermitian(orders_.coefficients(), scratch);
  w.bytes = scratch.bytes();
  return w;
}

std::size_t NormalEquations::scratch_bytes() const noexcept {
  return work_in(nullptr).bytes;
}

Solution NormalEquations::solve(std::span<const Complex> u, std::span<const cf32> z, std::int64_t first, double power,
                                std::span<Complex> h, std::byte* scratch) const noexcept {
  Work work = work_in(scratch);
  add_up(u, z, first, 1 / std::sqrt(power), work);
  fill(work, std::ssize(u) - first);
  const Sums* const of_z = work.sums + static_cast<std::int64_t>(functions_) * functions_ * orders_.taps;
  Complex* to = h.data();
  for (int q = 0; q < orders_.branches(); ++q) {
    const bool conjugate = q >= orders_.main_branches();
    const int b = conjugate ? q - orders_.main_branches() : q;
    for (int l = 0; l < orders_.taps; ++l) *to++ = std::conj(of_z[b * orders_.taps + l].inner(false, conjugate));
  }
  h.back() = work.z_sum;
  const double condition = work.matrix.solve(h);
  return {.found = std::isfinite(condition), .condition = condition};
}

void NormalEquations::functions(Complex u, Complex* psi) const noexcept {
  const double a = std::norm(u);
  static const auto kWeights = [] {
    std::array<std::array<double, 5>, 5> weights;
    for (int k = 0; k < 5; ++k) weights[static_cast<std::size_t>(k)] = aph_orthogonal(k, 1);
    return weights;
  }();
  for (int b = 0; b < functions_; ++b) {
    const auto& w = kWeights[static_cast<std::size_t>(b)];
    psi[b] = u * ((((w[4] * a + w[3]) * a + w[2]) * a + w[1]) * a + w[0]);
  }
}

void NormalEquations::add_up(std::span<const Complex> u, std::span<const cf32> z, std::int64_t first, double scale,
                             Work& work) const noexcept {
  const std::int64_t taps = orders_.taps, end = std::ssize(u);
  Complex psi[5];
  const auto put = [&](std::int64_t n, std::int64_t i) {
    const bool there = n < end;
    functions(there ? u[static_cast<std::size_t>(n)] * scale : 0, psi);
    for (int b = 0; b < functions_; ++b) {
      work.left[static_cast<std::size_t>(b)].re[i] = psi[b].real();
      work.left[static_cast<std::size_t>(b)].im[i] = psi[b].imag();
    }
    if (i < 0) return;
    const Complex sent(there ? z[static_cast<std::size_t>(n)] : 0);
    work.z_sum += sent;
    work.left[static_cast<std::size_t>(functions_)].re[i] = sent.real();
    work.left[static_cast<std::size_t>(functions_)].im[i] = sent.imag();
    work.left[static_cast<std::size_t>(functions_) + 1].re[i] = there;
    work.left[static_cast<std::size_t>(functions_) + 1].im[i] = 0;
  };
  std::fill_n(work.sums, lefts_ * functions_ * taps, Sums{});
  for (std::int64_t start = first; start < end; start += kRun) {
    // Behind the end everything on the left is 0, so a whole run may be added up.
    for (std::int64_t i = -taps; i < kRun; ++i) put(start + i, i);
    for (int a = 0; a < lefts_; ++a)
      for (int b = 0; b < functions_; ++b)
        for (std::int64_t l = 0; l < taps; ++l) {
          const Run left = work.left[static_cast<std::size_t>(a)], right = work.left[static_cast<std::size_t>(b)];
          work.sums[(a * functions_ + b) * taps + l].add(left, {right.re - l, right.im - l}, kRun);
        }
  }
  for (std::int64_t t = 0; t < taps; ++t)
    for (const auto& [edge, at] : {std::pair(work.head, first), std::pair(work.tail, end)}) {
      functions(u[static_cast<std::size_t>(at - 1 - t)] * scale, psi);
      for (int b = 0; b < functions_; ++b) edge[b * taps + t] = psi[b];
    }
}

void NormalEquations::fill(const Work& work, std::int64_t rows) const noexcept {
  const int branches = orders_.branches(), taps = orders_.taps, c = orders_.constant_at();
  for (int p = 0; p < branches; ++p)
    for (int q = 0; q < branches; ++q) fill_branches(work, p, q);
  const Sums* const of_one = work.sums + static_cast<std::int64_t>(functions_ + 1) * functions_ * taps;
  for (int q = 0; q < branches; ++q) {
    const bool conjugate = q >= orders_.main_branches();
    const int b = conjugate ? q - orders_.main_branches() : q;
    for (int l = 0; l < taps; ++l) {
      work.matrix(c, q * taps + l) = of_one[b * taps + l].inner(false, conjugate);
      work.matrix(q * taps + l, c) = std::conj(work.matrix(c, q * taps + l));
    }
  }
  work.matrix(c, c) = static_cast<double>(rows);
}

/// M(k, l) = sum over n of conj(phi_p(n - k)) phi_q(n - l). Where k or l is 0 it was added up; M(k, l) is M(k-1, l-1)
/// with the row before the first, and without the last.
void NormalEquations::fill_branches(const Work& work, int p, int q) const noexcept {
  const int taps = orders_.taps, mains = orders_.main_branches();
  const bool conjugate_p = p >= mains, conjugate_q = q >= mains;
  const int a = conjugate_p ? p - mains : p, b = conjugate_q ? q - mains : q;
  const auto term = [&](const Complex* edge, int s, int t) {
    const Complex x = edge[a * taps + s], y = edge[b * taps + t];
    return product(conjugate_p ? x : std::conj(x), conjugate_q ? std::conj(y) : y);
  };
  for (int k = 0; k < taps; ++k)
    for (int l = 0; l < taps; ++l) {
      Complex& m = work.matrix(p * taps + k, q * taps + l);
      if (k == 0)
        m = work.sums[(a * functions_ + b) * taps + l].inner(conjugate_p, conjugate_q);
      else if (l == 0)
        m = std::conj(work.sums[(b * functions_ + a) * taps + k].inner(conjugate_q, conjugate_p));
      else
        m = work.matrix(p * taps + k - 1, q * taps + l - 1) + term(work.head, k - 1, l - 1) -
            term(work.tail, k - 1, l - 1);
    }
}

}  // namespace iqd::aph_estimator
