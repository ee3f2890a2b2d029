// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread per vertex, which tries all survivors at each reduction. Without a prior it is the algorithm as published,
// for comparison: an extension tries all points one by one. With a prior it tries the levels of both axes.
#pragma once

#include "pipeline/stages/mimo/front_end.cuh"

namespace iqd::mtt_detector {

/// What the threads of a thread block share. Consecutive numbers of a vector are kTileVectors apart.
template <int kTx, bool kPrior> struct Scan {
  static constexpr int kThreads = mimo::kTileVectors;
  static constexpr int kMostPoints = 64;
  static constexpr int kMostLevels = 8;                       // of an axis
  static constexpr int kNumbers = 3 * kTx + kTx * (kTx - 1);  // of a triangle

  struct alignas(16) Survivor {
    float2 e;  // residual of the row below
    float d;
    std::uint8_t symbol[kTx];  // by row
  };

  static IQD_HOST_DEVICE std::size_t bytes(int bits) {
    return kMostPoints * sizeof(float2) +
           kThreads * (sizeof(Survivor) + sizeof(float) * (kNumbers + places(bits) + costs(bits)));
  }
  /// Numbers of level_cost.
  static IQD_HOST_DEVICE int costs(int bits) { return kPrior ? 2 * kTx << bits / 2 : 0; }
  static IQD_HOST_DEVICE int places(int bits) { return 2 * kTx * bits + 1; }

  float2* point;       // by symbol
  float* number;       // of triangles
  float* least;        // distance with each value of each bit, and the least of all paths
  float* level_cost;   // by the prior: [row][axis][label]
  Survivor* survivor;  // [thread]
  int bits, points, v, q;

  __device__ Scan(int bits_of_symbol, std::byte* memory)
      : point(reinterpret_cast<float2*>(memory)),
        number(reinterpret_cast<float*>(point + kMostPoints)),
        least(number + kNumbers * kThreads),
        level_cost(least + places(bits_of_symbol) * kThreads),
        survivor(reinterpret_cast<Survivor*>(level_cost + costs(bits_of_symbol) * kThreads)),
        bits(bits_of_symbol),
        points(1 << bits_of_symbol),
        v(0),
        q(static_cast<int>(threadIdx.x) % points) {}

  __device__ float diagonal(int row) const { return number[row * kThreads + v]; }
  __device__ float2& pair(int place) const {
    return reinterpret_cast<float2*>(number + kTx * kThreads)[place * kThreads + v];
  }
  __device__ float2& y(int row) const { return pair(row); }
  __device__ float2& above(int row, int column) const { return pair(kTx + column * (column - 1) / 2 + row); }
  __device__ float& least_of(int row, int bit, int value) const {
    return least[((row * bits + bit) * 2 + value) * kThreads + v];
  }
  __device__ float& least_of_all() const { return least[2 * kTx * bits * kThreads + v]; }

  __device__ float& cost_of_level(int row, int axis, int label) const {
    return level_cost[(((row * 2 + axis) << bits / 2) + label) * kThreads + v];
  }
  /// The bits of a symbol that choose its real (axis 0) or imaginary part.
  __device__ int label_of(int symbol, int axis) const {
    int label = 0;
    for (int b = bits - 1 - axis; b >= 0; b -= 2) label = label << 1 | (symbol >> b & 1);
    return label;
  }
  /// The costs of levels by the prior of this thread's vector; `llr(antenna, bit)` is the prior. Those above
  /// `top(antenna)` are infinite.
  template <class Llr, class Top>
  __device__ void share_prior(const mimo::Triangle<kTx>& r, const Llr& llr, const Top& top) {
    v = static_cast<int>(threadIdx.x);
    const int half = bits / 2;
    for (int row = 0; row < kTx; ++row)
      for (int axis = 0; axis < 2; ++axis)
        for (int i = 0; i < 1 << half; ++i) {
          float cost = 0;
          for (int b = 0; b < half; ++b) {
            const float prior = llr(r.antenna[row], 2 * b + axis);
            cost += fmaxf(0, i >> (half - 1 - b) & 1 ? prior : -prior);
          }
          cost = r.erased ? 0 : cost * fminf(r.noise, mimo::kMostPriorNoise);
          const bool absent = abs(qam::amplitude(half, static_cast<unsigned>(i))) > top(r.antenna[row]);
          cost_of_level(row, axis, i) = absent ? INFINITY : cost;
        }
  }

  /// Shares this thread's vector with all threads.
  __device__ void share(const mimo::Triangle<kTx>& r) {
    v = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int m = 0; m < kTx; ++m) {
      number[m * kThreads + v] = r.diagonal[m];
      y(m) = r.y[m];
#pragma unroll
      for (int row = 0; row < m; ++row) above(row, m) = r.above[row][m];
    }
    for (int i = 0; i < places(bits); ++i) least[i * kThreads + v] = INFINITY;
    if (v < points) {
      unsigned axis[2] = {0, 0};  // bits of the real and the imaginary part
      for (int b = bits - 1; b >= 0; --b) {
        unsigned& part = axis[(bits - 1 - b) % 2];
        part = part << 1 | (static_cast<unsigned>(v) >> b & 1);
      }
      point[v] = {static_cast<float>(qam::amplitude(bits / 2, axis[0])),
                  static_cast<float>(qam::amplitude(bits / 2, axis[1]))};
    }
    __syncthreads();
  }

  __device__ float2 rest(int row, const Survivor& s) const {
    float2 e = y(row);
    for (int j = kTx - 1; j > row; --j) e = mimo::minus_product(e, above(row, j), point[s.symbol[j]]);
    return e;
  }
  __device__ float cost(int row, float d, float2 e, int symbol) const {
    const float2 p = point[symbol];
    return mimo::plus_square(d, {fmaf(-diagonal(row), p.x, e.x), fmaf(-diagonal(row), p.y, e.y)});
  }
  /// What the prior says of a symbol.
  __device__ float prior_cost(int row, int symbol) const {
    if constexpr (!kPrior) return 0;
    return cost_of_level(row, 0, label_of(symbol, 0)) + cost_of_level(row, 1, label_of(symbol, 1));
  }
  /// Continues to a row by the best of all points, which are searched axis by axis.
  __device__ void extend_by_axes(int row, Survivor& s) const {
    const float2 e = rest(row, s);
    float sum = s.d;
    int symbol = 0;
    for (int axis = 0; axis < 2; ++axis) {
      float best = INFINITY;
      int label = 0;
      for (int i = 0; i < 1 << bits / 2; ++i) {
        const float level = static_cast<float>(qam::amplitude(bits / 2, static_cast<unsigned>(i)));
        const float x = fmaf(-diagonal(row), level, axis == 0 ? e.x : e.y);
        const float d = fmaf(x, x, cost_of_level(row, axis, i));
        if (d < best) {
          best = d;
          label = i;
        }
      }
      sum += best;
      for (int b = 0; b < bits / 2; ++b) symbol |= (label >> b & 1) << (2 * b + 1 - axis);
    }
    s.d = sum;
    s.symbol[row] = static_cast<std::uint8_t>(symbol);
  }
  /// Continues to a row by the best of all points.
  __device__ void extend(int row, Survivor& s) const {
    if constexpr (kPrior) return extend_by_axes(row, s);
    const float2 e = rest(row, s);
    float best = INFINITY;
    int symbol = 0;
#pragma unroll 4
    for (int p = 0; p < points; ++p) {
      const float d = cost(row, s.d, e, p);
      if (d < best) {
        best = d;
        symbol = p;
      }
    }
    s.d = best;
    s.symbol[row] = static_cast<std::uint8_t>(symbol);
  }
  /// The best of all survivors at this thread's vertex of a row.
  __device__ void reduce(int row, Survivor& s) const {
    const Survivor* const all = survivor + (static_cast<int>(threadIdx.x) - q);
    survivor[threadIdx.x] = s;
    survivor[threadIdx.x].e = rest(row, s);
    __syncthreads();
    float best = INFINITY;
    int parent = 0;
#pragma unroll 4
    for (int k = 0; k < points; ++k) {
      const float d = cost(row, all[k].d, all[k].e, q);
      if (d < best) {
        best = d;
        parent = k;
      }
    }
    s = all[parent];
    s.d = best + prior_cost(row, q);
    s.symbol[row] = static_cast<std::uint8_t>(q);
    __syncthreads();
  }
  /// Counts a whole path's distance for the bits of some rows.
  __device__ void take(const Survivor& s, int low, int high) const {
    const auto lower = [d = __float_as_int(s.d)](float& to) { atomicMin(reinterpret_cast<int*>(&to), d); };
    for (int row = low; row <= high; ++row)
      for (int b = 0; b < bits; ++b) lower(least_of(row, b, s.symbol[row] >> (bits - 1 - b) & 1));
    lower(least_of_all());
  }

  /// All passes over the rows from `low` up, for vector `of`.
  __device__ void search(int of, int low, bool pooled) {
    v = of;
    Survivor s{};
    s.symbol[kTx - 1] = static_cast<std::uint8_t>(q);
    s.d = cost(kTx - 1, 0, y(kTx - 1), q) + prior_cost(kTx - 1, q);
    for (int m = kTx - 1;; --m) {
      Survivor path = s;
      for (int row = m - 1; row >= low; --row) extend(row, path);
      take(path, pooled ? low : m, pooled ? kTx - 1 : m);
      if (m == low) return;
      reduce(m - 1, s);
    }
  }
};

/// `kMixed`, with kPrior: antennas may have smaller alphabets.
template <int kTx, bool kPrior, bool kMixed> __global__ void __launch_bounds__(mimo::kTileVectors)
    scan_vectors(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* const tally,
                 const std::uint32_t pooled) {
  extern __shared__ __align__(16) std::byte memory[];
  const mimo::Tile tile = mimo::find_tile(shape, job, *tally, blockIdx.x);
  bool erased = false;
  if (tile.count > 0) {
    const Alphabets alphabets = kMixed ? mimo::alphabets_of(shape, job, tile) : Alphabets{};
    const mimo::Triangle<kTx> r = mimo::triangulate_vector<kTx>(tile, shape, kMixed, alphabets);
    const int thread = static_cast<int>(threadIdx.x), low = kTx - shape.tx;  // below it are columns of zeros
    Scan<kTx, kPrior> scan(shape.bits, memory + mimo::output_bytes(shape));
    const auto prior = [&](int antenna, int bit) {
      if constexpr (kMixed) return mimo::mixed_prior_of(shape, job, tile, alphabets, antenna, bit);
      return kPrior ? mimo::prior_of(shape, job, tile, antenna, bit) : 0.0f;
    };
    if constexpr (kPrior)
      scan.share_prior(r, prior, [&](int antenna) { return kMixed ? alphabets.of(antenna).top() : scan.points; });
    scan.share(r);
    for (int v = thread / scan.points; v < mimo::kTileVectors; v += mimo::kTileVectors / scan.points)
      scan.search(v, low, pooled != 0);
    __syncthreads();
    scan.v = thread;
    mimo::Results results(shape, job, tile, r.erased, memory);
#pragma unroll
    for (int m = 0; m < kTx; ++m) {
      float llr[6] = {};
#pragma unroll
      for (int b = 0; b < 6; ++b)
        if (b < shape.bits && m >= low)
          llr[b] = (scan.least_of(m, b, 1) - scan.least_of(m, b, 0)) / r.noise - prior(r.antenna[m], b);
      if (r.antenna[m] >= shape.tx) continue;
      if constexpr (kMixed)
        results.put_mixed_antenna(alphabets.of(r.antenna[m]), r.antenna[m], llr, shape.bits);
      else
        results.put_antenna(r.antenna[m], llr, shape.bits);
    }
    erased = r.erased && tile.has_vector();
    results.put_distance(r.unscaled(scan.least_of_all() + r.residual));
    results.flush();
  }
  mimo::count_erased(job, tally, erased);
}

}  // namespace iqd::mtt_detector
