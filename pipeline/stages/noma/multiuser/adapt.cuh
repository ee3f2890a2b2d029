// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/task.cuh"

/// The recursion in the space of factors, one thread block per user: it keeps the pilots' estimates, and each step adds
/// its change of the window's factors, times `gram`.
///
/// A launch handles a stretch of pilots. The contribution of factors that do not change in the stretch is summed first,
/// by as many thread blocks as fit (estimate_stretch). Within the stretch, kNew pilots make a round. A square of `gram`
/// for these and the window before them is in registers, kLanes threads per row, and the round's steps use it one after
/// the other. Meanwhile the other warps sum, for the next round's pilots, over all factors that do not change in this
/// round; those that changed are added at the beginning of the next round.
namespace iqd::noma::training {

/// kSlots columns of the square are in a thread's registers; 0: for wide windows, each step reads it from memory.
template <int kNew, int kLanes, int kSlots, int kThreads> class Adaptation {
 public:
  static constexpr int kWarps = kThreads / kWarp;
  static constexpr int kHeld = kSlots > 0 ? kLanes* kSlots : kMostWindow + kNew;
  static constexpr int kMostRows = (kHeld * kLanes + kWarp - 1) / kWarp * kWarp / kLanes;  // whole warps
  static_assert(kWarp % kNew == 0 && kSlots % 2 == 0);
  static_assert(kMostRows * kLanes < kThreads, "some warps have to be left for the next round");
  static constexpr bool holds(int window) { return window - 1 + kNew <= kHeld; }

  struct Memory {
    alignas(16) float2 delta[2][kMostRows];  // [step modulo 2][row]
    float2 estimate[kMostRows];              // of the window's rows, for the next round
    float2 near[kWarps][kNew];               // sums over factors changed by the last round
    float2 far[2][kWarps][kNew];             // [round modulo 2]: sums over the others
    float weight[kMostWindow + 2 * kNew];    // [age + kNew - 1]; 0 outside the window
    float share[kMostWindow];
  };

  __device__ Adaptation(const Task& task, Memory& memory)
      : task_(task),
        memory_(memory),
        window_(task.window),
        begin_(task.stretch),
        end_(min(task.stretch + kStretch, task.pilots)),
        settled_(settled(task)),
        later_(task.pass > 0),
        thread_(static_cast<int>(threadIdx.x)),
        rows_(window_ - 1 + kNew),
        busy_((rows_ * kLanes + kWarp - 1) / kWarp * kWarp),
        row_(thread_ / kLanes),
        lane_(thread_ % kLanes),
        b_(task.b + std::int64_t{blockIdx.x} * task.pilots),
        entering_(task.entering + std::int64_t{blockIdx.x} * task.pilots),
        factor_(task.factor + std::int64_t{blockIdx.x} * task.pilots),
        gram_(task.gram + std::int64_t{task.old_places} * task.pilots) {
    for (int i = thread_; i < window_ + 2 * kNew; i += kThreads) {
      const int age = i - (kNew - 1);
      memory.weight[i] = age >= 0 && age < window_ ? task.weight[age] : 0;
    }
    for (int i = thread_; i < window_; i += kThreads) memory.share[i] = task.share[i];
    for (int i = thread_; i < 2 * kMostRows; i += kThreads) memory.delta[i / kMostRows][i % kMostRows] = {0, 0};
  }

  __device__ void run() {
    for (int i = thread_; begin_ > 0 && i < window_ - 1; i += kThreads) memory_.estimate[i] = handed_on()[i];
    __syncthreads();
    int round = 0;
    for (int first = begin_; first < end_; first += kNew, ++round) {
      const bool steps = thread_ < busy_;
      if (steps) {
        load_square(first);
        load_row(first);
      }
      const bool fresh = first == begin_;
      const int changed = fresh ? settled_ : max(settled_, first - kNew - (window_ - 1));
      put_sums(memory_.near, gather(first, changed, fresh && later_ ? end_ : first, thread_, kThreads));
      __syncthreads();
      if (steps) {
        complete_row(first, memory_.far[round % 2]);
        for (int i = 0; i < min(kNew, task_.pilots - first); ++i) step(first, i);
        leave(first);
      } else if (first + kNew < end_) {
        look_ahead(first, memory_.far[(round + 1) % 2]);
      }
      __syncthreads();
    }
    for (int i = thread_; i < window_ - 1; i += kThreads) handed_on()[i] = memory_.estimate[i];
  }

 private:
  /// The pilot of a row of the square; rows before the first pilot and after the last are unused.
  __device__ int pilot_of(int begin, int row) const { return begin - (window_ - 1) + row; }
  __device__ bool is_pilot(int begin, int row) const {
    const int t = pilot_of(begin, row);
    return row < rows_ && t >= 0 && t < task_.pilots;
  }
  __device__ float4 gram(int s, int t) const { return __ldg(gram_ + std::int64_t{s} * task_.pilots + t); }

  /// This thread's part of the sum over columns begin … end - 1, for the pilot first + thread % kNew.
  __device__ float2 gather(int first, int begin, int end, int thread, int threads) const {
    const int t = min(first + thread % kNew, task_.pilots - 1);
    float2 sum{0, 0};
#pragma unroll 4
    for (int s = begin + thread / kNew; s < end; s += threads / kNew) sum = add(sum, gram(s, t), factor_[s]);
    return sum;
  }
  __device__ void put_sums(float2 (*to)[kNew], float2 sum) const {
#pragma unroll
    for (int d = kNew; d < kWarp; d *= 2) {
      sum.x += __shfl_xor_sync(0xffffffffu, sum.x, d);
      sum.y += __shfl_xor_sync(0xffffffffu, sum.y, d);
    }
    if (thread_ % kWarp < kNew) to[thread_ / kWarp][thread_ % kNew] = sum;
  }
  /// Sums for the round after the one that begins at `begin`, over factors that do not change in this one.
  __device__ void look_ahead(int begin, float2 (*to)[kNew]) const {
    const int next = begin + kNew, thread = thread_ - busy_, threads = kThreads - busy_;
    float2 sum = gather(next, settled_, begin - (window_ - 1), thread, threads);
    if (later_) {
      const float2 later = gather(next, next, end_, thread, threads);
      sum = {sum.x + later.x, sum.y + later.y};
    }
    put_sums(to, sum);
  }
  /// The estimates of the window, for the next stretch.
  __device__ float2* handed_on() const {
    return task_.handed_on + std::int64_t{blockIdx.x} * kMostWindow;
  }

  __device__ static float2 add(float2 sum, float4 g, float2 factor) {
    return {fmaf(g.y, factor.y, fmaf(g.x, factor.x, sum.x)), fmaf(g.x, factor.y, fmaf(g.z, factor.x, sum.y))};
  }
  /// The lanes of a row have neighbouring pairs of columns, for slots 2k and 2k + 1.
  __device__ int column_of(int slot) const {
    return (slot / 2 * kLanes + lane_) * 2 + slot % 2;
  }

  __device__ void load_square(int begin) {
    const bool row = is_pilot(begin, row_);
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) {
      float4 g{0, 0, 0, 0};
      if (row && is_pilot(begin, column_of(slot))) g = gram(pilot_of(begin, column_of(slot)), pilot_of(begin, row_));
      square_[slot][0] = g.x;
      square_[slot][1] = g.y;
      square_[slot][2] = g.z;
    }
  }

  __device__ int new_row() const {
    return row_ - (window_ - 1);
  }  // below 0: of the window before

  /// The row's target, factor and estimate, as far as known.
  __device__ void load_row(int begin) {
    const bool row = is_pilot(begin, row_);
    const int t = row ? pilot_of(begin, row_) : 0;
    target_ = row ? b_[t] : float2{0, 0};
    inverse_ = row ? task_.inverse[t] : 0;
    changed_ = row ? factor_[t] : float2{0, 0};
    estimate_ = {0, 0};
    if (row) estimate_ = new_row() < 0 ? memory_.estimate[row_] : entering_[t];
    size_ = size_of(begin, 0);
  }
  __device__ void complete_row(int begin, const float2 (*far)[kNew]) {
    if (new_row() < 0 || !is_pilot(begin, row_)) return;
    for (int warp = 0; warp < kWarps; ++warp) add_to_estimate(memory_.near[warp][new_row()]);
    if (begin == begin_) return;
    for (int warp = busy_ / kWarp; warp < kWarps; ++warp) add_to_estimate(far[warp][new_row()]);
  }
  __device__ void add_to_estimate(float2 v) {
    estimate_ = {estimate_.x + v.x, estimate_.y + v.y};
  }

  __device__ float correction(float target, float estimate) const {
    const float error = target - estimate;
    return copysignf(fmaxf(fabsf(error) - task_.epsilon, 0.0f), error);
  }

  /// Factor of this row's error when pilot begin + i enters the window.
  __device__ float size_of(int begin, int i) const {
    const int age = max(i + window_ - 1 - row_, 1 - kNew);
    return inverse_ * (memory_.weight[age + kNew - 1] * memory_.share[min(window_, begin + i + 1) - 1]);
  }

  __device__ void step(int begin, int i) {
    const float2 delta{correction(target_.x, estimate_.x) * size_, correction(target_.y, estimate_.y) * size_};
    float2* const deltas = memory_.delta[i % 2];  // threads may still read the other one
    if (lane_ == 0) deltas[row_] = delta;
    changed_ = {changed_.x + delta.x, changed_.y + delta.y};
    meet();
    size_ = size_of(begin, i + 1);
    float2 sum = kSlots > 0 ? add_square(deltas) : add_window(deltas, begin, i);
#pragma unroll
    for (int d = 1; d < kLanes; d *= 2) {
      sum.x += __shfl_xor_sync(0xffffffffu, sum.x, d);
      sum.y += __shfl_xor_sync(0xffffffffu, sum.y, d);
    }
    add_to_estimate(sum);
  }
  /// Over all columns: those outside the window have a delta of 0. Two sums, so that neither waits for the other.
  __device__ float2 add_square(const float2* deltas) const {
    float2 even{0, 0}, odd{0, 0};
#pragma unroll
    for (int slot = 0; slot < kSlots; slot += 2) {
      const float4 two = *reinterpret_cast<const float4*>(deltas + column_of(slot));
      even = add(even, {square_[slot][0], square_[slot][1], square_[slot][2], 0}, {two.x, two.y});
      odd = add(odd, {square_[slot + 1][0], square_[slot + 1][1], square_[slot + 1][2], 0}, {two.z, two.w});
    }
    return {even.x + odd.x, even.y + odd.y};
  }
  __device__ float2 add_window(const float2* deltas, int begin, int i) const {
    float2 sum{0, 0};
    const int first = max(i, window_ - 1 - begin);
    if (is_pilot(begin, row_))
#pragma unroll 8
      for (int column = first + lane_; column < i + window_; column += kLanes)
        sum = add(sum, gram(pilot_of(begin, column), pilot_of(begin, row_)), deltas[column]);
    return sum;
  }
  /// Barrier of the warps that do the steps.
  __device__ void meet() const {
    asm volatile("bar.sync 1, %0;" ::"r"(busy_) : "memory");
  }

  __device__ void leave(int begin) {
    if (lane_ != 0) return;
    if (is_pilot(begin, row_)) factor_[pilot_of(begin, row_)] = changed_;
    if (row_ >= kNew && row_ < rows_) memory_.estimate[row_ - kNew] = estimate_;
  }

  const Task& task_;
  Memory& memory_;
  int window_;
  int begin_;
  int end_;
  int settled_;
  bool later_;
  int thread_;
  int rows_;
  int busy_;  // threads that do the steps
  int row_;
  int lane_;
  const float2* b_;
  const float2* entering_;
  float2* factor_;
  const float4* gram_;
  float square_[kSlots > 0 ? kSlots : 1][3];
  float2 estimate_;
  float2 target_;
  float2 changed_;
  float inverse_;
  float size_;
};

template <int kNew, int kLanes, int kSlots, int kThreads> static __global__ void __launch_bounds__(kThreads)
    adapt_users(const Task task) {
  using Steps = Adaptation<kNew, kLanes, kSlots, kThreads>;
  __shared__ typename Steps::Memory memory;
  if (task.idle() || !task.state->trained) return;
  Steps(task, memory).run();
}

struct AdaptKernel {
  void (*run)(Task);
  int threads;
};
/// The first that fits the window: rounds of 16 pilots.
inline AdaptKernel adapt_kernel(int window) {
  if (Adaptation<16, 4, 10, 512>::holds(window)) return {adapt_users<16, 4, 10, 512>, 512};
  if (Adaptation<16, 4, 16, 512>::holds(window)) return {adapt_users<16, 4, 16, 512>, 512};
  return {adapt_users<16, 2, 0, 1024>, 1024};
}

}  // namespace iqd::noma::training
