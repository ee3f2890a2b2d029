// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "pipeline/stages/block_math.cuh"
#include "pipeline/stages/complex.cuh"
#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "signal/filters/scratch.hpp"

/// What the estimator's kernels share: a frame's results go from kernel to kernel through its desk.
namespace iqd::noma_channel_estimator {
namespace {

using dsp::add;
using dsp::block_largest;
using dsp::block_sum;
using dsp::conj_times;
using dsp::Equations;
using dsp::kFrameThreads;
using dsp::kPanel;
using dsp::narrow;
using dsp::product;
using dsp::scaled;
using dsp::subtract;
using dsp::wide;

/// What is the same for all frames.
struct UserTables {
  const float2 *sent, *turn, *step_turn, *unused;
  const float* filler;
  const std::int32_t *odd, *known;
  const WordsOfUser* soft;
  const SymbolMap* maps;
  std::int32_t odd_carriers, functions;
  double symbol_seconds, step, early, spread;
  float slope[kMostTraining];
};

/// Memory of a frame.
struct UserDesk {
  std::uint8_t* usable;  // [symbol][carrier]
  float2* white;         // [symbol][carrier][rx] from the pilots on
  float2* sent;          // [symbol][carrier][user]
  float* weights;        // [symbol][carrier]
  float2* values;        // [carrier][user][rx]
  float2 *products, *lags;
  float2 *equations, *factors, *g;
  float *variance, *powers;
  float2* parts;       // [carrier][function][user][rx]
  double* offsets;     // [user]
  double* scale;       // [rx]
  double2* residuals;  // [pilot symbol][carrier][rx]
  double2* root;       // [rx][rx]
  float2* filters;     // [carrier][user][rx]
  float2* through;     // [carrier][user][other]
  float* noise;        // [carrier][user]
  float2* points;      // [user][t]
  double* phases;      // [user][data symbol]
  float2* expected;    // [data slot][user]
  float* unsure;       // the same
  double* left;        // [user]
  std::int32_t* erased;
};

struct UserJob {
  Extents e;
  UserTables t;
  std::byte* memory;
  std::size_t stride;  // bytes of a frame's desk
  const float2* carriers;
  const float* soft;
  const std::int32_t* found_at;
  std::int32_t* counts[kPorts];
  float2* symbols;
  float* llr;
  std::uint8_t* bits;
  float* model;
  float2* h;
  std::uint8_t* modulation;
  std::int64_t* events;
};

/// Elements of a column of the equations.
__host__ __device__ inline std::int64_t pitch_of(const Extents& e, int functions) {
  return dsp::padded(functions * e.users * e.delays + e.rx);
}

/// The desk at an address; `end` is set behind it.
__host__ __device__ inline UserDesk desk_at(const Extents& e, int functions, std::byte* memory, std::byte*& end) {
  auto at = reinterpret_cast<std::uintptr_t>(memory);
  const auto take = [&](auto& piece, std::int64_t count) {
    using T = std::remove_reference_t<decltype(*piece)>;
    at = (at + 15) / 16 * 16;
    piece = reinterpret_cast<T*>(at);
    at += static_cast<std::size_t>(count) * sizeof(T);
  };
  const std::int64_t received = std::int64_t{e.received()} * e.carriers, users = e.users, rx = e.rx;
  const std::int64_t pairs = users * users, order = std::int64_t{functions} * users * e.delays;
  const std::int64_t pitch = pitch_of(e, functions);
  UserDesk d{};
  take(d.usable, std::int64_t{e.symbols} * e.carriers);
  take(d.white, received * rx);
  take(d.sent, received * users);
  take(d.weights, received);
  take(d.values, e.carriers * users * rx);
  take(d.products, pairs * e.carriers);
  take(d.lags, pairs * e.lags());
  take(d.equations, order * pitch);
  take(d.factors, order * pitch);
  take(d.g, rx * pitch);
  take(d.variance, order);
  take(d.powers, users * e.delays);
  take(d.parts, std::int64_t{e.carriers} * functions * users * rx);
  take(d.offsets, users);
  take(d.scale, rx);
  take(d.residuals, std::int64_t{e.training} * e.carriers * rx);
  take(d.root, rx * rx);
  take(d.filters, e.carriers * users * rx);
  take(d.through, e.carriers * pairs);
  take(d.noise, e.carriers * users);
  take(d.points, users * e.data);
  take(d.phases, users * e.data_symbols());
  const std::int64_t soft = e.words > 0 ? std::int64_t{e.slots()} * users : 0;
  take(d.expected, soft);
  take(d.unsure, soft);
  take(d.left, users);
  take(d.erased, 1);
  end = reinterpret_cast<std::byte*>(at);
  return d;
}
__device__ inline UserDesk desk_of(const UserJob& job, std::int64_t frame) {
  std::byte* end = nullptr;
  return desk_at(job.e, job.t.functions, job.memory + frame * job.stride, end);
}

__device__ inline bool is_usable(const Extents& e, const UserDesk& d, int t) {
  return d.usable[(Extents::kBefore + e.training) * e.carriers + t] != 0;
}

__device__ inline double2 times(double2 a, double2 b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
__device__ inline double2 conj_of(double2 a) {
  return {a.x, -a.y};
}
/// exp(j radians), rounded from double.
__device__ inline float2 turned_by(double radians) {
  double sine, cosine;
  sincos(radians, &sine, &cosine);
  return {static_cast<float>(cosine), static_cast<float>(sine)};
}

/// By all threads of a block: L of a positive definite matrix [order][order] replaces its lower triangle.
__device__ inline void take_lower_root(double2* m, int order) {
  const auto thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  __syncthreads();
  for (int j = 0; j < order; ++j) {
    for (int i = j + thread; i < order; i += threads)
      for (int k = 0; k < j; ++k) subtract(m[i * order + j], times(m[i * order + k], conj_of(m[j * order + k])));
    __syncthreads();
    const double own = sqrt(m[j * order + j].x);
    __syncthreads();
    for (int i = j + thread; i < order; i += threads)
      m[i * order + j] = i == j ? double2{own, 0} : double2{m[i * order + j].x / own, m[i * order + j].y / own};
    __syncthreads();
  }
}
/// By one thread: x of L x = y replaces y.
__device__ inline void solve_lower(const double2* l, int order, double2* x) {
  for (int i = 0; i < order; ++i) {
    double2 sum = x[i];
    for (int k = 0; k < i; ++k) subtract(sum, times(l[i * order + k], x[k]));
    const double own = l[i * order + i].x;
    x[i] = {sum.x / own, sum.y / own};
  }
}
/// By one thread: x of L^H x = y replaces y.
__device__ inline void solve_upper(const double2* l, int order, double2* x) {
  for (int i = order - 1; i >= 0; --i) {
    double2 sum = x[i];
    for (int k = i + 1; k < order; ++k) subtract(sum, times(conj_of(l[k * order + i]), x[k]));
    const double own = l[i * order + i].x;
    x[i] = {sum.x / own, sum.y / own};
  }
}

}  // namespace
}  // namespace iqd::noma_channel_estimator
