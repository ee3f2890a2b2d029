// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// One list of paths down the rows of R on a GPU, in the CPU's order of operations (paths_inl.hpp). A group of threads,
// a warp or a part of one, searches a vector. `Group` is a cooperative_groups tile, or its stand-in on the host for
// tests.
#pragma once

#include "pipeline/stages/mimo/front_end.cuh"

namespace iqd::mimo {

/// Threads that search a vector: one per symbol, at most a warp.
constexpr int threads_for(int bits) {
  return bits < 5 ? 1 << bits : 32;
}

/// What the threads of a vector exchange: z, R, the antenna of each row and the noise before the search, and the
/// differences of the bits' least distances after it. Consecutive numbers are kTileVectors apart.
template <int kTx, int kBits> class Exchange {
 public:
  static constexpr int kRows = 3 * kTx + kTx * (kTx - 1);  // behind z and R: antennas, noise
  static constexpr int kIn = kRows + kTx + 1;
  static constexpr int kOut = kTx * kBits + 1;
  static constexpr std::size_t kBytes = (kIn > kOut ? kIn : kOut) * kTileVectors * sizeof(float);

  IQD_HOST_DEVICE Exchange(float* memory, int vector) : at_(memory + vector) {}

  /// Zeros for erased vectors: they may hold NaN, and then no path would be the best.
  IQD_HOST_DEVICE void put(const Triangle<kTx>& r) const {
    const auto usable = [&r](float x) { return r.erased ? 0.0f : x; };
#pragma unroll
    for (int m = 0; m < kTx; ++m) {
      (*this)(2 * m) = usable(r.y[m].x);
      (*this)(2 * m + 1) = usable(r.y[m].y);
      (*this)(2 * kTx + m) = usable(r.diagonal[m]);
      (*this)(kRows + m) = static_cast<float>(r.antenna[m]);
#pragma unroll
      for (int row = 0; row < m; ++row) {
        (*this)(place(row, m)) = usable(r.above[row][m].x);
        (*this)(place(row, m) + 1) = usable(r.above[row][m].y);
      }
    }
    (*this)(kRows + kTx) = fminf(usable(r.noise), kMostPriorNoise);
  }
  IQD_HOST_DEVICE float2 z(int m) const {
    return {(*this)(2 * m), (*this)(2 * m + 1)};
  }
  IQD_HOST_DEVICE float diagonal(int m) const {
    return (*this)(2 * kTx + m);
  }
  IQD_HOST_DEVICE float2 above(int row, int column) const {
    return {(*this)(place(row, column)), (*this)(place(row, column) + 1)};
  }
  IQD_HOST_DEVICE int antenna(int m) const {
    return static_cast<int>((*this)(kRows + m));
  }
  IQD_HOST_DEVICE float noise() const {
    return (*this)(kRows + kTx);
  }
  /// [row][bit]: least distance with bit 1 minus that with bit 0, infinite where one is missing. least(): the least
  /// distance of all.
  IQD_HOST_DEVICE float& gap(int row, int bit) const {
    return (*this)(row * kBits + bit);
  }
  IQD_HOST_DEVICE float& least() const {
    return (*this)(kTx * kBits);
  }

 private:
  IQD_HOST_DEVICE static int place(int row, int column) {
    return 3 * kTx + column * (column - 1) + 2 * row;
  }
  IQD_HOST_DEVICE float& operator()(int i) const {
    return at_[i * kTileVectors];
  }

  float* at_;
};

template <class Group, int kTx, int kBits> class Paths {
 public:
  static constexpr int kHalf = kBits / 2, kLevels = 1 << kHalf, kPoints = 1 << kBits;

  /// Shared memory for a vector's search with at most `most` paths at a time.
  static std::size_t bytes(int most) {
    const std::size_t of_path =
        2 * (kTx - 1) * sizeof(float2) + 2 * kPitch * sizeof(float) + sizeof(float) + 2 * kTx * sizeof(std::uint8_t);
    return (of_path * static_cast<std::size_t>(most) + 15) / 16 * 16;
  }

  IQD_HOST_DEVICE Paths(Group group, int most, std::byte* memory) : group_(group), most_(most) {
    rest_ = reinterpret_cast<float2*>(memory);
    next_ = rest_ + (kTx - 1) * most;
    cost_re_ = reinterpret_cast<float*>(next_ + (kTx - 1) * most);
    cost_im_ = cost_re_ + kPitch * most;
    distance_ = cost_im_ + kPitch * most;
    parent_ = reinterpret_cast<std::uint8_t*>(distance_ + most);
    symbol_ = parent_ + kTx * most;
  }

  IQD_HOST_DEVICE Group& group() { return group_; }
  IQD_HOST_DEVICE int size() const { return size_; }
  IQD_HOST_DEVICE int lane() const { return static_cast<int>(group_.thread_rank()); }
  IQD_HOST_DEVICE int lanes() const { return static_cast<int>(group_.num_threads()); }
  /// Path k continues with symbol q at the cost cost_re(k)[real_of(q)] + cost_im(k)[imag_of(q)], its distance included.
  IQD_HOST_DEVICE const float* cost_re(int k) const { return cost_re_ + k * kPitch; }
  IQD_HOST_DEVICE const float* cost_im(int k) const { return cost_im_ + k * kPitch; }
  IQD_HOST_DEVICE static int real_of(int q) { return every_second(q >> 1); }
  IQD_HOST_DEVICE static int imag_of(int q) { return every_second(q); }

  /// Path number `place` of the next row: path `parent` continues with `symbol`. Any thread may call it.
  IQD_HOST_DEVICE void put(int place, int parent, int symbol, float distance) {
    parent_[row_ * most_ + place] = static_cast<std::uint8_t>(parent);
    symbol_[row_ * most_ + place] = static_cast<std::uint8_t>(symbol);
    distance_[place] = distance;
  }

  /// Goes down all rows: `choose()` puts the continuations and returns their number. All threads of the group call it.
  /// `prior`: [antenna][bit], null without one. `mixed`: antennas may have smaller alphabets, these.
  template <class Choose> IQD_HOST_DEVICE void descend(const Exchange<kTx, kBits>& x, const float* prior, bool mixed,
                                                       const Alphabets& alphabets, const Choose& choose) {
    size_ = 1;
    prior_ = prior;
    mixed_ = mixed;
    alphabets_ = alphabets;
    for (row_ = kTx - 1; row_ >= 0; --row_) {
      find_costs(x);
      group_.sync();
      size_ = choose();
      group_.sync();
      advance(x);
      group_.sync();
    }
    follow_back();
    group_.sync();
    find_least(x);
    group_.sync();
  }

 private:
  static constexpr int kPitch = kLevels + 1;  // paths begin in different banks

  /// Bits 0, 2, 4 … of a symbol: those of one axis.
  IQD_HOST_DEVICE static int every_second(int q) {
    int axis = 0;
#pragma unroll
    for (int b = 0; b < kHalf; ++b) axis |= (q >> 2 * b & 1) << b;
    return axis;
  }
  IQD_HOST_DEVICE static float level(int axis_bits) {
    return static_cast<float>(qam::amplitude(kHalf, static_cast<unsigned>(axis_bits)));
  }
  /// Residual of z on row r for path k. Before the first symbol it is z itself.
  IQD_HOST_DEVICE float2 rest(const Exchange<kTx, kBits>& x, int r, int k) const {
    return row_ == kTx - 1 ? x.z(r) : rest_[r * most_ + k];
  }

  IQD_HOST_DEVICE void find_costs(const Exchange<kTx, kBits>& x) {
    const float diagonal = x.diagonal(row_);
    for (int at = lane(); at < size_ * kLevels; at += lanes()) {
      const int k = at >> kHalf, i = at & (kLevels - 1);
      const float2 e = rest(x, row_, k);
      const float re = fmaf(-diagonal, level(i), e.x), im = fmaf(-diagonal, level(i), e.y);
      cost_re_[k * kPitch + i] = fmaf(re, re, row_ == kTx - 1 ? 0.0f : distance_[k]);
      cost_im_[k * kPitch + i] = im * im;
      if (mixed_) add_mixed(x, k, i);
      if (!prior_ || mixed_) continue;
      const float* const prior = prior_ + x.antenna(row_) * kBits;
      cost_re_[k * kPitch + i] += x.noise() * cost_by_prior(prior, i);
      cost_im_[k * kPitch + i] += x.noise() * cost_by_prior(prior + 1, i);
    }
  }
  /// What level i costs by the prior of the bits that the antenna has; infinite if it does not have the level.
  IQD_HOST_DEVICE void add_mixed(const Exchange<kTx, kBits>& x, int k, int i) {
    const int antenna = x.antenna(row_);
    const Alphabet alphabet = alphabets_.of(antenna);
    if (alphabet.is_silent()) {  // each path continues to one symbol, its own: none is lost
      if (i != real_of(k & (kPoints - 1))) cost_re_[k * kPitch + i] = INFINITY;
      if (i != imag_of(k & (kPoints - 1))) cost_im_[k * kPitch + i] = INFINITY;
      return;
    }
    if (fabsf(level(i)) > static_cast<float>(alphabet.top())) {
      cost_re_[k * kPitch + i] = cost_im_[k * kPitch + i] = INFINITY;
      return;
    }
    for (int axis = 0; prior_ && axis < 2; ++axis) {
      float cost = 0;
#pragma unroll
      for (int j = 0; j < kHalf; ++j) {
        const int own = alphabet.own(j);
        if (own < 0) continue;
        const float prior = usable_prior(prior_[antenna * kBits + 2 * own + axis]);
        const bool one = (i >> (kHalf - 1 - j) & 1) != 0;
        cost += fmaxf(0, one != alphabet.is_turned(own) ? prior : -prior);
      }
      (axis == 0 ? cost_re_ : cost_im_)[k * kPitch + i] += x.noise() * cost;
    }
  }
  /// Of a level, by every second of these LLRs.
  IQD_HOST_DEVICE static float cost_by_prior(const float* llr, int level) {
    float cost = 0;
#pragma unroll
    for (int b = 0; b < kHalf; ++b) {
      const float prior = usable_prior(llr[2 * b]);
      cost += fmaxf(0, level >> (kHalf - 1 - b) & 1 ? prior : -prior);
    }
    return cost;
  }

  /// Subtracts the chosen symbols from the rows below.
  IQD_HOST_DEVICE void advance(const Exchange<kTx, kBits>& x) {
    for (int k = lane(); k < size_; k += lanes()) {
      const int parent = parent_[row_ * most_ + k], symbol = symbol_[row_ * most_ + k];
      const float2 a{level(real_of(symbol)), level(imag_of(symbol))};
      for (int r = 0; r < row_; ++r) next_[r * most_ + k] = minus_product(rest(x, r, parent), x.above(r, row_), a);
    }
    float2* const before = rest_;
    rest_ = next_;
    next_ = before;
  }

  /// The symbols of each whole path, one thread per path; they replace the costs.
  IQD_HOST_DEVICE void follow_back() {
    auto* const path_symbol = reinterpret_cast<std::uint8_t*>(cost_re_);
    static_assert(kPitch * sizeof(float) >= kTx);
    for (int k = lane(); k < size_; k += lanes())
      for (int m = 0, at = k; m < kTx; ++m) {
        path_symbol[m * most_ + k] = symbol_[m * most_ + at];
        at = parent_[m * most_ + at];
      }
  }

  /// One thread per bit, and one for the least distance of all.
  IQD_HOST_DEVICE void find_least(const Exchange<kTx, kBits>& x) {
    const auto* const path_symbol = reinterpret_cast<const std::uint8_t*>(cost_re_);
    for (int at = lane(); at <= kTx * kBits; at += lanes()) {
      const int row = at / kBits, bit = at % kBits;
      float least[2] = {INFINITY, INFINITY};
      for (int k = 0; k < size_; ++k) {
        const bool one = row < kTx && (path_symbol[row * most_ + k] >> (kBits - 1 - bit) & 1) != 0;
        least[one] = fminf(least[one], distance_[k]);
      }
      if (row < kTx)
        x.gap(row, bit) = least[1] - least[0];
      else
        x.least() = least[0];
    }
  }

  Group group_;
  int most_, size_ = 0, row_ = 0;
  const float* prior_ = nullptr;
  bool mixed_ = false;
  Alphabets alphabets_{};
  float2* rest_;  // [row][k]: residual of z
  float2* next_;
  float* cost_re_;  // [k][level]
  float* cost_im_;
  float* distance_;       // [k]
  std::uint8_t* parent_;  // [row][k]
  std::uint8_t* symbol_;
};

}  // namespace iqd::mimo
