// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cfloat>
#include <cstdint>

#include "base/integer.hpp"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/telemetry/preamble_search/cells.hpp"
#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"
#include "signal/filters/scratch.hpp"

/// What the kernels of the search share.
namespace iqd::preamble_search {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffff;
constexpr int kEach = 8;                 // adjacent c that a thread computes
constexpr int kPass = kThreads * kEach;  // and a thread block at once
constexpr int kParts = 4;                // thread blocks that share the copying of a window
constexpr std::int64_t kGuard = Pattern::kGuard;

/// A start whose window exists.
struct Packet {
  Start start;
  int fit;  // its window may be sent
};

/// What the chain came to.
struct Outcome {
  int packets;
  int cut;
  int locked;
  int lost_lock;
};

/// How positions are divided, as on the CPU: into cells, and cells into what a thread block handles.
struct Layout {
  Layout() = default;
  explicit Layout(const Pattern& p) {
    const std::int64_t shared = p.span - p.period;  // c that two neighbouring thread blocks both compute
    passes = static_cast<int>(std::max<std::int64_t>(1, ceil_div(2 * shared, kPass)));
    cell = std::min(p.near + 1, (count() - shared) / kWarps);
    tile = (count() - shared) / cell * cell;
    period = static_cast<int>(p.period);
  }
  __host__ __device__ std::int64_t count() const { return static_cast<std::int64_t>(passes) * kPass; }
  std::size_t shared_bytes() const {
    return sizeof(float2) * (period + padded(kPass + period)) + 2 * sizeof(float) * count();
  }
  /// One pad behind every eight: threads that read adjacent eights have no bank conflicts.
  static __host__ __device__ constexpr int padded(int i) { return i + i / kEach; }

  std::int64_t cell = 1;
  std::int64_t tile = 1;
  int period = 0;
  int passes = 0;
};

/// Memory between the kernels.
struct Room {
  std::int64_t most_cells;
  std::int64_t most_packets;
  Scratch scratch;
  std::int64_t most_groups = ceil_div(most_cells, kThreads);
  Cell* cells = scratch.take<Cell>(most_cells);
  Candidate* grouped = scratch.take<Candidate>(most_groups * kThreads);     // [group][kThreads]
  int* counts = scratch.take<int>(most_groups);                             // [group]
  Candidate* candidates = scratch.take<Candidate>(most_groups * kThreads);  // in order
  Link* links = scratch.take<Link>(most_groups * kThreads);
  Packet* packets = scratch.take<Packet>(most_packets);  // in order
  Outcome* outcome = scratch.take<Outcome>(1);
};

/// One block. Positions count from the first sample that exists.
struct Job : Room {
  const std::byte* x;
  std::int64_t length;
  std::int64_t valid;  // L exists before this position
  const std::int64_t* first_at;
  Positions fresh;
  Positions searched;
  Positions within;  // of the candidates
  Layout layout;
  int repeats;
  std::int64_t near;
  std::int64_t before;
  std::int64_t span;
  Spacing spacing;
  float threshold;
  float least_share;
  bool carry;
  bool flywheel;
  Track* track;  // null if none is kept
  bool restart;  // what is kept does not count
  const float2* preamble;
  const float2* sync_word;
  int sync_length;

  std::int64_t first_tile;
  float* correlation;
  Positions correlated;

  std::int64_t cell_count;
  int groups;

  dsp::Items<float2> windows;
  dsp::Items<std::int64_t> start;
  dsp::Items<float> metric;
  dsp::Items<std::int64_t> events;
  dsp::Items<std::uint8_t> put;
  dsp::Items<float> lock;

  __device__ std::int64_t cell_first(std::int64_t k) const { return searched.first + k * layout.cell; }
  __device__ std::int64_t window() const { return spacing.samples + 2 * kGuard; }
};

__device__ float2 complex_of(float2 x) {
  return x;
}
__device__ float2 complex_of(short2 x) {
  return {static_cast<float>(x.x) * (1.0f / 32768), static_cast<float>(x.y) * (1.0f / 32768)};
}
/// Sample n, zero where there is none.
template <class Sample> __device__ float2 sample_at(const Job& job, std::int64_t n) {
  if (n < 0 || n >= job.length) return {0, 0};
  return complex_of(reinterpret_cast<const Sample*>(job.x)[n]);
}

/// c += x q*
__device__ void add_product(float2 x, float2 q, float2& c) {
  c.x = fmaf(x.y, q.y, fmaf(x.x, q.x, c.x));
  c.y = fmaf(-x.x, q.y, fmaf(x.y, q.x, c.y));
}
__device__ float power_of(float2 x) {
  return fmaf(x.y, x.y, x.x * x.x);
}
__device__ float finite_level(float level) {
  return level <= FLT_MAX ? level : 0;
}
__device__ float metric_of(float level, float energy) {
  return energy > 0 && energy <= FLT_MAX ? level / energy : 0;
}

}  // namespace
}  // namespace iqd::preamble_search
