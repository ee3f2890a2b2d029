// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "pipeline/stages/transmit/aph_estimator/cholesky.hpp"
#include "pipeline/stages/transmit/aph_estimator/normal_equations.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::aph_estimator {

/// A run of a signal as separate real and imaginary parts, with `past` samples before it.
struct SignalRun {
  double* re = nullptr;
  double* im = nullptr;
};

namespace {

constexpr std::int64_t kRun = 256;  // samples at a time: intermediate results stay in the L1 cache
constexpr int kLanes = 4;

/// In lanes, for vectorization.
void add(SignalRun a, SignalRun b, std::int64_t n, Sums& sums) {
  double s[4][kLanes] = {};
  for (std::int64_t i = 0; i < n; i += kLanes)
    for (int j = 0; j < kLanes; ++j) {
      s[0][j] += a.re[i + j] * b.re[i + j];
      s[1][j] += a.im[i + j] * b.im[i + j];
      s[2][j] += a.re[i + j] * b.im[i + j];
      s[3][j] += a.im[i + j] * b.re[i + j];
    }
  const auto total = [](const double* x) { return (x[0] + x[1]) + (x[2] + x[3]); };
  sums.rr += total(s[0]);
  sums.ii += total(s[1]);
  sums.ri += total(s[2]);
  sums.ir += total(s[3]);
}

}  // namespace

struct NormalEquations::Work {
  std::array<SignalRun, AphOrders::kMostMain> left{};  // [function …, z, 1]
  Sums* sums = nullptr;                                // [left][function][lag]
  Complex64* head = nullptr;                           // [function][t]: psi(first - 1 - t)
  Complex64* tail = nullptr;                           // psi(end - 1 - t)
  Complex64 z_sum;
  Hermitian matrix;
  std::size_t bytes = 0;
};

NormalEquations::NormalEquations(const AphOrders& orders)
    : orders_(orders), functions_(orders), lefts_(functions_.count + 2) {}

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
  w.sums = scratch.take<Sums>(lefts_ * functions_.count * taps);
  w.head = scratch.take<Complex64>(functions_.count * taps);
  w.tail = scratch.take<Complex64>(functions_.count * taps);
  w.matrix = Hermitian(orders_.coefficients(), scratch);
  w.bytes = scratch.bytes();
  return w;
}

std::size_t NormalEquations::scratch_bytes() const noexcept {
  return work_in(nullptr).bytes;
}

Solution NormalEquations::solve(std::span<const Complex64> u, std::span<const cf32> z, std::int64_t first, double power,
                                std::span<Complex64> h, std::byte* scratch) const noexcept {
  Work work = work_in(scratch);
  add_up(u, z, first, 1 / std::sqrt(power), work);
  const Assembly all{.orders = orders_,
                     .functions = functions_.count,
                     .sums = work.sums,
                     .head = work.head,
                     .tail = work.tail,
                     .matrix = &work.matrix(0, 0),
                     .right = h.data()};
  for (int q = 0; q < orders_.branches(); ++q) {
    for (int p = 0; p < orders_.branches(); ++p)
      for (int d = 0; d < all.diagonals(); ++d) all.fill_diagonal(p, q, d);
    for (int l = 0; l < orders_.taps; ++l) all.fill_edges(q, l);
  }
  all.fill_corner(std::ssize(u) - first, work.z_sum);
  const double condition = work.matrix.solve(h);
  return {.found = std::isfinite(condition), .condition = condition};
}

void NormalEquations::add_up(std::span<const Complex64> u, std::span<const cf32> z, std::int64_t first, double scale,
                             Work& work) const noexcept {
  const std::int64_t taps = orders_.taps, end = std::ssize(u);
  Complex64 psi[Functions::kMost];
  const auto put = [&](std::int64_t n, std::int64_t i) {
    const bool there = n < end;
    functions_.of(there ? scale * u[static_cast<std::size_t>(n)] : Complex64(), psi);
    for (int b = 0; b < functions_.count; ++b) {
      work.left[static_cast<std::size_t>(b)].re[i] = psi[b].real();
      work.left[static_cast<std::size_t>(b)].im[i] = psi[b].imag();
    }
    if (i < 0) return;
    const Complex64 sent = there ? z[static_cast<std::size_t>(n)] : cf32();
    work.z_sum += sent;
    work.left[static_cast<std::size_t>(functions_.count)].re[i] = sent.real();
    work.left[static_cast<std::size_t>(functions_.count)].im[i] = sent.imag();
    work.left[static_cast<std::size_t>(functions_.count) + 1].re[i] = there;
    work.left[static_cast<std::size_t>(functions_.count) + 1].im[i] = 0;
  };
  std::fill_n(work.sums, lefts_ * functions_.count * taps, Sums{});
  for (std::int64_t start = first; start < end; start += kRun) {
    // Behind the end, all left signals are 0, so a whole run may be summed.
    for (std::int64_t i = -taps; i < kRun; ++i) put(start + i, i);
    for (int a = 0; a < lefts_; ++a)
      for (int b = 0; b < functions_.count; ++b)
        for (std::int64_t l = 0; l < taps; ++l) {
          const SignalRun left = work.left[static_cast<std::size_t>(a)], right = work.left[static_cast<std::size_t>(b)];
          add(left, {right.re - l, right.im - l}, kRun, work.sums[(a * functions_.count + b) * taps + l]);
        }
  }
  for (std::int64_t t = 0; t < taps; ++t)
    for (const auto& [edge, at] : {std::pair(work.head, first), std::pair(work.tail, end)}) {
      functions_.of(scale * u[static_cast<std::size_t>(at - 1 - t)], psi);
      for (int b = 0; b < functions_.count; ++b) edge[b * taps + t] = psi[b];
    }
}

}  // namespace iqd::aph_estimator
