// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// One warp traverses one vector's trellis: for 256-QAM, whose 256 sums a thread has no registers for. Lane l owns the
// survivors at symbols 8 l … 8 l + 7, which have two levels of the real part and four of the imaginary part. A reduction
// shows all survivors to all lanes, in the order of symbols, so that of equal costs the lowest number wins. Sums are
// added in the CPU's order. What traverse.cuh saves is saved here too.
//
// `Group` is a cooperative_groups tile of 32 threads, or its stand-in on the host for tests.
#pragma once

#include <type_traits>

#include "pipeline/stages/mimo/mtt_detector/axis.cuh"
#include "pipeline/stages/mimo/mtt_detector/reduce.cuh"
#include "pipeline/stages/mimo/paths.cuh"

namespace iqd::mtt_detector {

struct WarpOptions {
  bool pooled = false;
  bool paper = false;
};

template <class Group, int kTx> class WarpTraversal {
 public:
  static constexpr int kBits = 8;
  using X = mimo::Exchange<kTx, kBits>;

  /// Shared memory of a vector. `reduces`: survivors are reduced.
  static constexpr std::size_t bytes(bool reduces, bool prior) {
    const std::size_t numbers = kTx * 2 * kLevels * sizeof(float);
    const std::size_t survivors = kPoints * (sizeof(float4) + sizeof(float) + sizeof(Symbols));
    return prior ? 2 * numbers + survivors : reduces ? numbers + survivors : numbers;
  }

  IQD_HOST_DEVICE WarpTraversal(Group group, std::byte* memory, WarpOptions options)
      : group_(group),
        options_(options),
        lane_(static_cast<int>(group.thread_rank())),
        least_(reinterpret_cast<float*>(memory)),
        shown_(reinterpret_cast<float4*>(least_ + kTx * 2 * kLevels)),
        distance_(reinterpret_cast<float*>(shown_ + kPoints)),
        symbols_(reinterpret_cast<Symbols*>(distance_ + kPoints)),
        level_cost_(reinterpret_cast<float*>(symbols_ + kPoints)) {
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      const int q = lane_ * kOwn + n;
      re_[real_of(n)] = level_of_label(every_second(q >> 1));
      im_[imag_of(n)] = level_of_label(every_second(q));
    }
  }

  /// Fills gap() and least() of x. All lanes call it. `prior`: [antenna][bit], null without one. `points`: kPoints,
  /// passed at run time, so that products with it remain products (reduce.cuh).
  IQD_HOST_DEVICE void search(const X& x, const float* prior, std::uint32_t points) {
    prior_ = prior != nullptr;
    points_ = points;
    for (int i = lane_; i < kTx * 2 * kLevels; i += kLanes) least_[i] = INFINITY;
    if (prior_) find_level_costs(x, prior);
    group_.sync();
    start(x);
    for (int row = kTx - 1;; --row) {
      list(x, row);
      if (row == 0) break;
      if (row == 1 && !options_.pooled && !options_.paper) {
        finish(x);
        break;
      }
      go_down(x, row - 1);
    }
    group_.sync();
    give(x);
    group_.sync();
  }

 private:
  using Axis = mtt_detector::Axis<kBits / 2>;
  using Symbols = std::conditional_t<(kTx > 4), std::uint64_t, std::uint32_t>;  // a byte for each row: places
  static constexpr int kHalf = kBits / 2, kLevels = Axis::kLevels, kPoints = kLevels * kLevels;
  static constexpr int kLanes = 32, kOwn = kPoints / kLanes, kOwnRe = 2, kOwnIm = 4;
  static constexpr float kTop = Axis::kTop;
  static constexpr float kMiddle = 0.50000006f;  // a tie in the middle goes to +1, bit 0
  static constexpr float kAnywhere = (qam::amplitude(kHalf, 0) + kTop) / (2 * kTop);

  // ---- points

  /// Bits 0, 2, 4 … of a symbol: those of one axis.
  IQD_HOST_DEVICE static int every_second(int q) {
    int axis = 0;
#pragma unroll
    for (int b = 0; b < kHalf; ++b) axis |= (q >> 2 * b & 1) << b;
    return axis;
  }
  /// The places of all labels, packed.
  static constexpr std::uint64_t places() {
    std::uint64_t all = 0;
    for (int p = 0; p < kLevels; ++p) all |= std::uint64_t{static_cast<unsigned>(p)} << 4 * qam::label(kHalf, p);
    return all;
  }
  static constexpr std::uint64_t kPlaces = places();
  IQD_HOST_DEVICE static int place_of_label(int label) {
    return static_cast<int>(kPlaces >> 4 * label & 15);
  }
  IQD_HOST_DEVICE static float level_at_place(int place) {
    return static_cast<float>(2 * place) - kTop;
  }
  IQD_HOST_DEVICE static float level_of_label(int label) {
    return level_at_place(place_of_label(label));
  }
  /// Which of the lane's levels survivor n has.
  IQD_HOST_DEVICE static constexpr int real_of(int n) {
    return n >> 1 & 1;
  }
  IQD_HOST_DEVICE static constexpr int imag_of(int n) {
    return (n >> 1 & 2) | (n & 1);
  }
  IQD_HOST_DEVICE float2 own(int n) const {
    return {re_[real_of(n)], im_[imag_of(n)]};
  }
  IQD_HOST_DEVICE static Symbols packed(float2 point, int row) {
    return static_cast<Symbols>(Axis::place(point.x) << kHalf | Axis::place(point.y)) << 8 * row;
  }
  IQD_HOST_DEVICE static int symbol(Symbols s, int row) {
    return static_cast<int>(s >> 8 * row & (kPoints - 1));
  }
  IQD_HOST_DEVICE static float2 miss(float r, float2 e, float2 s) {
    return {fmaf(-r, s.x, e.x), fmaf(-r, s.y, e.y)};
  }
  IQD_HOST_DEVICE static float2 nearest(float2 e, float per_step) {
    const float slope = per_step * (0.5f / kTop), start = per_step > 0 ? kMiddle : kAnywhere;
    return {Axis::level_at(fmaf(e.x, slope, start)), Axis::level_at(fmaf(e.y, slope, start))};
  }
  IQD_HOST_DEVICE static float per_step_of(float diagonal) {
    return diagonal > 0 ? 1 / diagonal : 0;
  }

  // ---- priors

  IQD_HOST_DEVICE float& level_cost(int row, int axis, int place) const {
    return level_cost_[(row * 2 + axis) * kLevels + place];
  }
  IQD_HOST_DEVICE void find_level_costs(const X& x, const float* prior) const {
    for (int i = lane_; i < kTx * 2 * kLevels; i += kLanes) {
      const int row = i / (2 * kLevels), axis = i / kLevels % 2, place = i % kLevels;
      float cost = 0;
#pragma unroll
      for (int b = 0; b < kHalf; ++b) {
        const float llr = mimo::usable_prior(prior[x.antenna(row) * kBits + 2 * b + axis]);
        cost += fmaxf(0, Axis::has_one(b, place) ? llr : -llr);
      }
      level_cost(row, axis, place) = cost * x.noise();
    }
  }
  /// What the prior says of a row's symbol.
  IQD_HOST_DEVICE float price(int row, float2 s) const {
    return prior_ ? level_cost(row, 0, Axis::place(s.x)) + level_cost(row, 1, Axis::place(s.y)) : 0.0f;
  }

  // ---- paths

  using Distances = float[kOwn];
  using Paths = Symbols[kOwn];
  using Rests = float2[kOwn];

  /// z of a row minus the contribution of the symbols above.
  IQD_HOST_DEVICE static void find_rests(const X& x, int row, const Paths& paths, Rests& e) {
    const float2 z = x.z(row);
#pragma unroll
    for (int n = 0; n < kOwn; ++n) e[n] = z;
#pragma unroll 1
    for (int above = kTx - 1; above > row; --above) {
      const float2 r = x.above(row, above);
#pragma unroll
      for (int n = 0; n < kOwn; ++n) e[n] = mimo::minus_product(e[n], r, Axis::point(symbol(paths[n], above)));
    }
  }
  IQD_HOST_DEVICE void append(int row, float diagonal, float2 e, float2 s, float& d, Symbols& path) const {
    d = mimo::plus_square(d, miss(diagonal, e, s)) + price(row, s);
    path |= packed(s, row);
  }
  IQD_HOST_DEVICE void start(const X& x) {
    constexpr int row = kTx - 1;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      d_[n] = 0;
      path_[n] = 0;
      append(row, x.diagonal(row), x.z(row), own(n), d_[n], path_[n]);
    }
  }

  /// Each path continues by the symbol of `row` that costs least.
  IQD_HOST_DEVICE void extend(const X& x, int row, Distances& d, Paths& paths) const {
    Rests e;
    find_rests(x, row, paths, e);
    const float r = x.diagonal(row), per_step = per_step_of(r);
    float2 best[kOwn];
    if (prior_) {
      find_best_by_axes(r, row, d, e, best);
    } else if (options_.paper) {
      find_best_of_all(r, d, e, best);
    } else {
#pragma unroll
      for (int n = 0; n < kOwn; ++n) best[n] = nearest(e[n], per_step);
    }
#pragma unroll
    for (int n = 0; n < kOwn; ++n) append(row, r, e[n], best[n], d[n], paths[n]);
  }
  /// With a prior: level by level, in the order of labels.
  IQD_HOST_DEVICE void find_best_by_axes(float r, int row, const Distances& d, const Rests& e,
                                         float2 (&best)[kOwn]) const {
    Distances re, im;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) re[n] = im[n] = INFINITY;
#pragma unroll 1
    for (int label = 0; label < kLevels; ++label) {
      const int place = place_of_label(label);
      const float level = level_at_place(place);
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        const float2 cost = axis_costs(r, row, place, d[n], e[n]);
        if (cost.x < re[n]) re[n] = cost.x, best[n].x = level;
        if (cost.y < im[n]) im[n] = cost.y, best[n].y = level;
      }
    }
  }
  /// What a path pays with a level in the real part, its distance included, and in the imaginary part.
  IQD_HOST_DEVICE float2 axis_costs(float r, int row, int place, float d, float2 e) const {
    const float level = level_at_place(place), x = fmaf(-r, level, e.x), y = fmaf(-r, level, e.y);
    const float2 cost{fmaf(x, x, d), y * y};
    return prior_ ? float2{cost.x + level_cost(row, 0, place), cost.y + level_cost(row, 1, place)} : cost;
  }
  /// As published: point by point, in the order of symbols.
  IQD_HOST_DEVICE static void find_best_of_all(float r, const Distances& d, const Rests& e, float2 (&best)[kOwn]) {
    Distances least;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) least[n] = INFINITY;
#pragma unroll 1
    for (int q = 0; q < kPoints; ++q) {
      const float2 s{level_of_label(every_second(q >> 1)), level_of_label(every_second(q))};
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        const float cost = mimo::plus_square(d[n], miss(r, e[n], s));
        if (cost < least[n]) least[n] = cost, best[n] = s;
      }
    }
  }

  // ---- reductions

  /// The survivors of `row` from those of the row above.
  IQD_HOST_DEVICE void go_down(const X& x, int row) {
    if constexpr (kTx > 1)
      if (row == kTx - 2 && !prior_ && !options_.paper) return join_all(x);
    const float r = x.diagonal(row);
    int parent[kOwn];
    Rests e;
    find_rests(x, row, path_, e);
    if (options_.paper)
      scan(r, e, parent);
    else
      reduce(r, e, parent);
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      distance_[slot(lane_, n)] = d_[n];
      symbols_[slot(lane_, n)] = path_[n];
    }
    group_.sync();
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      d_[n] = distance_[slot(parent[n] / kOwn, parent[n] % kOwn)];
      path_[n] = symbols_[slot(parent[n] / kOwn, parent[n] % kOwn)];
    }
    group_.sync();
    find_rests(x, row, path_, e);
#pragma unroll
    for (int n = 0; n < kOwn; ++n) append(row, r, e[n], own(n), d_[n], path_[n]);
  }
  /// Where a lane's survivor n is in shared memory: neighbouring lanes in neighbouring places.
  IQD_HOST_DEVICE static int slot(int lane, int n) {
    return n * kLanes + lane;
  }

  /// The first reduction, where each point has a path: the cost of both rows grows in circles around a number.
  IQD_HOST_DEVICE void join_all(const X& x) {
    constexpr int last = kTx - 1, row = last - 1;
    const float2 a = x.above(row, last), z = x.z(last), below = x.z(row);
    const float r = x.diagonal(last), diagonal = x.diagonal(row);
    const float square = mimo::plus_square(r * r, a), per_step = square < FLT_MIN ? 0 : 1 / square;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      const float2 u = miss(diagonal, below, own(n));
      const float2 center{fmaf(a.y, u.y, fmaf(a.x, u.x, r * z.x)), fmaf(-a.y, u.x, fmaf(a.x, u.y, r * z.y))};
      const float2 s = nearest(center, per_step);
      d_[n] = 0;
      path_[n] = 0;
      append(last, r, z, s, d_[n], path_[n]);
      append(row, diagonal, mimo::minus_product(below, a, s), own(n), d_[n], path_[n]);
    }
  }

  /// As published: for each of the lane's points, the path that costs least there.
  IQD_HOST_DEVICE void scan(float r, const Rests& e, int (&parent)[kOwn]) {
    Distances least;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      least[n] = INFINITY;
      parent[n] = 0;
      shown_[slot(lane_, n)] = float4{e[n].x, e[n].y, d_[n], 0};
    }
    group_.sync();
#pragma unroll 1
    for (int owner = 0; owner < kLanes; ++owner)
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        const float4 from = shown_[slot(owner, k)];
#pragma unroll
        for (int n = 0; n < kOwn; ++n) {
          const float cost = mimo::plus_square(from.z, miss(r, float2{from.x, from.y}, own(n)));
          if (cost < least[n]) least[n] = cost, parent[n] = owner * kOwn + k;
        }
      }
  }

  /// The same by whole numbers that have the path in their last bits, as in reduce.cuh. 24 bits hold two parts that are
  /// cut off at 2^23 - 1 each; no part of a sum that is the least anywhere is cut.
  IQD_HOST_DEVICE void reduce(float r, const Rests& e, int (&parent)[kOwn]) {
    constexpr float kMost = 16777215.0f;  // 2^23 … this are whole numbers in a float's last 23 bits
    show(r, e);
    std::uint32_t least[kOwn];
#pragma unroll
    for (int n = 0; n < kOwn; ++n) least[n] = 0xffffffff;
    group_.sync();
#pragma unroll 1
    for (int owner = 0; owner < kLanes; ++owner)
#pragma unroll
      for (int k = 0; k < kOwn; ++k) {
        const float4 from = shown_[slot(owner, k)];
        const auto number = static_cast<std::uint32_t>(owner * kOwn + k);
        std::uint32_t re[kOwnRe], im[kOwnIm];
#pragma unroll
        for (int i = 0; i < kOwnRe; ++i) re[i] = whole(fminf(fmaf(re_[i], from.y, from.x), kMost), number);
#pragma unroll
        for (int i = 0; i < kOwnIm; ++i) im[i] = whole(fminf(fmaf(im_[i], from.w, from.z), kMost), 0);
#pragma unroll
        for (int n = 0; n < kOwn; ++n) least[n] = least_sum(re[real_of(n)], im[imag_of(n)], least[n]);
      }
#pragma unroll
    for (int n = 0; n < kOwn; ++n) parent[n] = static_cast<int>(least[n] & (kPoints - 1));
  }
  /// The float's last 23 bits times the number of points, plus k: the bits above them are lost.
  IQD_HOST_DEVICE std::uint32_t whole(float x, std::uint32_t k) const {
    return static_cast<std::uint32_t>(mimo::bits_of_float(x)) * points_ + k;
  }
  /// Shows what the lane's survivors cost at level 0 of both axes of a row, and per level.
  IQD_HOST_DEVICE void show(float r, const Rests& e) const {
    constexpr float kLeastBound = 0x1p-60f;  // for exact hits
    constexpr float kMargin = 16;            // rounding may not bring 0 below 2^23
    constexpr float kWhole = 8388608.0f - 4 * kMargin;
    const float top = kTop * r, square = top * top;
    float bound = INFINITY;  // some survivor costs at most this at every point
#pragma unroll
    for (int n = 0; n < kOwn; ++n)
      bound = fminf(bound, mimo::plus_square(d_[n], {fabsf(e[n].x) + top, fabsf(e[n].y) + top}));
    bound = fmaxf(least_of_lanes(bound), kLeastBound);
    const float reach = top + sqrtf(bound);  // beyond it no distance is below the bound
    const float scale = kWhole / (bound + 2 * square), offset = fmaf(square, scale, 8388608.0f + kMargin);
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      const float re = fminf(fmaxf(e[n].x, -reach), reach), im = fminf(fmaxf(e[n].y, -reach), reach);
      const float scaled_re = re * scale, scaled_im = im * scale;
      shown_[slot(lane_, n)] = float4{fmaf(scaled_re, re, fmaf(fminf(d_[n], bound), scale, offset)),
                                      scaled_re * (-2 * r), fmaf(scaled_im, im, offset), scaled_im * (-2 * r)};
    }
  }
  IQD_HOST_DEVICE float least_of_lanes(float x) const {
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) x = fminf(x, group_.shfl_xor(x, step));
    return x;
  }

  // ---- LLRs

  /// The least cost of the counted paths that have a level.
  IQD_HOST_DEVICE float& least(int row, int axis, int place) const {
    return least_[(row * 2 + axis) * kLevels + place];
  }
  /// Most paths are not the best so far; a number that is out of date only costs an atomic operation.
  IQD_HOST_DEVICE static void lower(float& to, float d) {
    if (!(d < to)) return;
#ifdef __CUDA_ARCH__
    atomicMin(reinterpret_cast<int*>(&to), __float_as_int(d));  // costs are not negative
#else
    to = d;
#endif
  }

  /// The survivors of `row` continue over the rows below; their final costs count for their bits.
  IQD_HOST_DEVICE void list(const X& x, int row) {
    Distances d;
    Paths paths;
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      d[n] = d_[n];
      paths[n] = path_[n];
    }
#pragma unroll 1
    for (int below = row - 1; below >= 0; --below) extend(x, below, d, paths);
    float re[kOwnRe] = {INFINITY, INFINITY}, im[kOwnIm] = {INFINITY, INFINITY, INFINITY, INFINITY};
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      re[real_of(n)] = fminf(re[real_of(n)], d[n]);
      im[imag_of(n)] = fminf(im[imag_of(n)], d[n]);
    }
#pragma unroll
    for (int i = 0; i < kOwnRe; ++i) lower(least(row, 0, Axis::place(re_[i])), re[i]);
#pragma unroll
    for (int i = 0; i < kOwnIm; ++i) lower(least(row, 1, Axis::place(im_[i])), im[i]);
    if (!options_.pooled) return;
#pragma unroll 1
    for (int other = 0; other < kTx; ++other) {
      if (other == row) continue;
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        lower(least(other, 0, symbol(paths[n], other) >> kHalf), d[n]);
        lower(least(other, 1, symbol(paths[n], other) & (kLevels - 1)), d[n]);
      }
    }
  }

  /// The list of row 0 from the survivors of row 1: a level of one axis costs least with the best of the other axis.
  IQD_HOST_DEVICE void finish(const X& x) const {
    Rests e;
    find_rests(x, 0, path_, e);
    const float r = x.diagonal(0), per_step = per_step_of(r);
    float2 best[kOwn];
#pragma unroll
    for (int n = 0; n < kOwn; ++n) {
      const float2 nearest_miss = miss(r, e[n], nearest(e[n], per_step));
      best[n] = {fmaf(nearest_miss.x, nearest_miss.x, d_[n]), nearest_miss.y * nearest_miss.y};
      if (prior_) best[n] = {INFINITY, INFINITY};
    }
#pragma unroll 1
    for (int place = 0; prior_ && place < kLevels; ++place)
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        const float2 cost = axis_costs(r, 0, place, d_[n], e[n]);
        best[n] = {fminf(best[n].x, cost.x), fminf(best[n].y, cost.y)};
      }
#pragma unroll 1
    for (int place = 0; place < kLevels; ++place) {
      float re = INFINITY, im = INFINITY;
#pragma unroll
      for (int n = 0; n < kOwn; ++n) {
        const float2 cost = axis_costs(r, 0, place, d_[n], e[n]);
        re = fminf(re, cost.x + best[n].y);
        im = fminf(im, best[n].x + cost.y);
      }
      re = least_of_lanes(re);
      im = least_of_lanes(im);
      if (lane_ == 0) {
        least(0, 0, place) = re;
        least(0, 1, place) = im;
      }
    }
  }

  /// x takes the results in place of R.
  IQD_HOST_DEVICE void give(const X& x) const {
    float best = INFINITY;
    for (int at = lane_; at < kTx * kBits; at += kLanes) {
      const int row = at / kBits, bit = at % kBits;
      float with[2] = {INFINITY, INFINITY};
      for (int place = 0; place < kLevels; ++place) {
        const float d = least(row, bit % 2, place);
        if (Axis::has_one(bit / 2, place))
          with[1] = fminf(with[1], d);
        else
          with[0] = fminf(with[0], d);
      }
      x.gap(row, bit) = with[1] - with[0];
      best = fminf(best, fminf(with[0], with[1]));
    }
    best = least_of_lanes(best);
    if (lane_ == 0) x.least() = best;
  }

  Group group_;
  WarpOptions options_;
  bool prior_ = false;
  std::uint32_t points_ = 0;
  int lane_;
  float* least_;     // [row][axis][place]
  float4* shown_;    // [slot]: a survivor to all lanes
  float* distance_;  // [slot]
  Symbols* symbols_;
  float* level_cost_;              // [row][axis][place]
  float re_[kOwnRe], im_[kOwnIm];  // the lane's levels
  Distances d_;
  Paths path_;
};

}  // namespace iqd::mtt_detector
