// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/transmit/aph_estimator/cholesky.hpp"
#include "pipeline/stages/transmit/aph_estimator/job.cuh"

/// Solves the equations in one thread block, as `Hermitian` does: a thread has at most one row.
namespace iqd::aph_estimator {
namespace {

static_assert(AphOrders::kMostCoefficients <= kThreads);

struct Largest {
  double value = 0;
  __device__ Largest& operator+=(const Largest& o) {
    value = fmax(value, o.value);
    return *this;
  }
};
struct Total {
  double value = 0;
  __device__ Total& operator+=(const Total& o) {
    value += o.value;
    return *this;
  }
};

struct System {
  int order;
  Complex64* m;  // scaled above the diagonal, the factor below
  double* scale;
  double* diagonal;  // of the factor
  Complex64* x;      // shared by the thread block, like the probe

  __device__ Complex64& at(int i, int j) const { return m[i * order + j]; }

  /// Scales to a diagonal of ones.
  __device__ bool make_equal(int thread) const {
    bool good = true;
    if (thread < order) {
      const double d = at(thread, thread).real();
      good = d > 0 && std::isfinite(d);
      scale[thread] = 1 / sqrt(d);
    }
    if (!__syncthreads_and(good)) return false;
    for (int i = thread; i < order * order; i += kThreads) m[i] *= scale[i / order] * scale[i % order];
    __syncthreads();
    return true;
  }

  __device__ double norm(int thread) const {
    Largest row;
    for (int j = 0; thread < order && j < order; ++j) row.value += hypot(at(thread, j).real(), at(thread, j).imag());
    return sum_group(row).value;
  }

  /// L L^H = M + load, column by column; each column is subtracted from those behind it.
  __device__ bool factor(double load, int thread) const {
    for (int i = thread; i < order * order; i += kThreads) {
      const int row = i / order, column = i % order;
      if (row > column) m[i] = conjugate(at(column, row));
    }
    if (thread < order) diagonal[thread] = 1 + load;
    __syncthreads();
    for (int j = 0; j < order; ++j) {
      const double pivot = diagonal[j];
      if (!is_pivot(pivot, load)) return false;
      const double root = sqrt(pivot);
      if (thread > j && thread < order) {
        at(thread, j) /= root;
        diagonal[thread] -= power_of(at(thread, j));
      }
      __syncthreads();
      if (thread == j) diagonal[j] = root;
      for (int i = j + 1 + thread / 32; i < order; i += kThreads / 32)
        for (int k = j + 1 + thread % 32; k < i; k += 32) at(i, k) = less(at(i, k), at(i, j), at(k, j));
      __syncthreads();
    }
    return true;
  }

  /// v becomes (L L^H)^-1 v; all threads must have seen v.
  __device__ void substitute(Complex64* v, int thread) const {
    for (int i = 0; i < order; ++i) {
      Complex64 one = v[i];
      one /= diagonal[i];
      if (thread > i && thread < order) v[thread] = less(v[thread], one, conjugate(at(thread, i)));
      __syncthreads();
    }
    if (thread < order) v[thread] /= diagonal[thread];
    __syncthreads();
    for (int i = order - 1; i >= 0; --i) {
      Complex64 one = v[i];
      one /= diagonal[i];
      if (thread < i) v[thread] = less(v[thread], one, at(i, thread));
      __syncthreads();
    }
    if (thread < order) v[thread] /= diagonal[thread];
    __syncthreads();
  }

  __device__ double inverse_norm(Complex64* probe, int thread) const {
    double growth = 1;
    if (thread < order) probe[thread] = first_probe(thread);
    __syncthreads();
    for (int turn = 0; turn < kProbes; ++turn) {
      substitute(probe, thread);
      growth = sqrt(sum_group(Total{thread < order ? power_of(probe[thread]) : 0}).value);
      if (thread < order) probe[thread] /= growth;
      __syncthreads();
    }
    return growth;
  }

  /// Returns infinity if there is no solution; otherwise x, the right side, becomes the solution.
  __device__ double solve(Complex64* probe, int thread) const {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (!make_equal(thread)) return kInfinite;
    const double largest = norm(thread);
    double load = kFirstLoad;
    while (!factor(load, thread)) {
      if ((load *= kNextLoad) > kLastLoad) return kInfinite;
      __syncthreads();  // all threads have seen the invalid pivot
    }
    if (thread < order) x[thread] *= scale[thread];
    __syncthreads();
    substitute(x, thread);
    if (thread < order) x[thread] *= scale[thread];
    const bool finite = thread >= order || std::isfinite(power_of(x[thread]));
    if (!__syncthreads_and(finite)) return kInfinite;
    return largest * inverse_norm(probe, thread);
  }
};

/// The coefficients in their final form: float, monomial.
__global__ void __launch_bounds__(kThreads) solve_equations(const __grid_constant__ Job job) {
  __shared__ __align__(16) unsigned char memory[2 * AphOrders::kMostCoefficients * sizeof(Complex64)];
  const auto fit = static_cast<int>(blockIdx.y), thread = static_cast<int>(threadIdx.x);
  const AphOrders orders = job.orders;
  const int order = orders.coefficients(), taps = orders.taps;
  Trying& now = job.record->tries[fit];
  if (!now.goes_on) return;
  auto* const x = reinterpret_cast<Complex64*>(memory);
  double* const scale = job.diagonals + fit * 2 * order;
  const System system{order, job.assembly(fit).matrix, scale, scale + order, x};
  if (thread < order) x[thread] = job.h[fit * order + thread];
  const double condition = system.solve(x + AphOrders::kMostCoefficients, thread);
  if (thread < taps) fold_tap(x + orders.main_at(0, thread), orders.main_branches(), taps, now.power);
  if (thread < taps) fold_tap(x + orders.conjugate_at(0, thread), orders.conjugate_branches(), taps, now.power);
  __syncthreads();
  if (thread < order) job.trained[fit * order + thread] = cf32(x[thread]);
  if (thread > 0) return;
  now.fit.condition = condition;
  now.fit.found = std::isfinite(condition);
}

}  // namespace
}  // namespace iqd::aph_estimator
