// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread traverses one vector's trellis. Points are numbered by places, k = levels · i + j for the i-th level of
// the real part and the j-th of the imaginary part. What makes it fast without changing results:
//
// - A path continues by slicing, to the point nearest to e / R_mm, without searching all points.
// - The first reduction is slicing too. S_0 holds every point k, and |y_1 - R_11 k|^2 + |y_0 - R_00 q - R_01 k|^2 (rows
//   from the lowest) grows in circles around a best complex number k*(q): the best point is the one nearest to it.
// - With `own` lists the last reduction is not needed: each bit needs, for each level of one part, the least over k
//   with the best of the other part.
// - The remaining reductions choose by integers (reduce.cuh); the distances of the chosen paths are then recomputed.
//
// With `kMixed` antennas may have smaller alphabets: a row then has the levels up to its top. Slicing stays within them,
// and vertices beyond have infinite distances. Rows are sorted for each vector, so threads do the same work for all.
//
// Runs on the host as well, for tests.
#pragma once

#include "pipeline/stages/mimo/mtt_detector/axis.cuh"
#include "pipeline/stages/mimo/mtt_detector/reduce.cuh"
#include "pipeline/stages/mimo/triangle.cuh"

namespace iqd::mtt_detector {

using mimo::minus_product;
using mimo::plus_square;
using mimo::Triangle;

template <int kTx_, int kBits_, bool kPooled_, bool kMixed_ = false> class Traversal {
 public:
  static constexpr int kTx = kTx_;
  static constexpr int kBits = kBits_;
  static constexpr bool kPooled = kPooled_;
  static constexpr bool kMixed = kMixed_;
  static constexpr int kAxisBits = kBits / 2;
  using Axis = mtt_detector::Axis<kAxisBits>;
  static constexpr int kLevels = Axis::kLevels;
  static constexpr int kPoints = kLevels * kLevels;
  static constexpr float kTop = Axis::kTop;
  static constexpr bool kUnrolled = kLevels == 2;

  // Threads of a thread block. Where loops are long, more threads share the instructions fetched.
  static constexpr int kThreads = kTx == 4 && kBits > 4 && !kPooled ? 384 : 128;
  // A thread's memory: a column of 32-bit words, `kStride` apart.
  static constexpr int kStride = kThreads;
  static constexpr int kLeastWords = (kPooled ? kTx : 1) * 2 * kLevels;
  static constexpr int kLastParents = kPooled ? kTx - 1 : kTx - 2;  // S_2 … S_this have parents in memory
  static constexpr int kParentWords = kPoints / 4;
  static constexpr int kWords = kLeastWords + (kLastParents > 1 ? kLastParents - 1 : 0) * kParentWords;

  IQD_HOST_DEVICE Traversal(const Triangle<kTx>& r, std::uint32_t* column, std::uint32_t points,
                            const Alphabets& alphabets = {})
      : r_(r), column_(column), points_(points) {
#pragma unroll
    for (int m = 0; m < kTx; ++m) {
      if constexpr (kMixed) top_[m] = static_cast<float>(alphabets.of(r.antenna[m]).top());
      slope_[m] = r.per_step[m] * (0.5f / kTop);
      start_[m] = r.per_step[m] > 0 ? kMiddle : kAnywhere;
    }
    if constexpr (kTx > 1) set_first_reduction();
  }

  /// Calls put(antenna, float (&llr)[kBits]) for each antenna; returns the least distance.
  template <class Put> IQD_HOST_DEVICE float run(const Put& put) {
    if constexpr (kPooled) clear_least(0, kTx);
    pass<0>(put);
    if constexpr (kPooled)
#pragma unroll
      for (int m = 0; m < kTx; ++m) {
        Levels at;
        load(m, at);
        finish(m, at, put);
      }
    return best_;
  }

 private:
  using Path = float2[kTx];                                         // points by row, as odd numbers
  static constexpr float kMiddle = kLevels == 2 ? 0 : 0.50000006f;  // a tie in the middle goes to +1, bit 0
  static constexpr float kAnywhere = (qam::amplitude(kAxisBits, 0) + kTop) / (2 * kTop);

  // ---- paths

  /// y_m minus the contribution of the symbols above.
  IQD_HOST_DEVICE float2 rest(int m, const Path& s) const {
    float2 e = r_.y[m];
#pragma unroll
    for (int j = kTx - 1; j >= 0; --j)
      if (j > m) e = minus_product(e, r_.above[m][j], s[j]);
    return e;
  }
  IQD_HOST_DEVICE float2 miss(int m, float2 e, float2 s) const {
    return {fmaf(-r_.diagonal[m], s.x, e.x), fmaf(-r_.diagonal[m], s.y, e.y)};
  }
  IQD_HOST_DEVICE float2 nearest(int m, float2 e) const {
    if constexpr (kLevels == 2) return {Axis::level_at(e.x), Axis::level_at(e.y)};  // where R_mm is 0, so is e
    return {level_at(m, fmaf(e.x, slope_[m], start_[m])), level_at(m, fmaf(e.y, slope_[m], start_[m]))};
  }
  IQD_HOST_DEVICE float level_at(int m, float share) const {
    if constexpr (kMixed) return Axis::level_within(share, (kTop - top_[m]) * (0.5f / kTop));
    return Axis::level_at(share);
  }
  /// Whether the row's alphabet lacks a point.
  IQD_HOST_DEVICE bool lacks(int m, float2 s) const {
    return kMixed && fmaxf(fabsf(s.x), fabsf(s.y)) > top_[m];
  }
  /// k*(q) = first_ - turn_ q, as a share of the way through the levels.
  IQD_HOST_DEVICE void set_first_reduction() {
    constexpr int top = kTx - 1;
    const float2 a = r_.above[top - 1][top], y = r_.y[top - 1];
    const float r = r_.diagonal[top];
    const float square = plus_square(r * r, a);
    const bool any = square < FLT_MIN;
    const float scale = kLevels == 2 ? 1.0f : any ? 0.0f : 0.5f / kTop / square;  // with two levels the sign decides
    const float start = any ? kAnywhere : kMiddle;
    first_ = {fmaf(fmaf(r, r_.y[top].x, fmaf(a.x, y.x, a.y * y.y)), scale, start),
              fmaf(fmaf(r, r_.y[top].y, fmaf(a.x, y.y, -a.y * y.x)), scale, start)};
    turn_ = {a.x * r_.diagonal[top - 1] * scale, -a.y * r_.diagonal[top - 1] * scale};
  }
  /// Completes the path of the survivor of S_t at vertex number k; the vertex itself is already in s.
  template <int t> IQD_HOST_DEVICE void trace(Path& s, int k) const {
    if constexpr (t > 0) {
#pragma unroll
      for (int u = kTx; u >= 2; --u)
        if (u <= t) {
          k = parent(u, k);
          s[kTx - u] = Axis::point(k);
        }
      const float2 p = minus_product(first_, turn_, s[kTx - 2]);
      s[kTx - 1] = {level_at(kTx - 1, p.x), level_at(kTx - 1, p.y)};
    }
  }
  /// The distance over the rows from m up.
  IQD_HOST_DEVICE float distance(int m, const Path& s) const {
    float d = 0;
#pragma unroll
    for (int row = kTx - 1; row >= 0; --row)
      if (row >= m) d = plus_square(d, miss(row, rest(row, s), s[row]));
    return d;
  }

  // ---- memory

  IQD_HOST_DEVICE float& least(int row, int axis, int i) const {
    return reinterpret_cast<float*>(column_)[(((kPooled ? row : 0) * 2 + axis) * kLevels + i) * kStride];
  }
  IQD_HOST_DEVICE void lower(int row, int axis, int i, float d) const {
    float& least_so_far = least(row, axis, i);
    least_so_far = fminf(least_so_far, d);
  }
  /// The least distances of both axes' levels.
  using Levels = float[2][kLevels];
  IQD_HOST_DEVICE void load(int row, Levels& at) const {
#pragma unroll
    for (int i = 0; i < kLevels; ++i) {
      at[0][i] = least(row, 0, i);
      at[1][i] = least(row, 1, i);
    }
  }
  IQD_HOST_DEVICE void clear_least(int begin, int end) const {
#pragma unroll
    for (int i = begin * 2 * kLevels; i < end * 2 * kLevels; ++i)
      reinterpret_cast<float*>(column_)[i * kStride] = INFINITY;
  }
  IQD_HOST_DEVICE std::uint32_t& parent_word(int t, int n) const {
    return column_[(kLeastWords + (t - 2) * kParentWords + n) * kStride];
  }
  IQD_HOST_DEVICE int parent(int t, int k) const {
    return reinterpret_cast<const std::uint8_t*>(&parent_word(t, k / 4))[k % 4];
  }

  // ---- passes

  /// A distance that at least one survivor of S_t does not exceed at any vertex of the next row. Takes the survivor at
  /// the vertex that the path of nearest points reaches.
  template <int t> IQD_HOST_DEVICE float bound() const {
    constexpr int m = kTx - 1 - t;
    Path s;
#pragma unroll
    for (int row = kTx - 1; row >= 0; --row)
      if (row >= m) s[row] = nearest(row, rest(row, s));
    trace<t>(s, Axis::place(s[m].x) * kLevels + Axis::place(s[m].y));
    const float2 e = rest(m - 1, s);
    const float reach = kTop * r_.diagonal[m - 1];
    return plus_square(distance(m, s), {fabsf(e.x) + reach, fabsf(e.y) + reach});
  }

  /// S_t: its list L_t, its LLRs, S_t+1.
  template <int t, class Put> IQD_HOST_DEVICE void pass(const Put& put) {
    constexpr int m = kTx - 1 - t;
    constexpr bool kReduces = t > 0 && t < kLastParents;
    constexpr bool kEnds = !kPooled && t == kTx - 2;  // finishes the last pass too
    Reduction<kReduces ? kLevels : 1> next;
    if constexpr (kReduces) next.start(next.kBounded ? bound<t>() : 0, r_.diagonal[m - 1], points_);
    Ends<kEnds ? kAxisBits : 0> ends;
    Levels own;  // of this row, if loops are unrolled; else in memory
#pragma unroll
    for (int i = 0; i < kLevels; ++i) own[0][i] = own[1][i] = INFINITY;
    if constexpr (!kPooled && !kUnrolled) clear_least(0, 1);
#pragma unroll kUnrolled ? 2 : 1
    for (int i = 0; i < kLevels; ++i) {
      const float re = static_cast<float>(2 * i) - kTop;
#pragma unroll kUnroll < t>
      for (int j = 0; j < kLevels; ++j) {
        const int k = i * kLevels + j;
        Path s;
        s[m] = float2{re, static_cast<float>(2 * j) - kTop};
        trace<t>(s, k);
        float d = distance(m, s);
        if (lacks(m, s[m])) d = INFINITY;
        go_on<m, kEnds>(s, d, k, next, ends);
        if constexpr (kPooled) {
          lower_all(s, d);
        } else if constexpr (kUnrolled) {
          own[0][i] = fminf(own[0][i], d);
          own[1][j] = fminf(own[1][j], d);
        } else {
          lower(m, 0, i, d);
          lower(m, 1, j, d);
        }
      }
    }
    if constexpr (kReduces)
#pragma unroll
      for (int n = 0; n < kParentWords; ++n) parent_word(t + 1, n) = next.four_parents(n);
    if constexpr (!kPooled) {
      if constexpr (!kUnrolled) load(m, own);
      finish(m, own, put);
    }
    if constexpr (kEnds) {
      finish(0, ends.at, put);
    } else if constexpr (t + 1 < kTx) {
      pass<t + 1>(put);
    }
  }
  template <int t> static constexpr int kUnroll = kLevels > 2 && t > 0 && t < kLastParents ? 1 : 2;

  /// From row m down to row 0 by the nearest points.
  template <int m, bool kEnds, class Next, class Last>
  IQD_HOST_DEVICE void go_on(Path& s, float& d, int k, Next& next, Last& ends) const {
#pragma unroll
    for (int row = m - 1; row >= 0; --row) {
      const float2 e = rest(row, s);
      if constexpr (Next::kUsed)
        if (row == m - 1) next.offer(k, d, e, lacks(m, s[m]));
      s[row] = nearest(row, e);
      const float2 x = miss(row, e, s[row]);
      if constexpr (kEnds)
        if (row == 0) ends.lower(d, x, e, r_.diagonal[0], kMixed ? top_[0] : kTop);
      d = plus_square(d, x);
    }
  }
  IQD_HOST_DEVICE void lower_all(const Path& s, float d) const {
#pragma unroll
    for (int row = 0; row < kTx; ++row) {
      lower(row, 0, Axis::place(s[row].x), d);
      lower(row, 1, Axis::place(s[row].y), d);
    }
  }

  /// LLRs of a row's antenna from the least distances of its levels.
  template <class Put> IQD_HOST_DEVICE void finish(int row, const Levels& at, const Put& put) {
    float llr[kBits], best = INFINITY;
    const float gain = 1 / r_.noise;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
#pragma unroll
      for (int b = 0; b < kAxisBits; ++b) {
        float zero = INFINITY, one = INFINITY;
#pragma unroll
        for (int i = 0; i < kLevels; ++i)
          if (Axis::has_one(b, i))
            one = fminf(one, at[axis][i]);
          else
            zero = fminf(zero, at[axis][i]);
        llr[2 * b + axis] = (one - zero) * gain;
        if (axis == 0 && b == 0) best = fminf(zero, one);
      }
    }
    best_ = fminf(best_, best);
    put(r_.antenna[row], llr);
  }

  const Triangle<kTx>& r_;
  std::uint32_t* column_;
  std::uint32_t points_;
  float slope_[kTx], start_[kTx];
  float top_[kMixed ? kTx : 1];
  float2 first_, turn_;
  float best_ = INFINITY;
};

}  // namespace iqd::mtt_detector
