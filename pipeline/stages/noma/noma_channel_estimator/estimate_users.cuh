// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "pipeline/stages/items.cuh"
#include "pipeline/stages/noma/noma_channel_estimator/user_desk.cuh"

/// The channels of all users, with the CPU's steps: a thread block takes a frame.
namespace iqd::noma_channel_estimator {
namespace {

class FrameOfUsers {
 public:
  __device__ FrameOfUsers(const UserJob& job, std::int64_t frame, float2* panel)
      : job_(job),
        e_(job.e),
        t_(job.t),
        d_(desk_of(job, frame)),
        carriers_(job.carriers + frame * job.e.frame()),
        panel_(panel),
        thread_(static_cast<int>(threadIdx.x)),
        own_(e_.users * e_.delays) {}

  __device__ void estimate() {
    check();
    whiten();
    const auto begin = static_cast<float>(fmax(power_ - 1, 1e-3) / own_);
    for (int i = thread_; i < own_; i += kFrameThreads) d_.powers[i] = begin;
    for (int u = thread_; u < e_.users; u += kFrameThreads) d_.offsets[u] = 0;
    __syncthreads();
    const double turn = 2 * std::numbers::pi * kOffsetHz * t_.spread;
    for (int round = 0; round < e_.rounds && t_.functions > 1; ++round) {
      turn_pilots();
      set_equations(2, e_.training);
      solve(2, static_cast<float>(turn * turn));
      set_parts(2);
      learn_offsets();
    }
    turn_pilots();
    fit(e_.training);
    measure_noise();
  }

  /// Again, with what decoders know of the data.
  __device__ void refine() {
    count_again();
    const int slots = e_.slots(), first = e_.training * e_.carriers;
    for (int i = thread_; i < slots; i += kFrameThreads) {
      const int s = i / e_.carriers;
      const bool usable = is_usable(e_, d_, i);
      float noise = 1;
      for (int u = 0; u < e_.users; ++u) {
        float power = 0;
        for (int l = 0; l < e_.delays; ++l) power += d_.powers[u * e_.delays + l];
        const double turns = d_.offsets[u] * (e_.training + s) * t_.symbol_seconds;
        const double radians = 2 * std::numbers::pi * turns + d_.phases[u * e_.data_symbols() + s];
        d_.sent[(first + i) * e_.users + u] = product(turned_by(radians), d_.expected[i * e_.users + u]);
        noise += power * d_.unsure[i * e_.users + u];
      }
      d_.weights[first + i] = usable ? 1 / noise : 0.0f;
    }
    __syncthreads();
    fit(e_.received());
    measure_noise();
  }

 private:
  __device__ float phi(int function, int s) const { return function == 0 ? 1.0f : t_.slope[s]; }
  __device__ bool is_known(int i) const {  // a pilot's vector
    return i % e_.carriers < t_.known[i / e_.carriers] && d_.usable[Extents::kBefore * e_.carriers + i] != 0;
  }
  static __device__ double energy(float2 z) { return double{z.x} * z.x + double{z.y} * z.y; }

  __device__ void check() {
    int lost = 0;
    const int begin = (Extents::kBefore + e_.training) * e_.carriers;
    for (int i = thread_; i < e_.symbols * e_.carriers; i += kFrameThreads) {
      bool finite = true;
      for (int r = 0; r < e_.rx; ++r) {
        const float2 y = carriers_[std::int64_t{i} * e_.rx + r];
        finite = finite && isfinite(y.x) && isfinite(y.y);
      }
      d_.usable[i] = finite;
      lost += !finite && i >= begin && i < begin + e_.data;
    }
    const double all = block_sum(lost);
    if (thread_ == 0) *d_.erased = static_cast<std::int32_t>(all);
    __syncthreads();
  }

  __device__ int vectors() const { return e_.training * e_.carriers; }

  __device__ void whiten() {
    double mine = 0;
    for (int i = thread_; i < vectors(); i += kFrameThreads) mine += is_known(i);
    known_ = static_cast<int>(block_sum(mine));
    antennas_ = 0;
    power_ = 0;
    const float2* const received = carriers_ + Extents::kBefore * e_.row();
    for (int r = 0; r < e_.rx; ++r) {
      double alone = 0, empty = 0, all = 0;
      for (int o = thread_; o < t_.odd_carriers; o += kFrameThreads)
        if (d_.usable[t_.odd[o]] != 0) alone += energy(carriers_[t_.odd[o] * e_.rx + r]), empty += 1;
      for (int i = thread_; i < vectors(); i += kFrameThreads)
        if (is_known(i)) all += energy(received[std::int64_t{i} * e_.rx + r]);
      alone = block_sum(alone), empty = block_sum(empty), all = block_sum(all);
      const double power = known_ > 0 ? all / known_ : 0;
      const double noise = fmax(empty > 0 ? alone / empty : 0, kLeastNoise * power);
      const double scale = noise > kLeastPower * kLeastNoise && power > kLeastPower ? 1 / sqrt(noise) : 0;
      antennas_ += scale > 0;
      power_ += scale * scale * power;
      if (thread_ == 0) d_.scale[r] = scale;
    }
    if (antennas_ > 0) power_ /= antennas_;
    __syncthreads();
    for (int i = thread_; i < e_.received() * e_.carriers; i += kFrameThreads) {
      const bool finite = d_.usable[Extents::kBefore * e_.carriers + i] != 0;
      d_.weights[i] = i < vectors() ? is_known(i) : finite;
      for (int r = 0; r < e_.rx; ++r) {
        const float2 y = received[std::int64_t{i} * e_.rx + r];
        const double scale = d_.scale[r];
        d_.white[i * e_.rx + r] = finite ? narrow({scale * y.x, scale * y.y}) : float2{0, 0};
      }
    }
    __syncthreads();
  }
  /// What `whiten` counted, from the desk.
  __device__ void count_again() {
    double mine = 0;
    for (int i = thread_; i < vectors(); i += kFrameThreads) mine += is_known(i);
    known_ = static_cast<int>(block_sum(mine));
    antennas_ = 0;
    for (int r = 0; r < e_.rx; ++r) antennas_ += d_.scale[r] > 0;
  }

  __device__ void turn_pilots() {
    for (int i = thread_; i < vectors() * e_.users; i += kFrameThreads) {
      const int s = i / e_.users / e_.carriers, u = i % e_.users;
      d_.sent[i] = product(turned_by(2 * std::numbers::pi * d_.offsets[u] * (s * t_.symbol_seconds)), t_.sent[i]);
    }
    __syncthreads();
  }

  __device__ void set_equations(int functions, int symbols) {
    equations_ = {d_.equations, static_cast<int>(pitch_of(e_, t_.functions)), functions * own_, e_.rx};
    for (int k = 0; k < functions; ++k) {
      set_sides(k, symbols);
      for (int later = k; later < functions; ++later) {
        set_products(k, later, symbols);
        const int lags = e_.lags();
        for (int i = thread_; i < own_ * own_; i += kFrameThreads) {
          const int column = i / own_, row = i % own_;
          const int b = column / e_.delays, n = column % e_.delays, a = row / e_.delays, m = row % e_.delays;
          equations_.column(k * own_ + column)[later * own_ + row] =
              d_.lags[(a * e_.users + b) * lags + e_.delays - 1 + n - m];
        }
        __syncthreads();
      }
    }
  }

  __device__ void set_products(int k, int later, int symbols) {
    const int pairs = e_.users * e_.users, lags = e_.lags();
    for (int i = thread_; i < pairs * e_.carriers; i += kFrameThreads) {
      const int pair = i / e_.carriers, c = i % e_.carriers, a = pair / e_.users, b = pair % e_.users;
      float2 sum{0, 0};
      for (int s = 0; s < symbols; ++s) {
        const int vector = s * e_.carriers + c;
        const float weight = d_.weights[vector] * phi(k, s) * phi(later, s);
        const float2 left = d_.sent[vector * e_.users + a];
        add(sum, product({weight * left.x, weight * -left.y}, d_.sent[vector * e_.users + b]));
      }
      d_.products[i] = sum;
    }
    __syncthreads();
    for (int i = thread_; i < pairs * lags; i += kFrameThreads) {
      const int pair = i / lags, lag = i % lags;
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c)
        add(sum, product(d_.products[pair * e_.carriers + c], t_.step_turn[c * lags + lag]));
      d_.lags[i] = sum;
    }
    __syncthreads();
  }

  __device__ void set_sides(int k, int symbols) {
    for (int i = thread_; i < e_.carriers * e_.pairs(); i += kFrameThreads) {
      const int c = i / e_.pairs(), u = i % e_.pairs() / e_.rx, r = i % e_.rx;
      float2 sum{0, 0};
      for (int s = 0; s < symbols; ++s) {
        const int vector = s * e_.carriers + c;
        const float weight = d_.weights[vector] * phi(k, s);
        const float2 left = d_.sent[vector * e_.users + u];
        add(sum, product({weight * left.x, weight * -left.y}, d_.white[vector * e_.rx + r]));
      }
      d_.values[i] = sum;
    }
    __syncthreads();
    for (int i = thread_; i < e_.pairs() * e_.delays; i += kFrameThreads) {
      const int l = i % e_.delays, pair = i / e_.delays, u = pair / e_.rx, r = pair % e_.rx;
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c)
        add(sum, conj_times(t_.turn[c * e_.delay_pitch + l], d_.values[c * e_.pairs() + pair]));
      equations_.column(k * own_ + u * e_.delays + l)[equations_.order + r] = {sum.x, -sum.y};
    }
    __syncthreads();
  }

  __device__ void solve(int functions, float slope_prior) {
    Equations factors = equations_;
    factors.m = d_.factors;
    const std::int64_t all = std::int64_t{equations_.order} * equations_.pitch;
    for (std::int64_t i = thread_; i < all; i += kFrameThreads) d_.factors[i] = d_.equations[i];
    float mine = 0;
    for (int j = thread_; j < equations_.order; j += kFrameThreads) mine = fmaxf(mine, equations_.column(j)[j].x);
    const float load = kLoad * block_largest(mine);
    for (int j = thread_; j < functions * own_; j += kFrameThreads) {
      const float precision = 1 / ((j < own_ ? 1.0f : slope_prior) * d_.powers[j % own_]);
      d_.variance[j] = 1 / (equations_.column(j)[j].x + precision);
      factors.column(j)[j].x += load + precision;
    }
    __syncthreads();
    dsp::factor(factors, load, panel_);
    dsp::substitute(factors, e_.rx, d_.g, panel_);
  }

  __device__ void fit(int symbols) {
    set_equations(1, symbols);
    for (int step = 0; step <= e_.em; ++step) {
      if (step > 0) learn_powers();
      solve(1, 0);
    }
    set_parts(1);
  }

  __device__ void learn_powers() {
    for (int i = thread_; i < own_ && antennas_ > 0; i += kFrameThreads) {
      float sum = 0;
      for (int r = 0; r < e_.rx; ++r) {
        const float2 g = d_.g[r * equations_.pitch + i];
        sum += g.x * g.x + g.y * g.y;
      }
      d_.powers[i] = sum / static_cast<float>(antennas_) + d_.variance[i];
    }
    __syncthreads();
  }

  __device__ void set_parts(int functions) {
    const int numbers = functions * e_.pairs();
    for (int i = thread_; i < e_.carriers * numbers; i += kFrameThreads) {
      const int c = i / numbers, k = i % numbers / e_.pairs(), u = i % e_.pairs() / e_.rx, r = i % e_.rx;
      float2 sum{0, 0};
      for (int l = 0; l < e_.delays; ++l)
        add(sum, product(t_.turn[c * e_.delay_pitch + l], d_.g[r * equations_.pitch + k * own_ + u * e_.delays + l]));
      d_.parts[i] = sum;
    }
    __syncthreads();
  }

  /// With two functions.
  __device__ void learn_offsets() {
    for (int u = 0; u < e_.users; ++u) {
      double slope = 0, all = 0;
      for (int i = thread_; i < e_.carriers * e_.rx; i += kFrameThreads) {
        const float2* const own = d_.parts + i / e_.rx * 2 * e_.pairs() + u * e_.rx + i % e_.rx;
        const float2 middle = own[0], moves = own[e_.pairs()];
        slope += double{middle.x} * moves.y - double{middle.y} * moves.x;
        all += energy(middle);
      }
      slope = block_sum(slope), all = block_sum(all);
      if (thread_ == 0 && all > 0) d_.offsets[u] += slope / all / (2 * std::numbers::pi * t_.spread);
    }
    __syncthreads();
  }

  __device__ void measure_noise() {
    for (int i = thread_; i < vectors(); i += kFrameThreads)
      for (int r = 0; r < e_.rx; ++r) {
        double2 left{0, 0};
        if (d_.weights[i] != 0) {
          left = wide(d_.white[i * e_.rx + r]);
          for (int u = 0; u < e_.users; ++u)
            subtract(left, times(wide(d_.parts[i % e_.carriers * e_.pairs() + u * e_.rx + r]),
                                 wide(d_.sent[i * e_.users + u])));
        }
        d_.residuals[i * e_.rx + r] = left;
      }
    double mine = 0;
    for (int i = thread_; i < own_; i += kFrameThreads) mine += d_.variance[i];
    const double unknown = block_sum(mine);  // also waits for the residuals
    const double count = known_ + e_.rx;
    for (int n = thread_; n < e_.rx * e_.rx; n += kFrameThreads) {
      const int i = n / e_.rx, j = n % e_.rx;
      double2 sum{0, 0};
      for (int v = 0; j <= i && v < vectors(); ++v)
        add(sum, times(d_.residuals[v * e_.rx + i], conj_of(d_.residuals[v * e_.rx + j])));
      sum = {sum.x / count, sum.y / count};
      if (i == j) sum.x += e_.rx / count + 0.5 * unknown;
      d_.root[n] = sum;
    }
    take_lower_root(d_.root, e_.rx);
  }

  const UserJob& job_;
  const Extents& e_;
  const UserTables& t_;
  const UserDesk d_;
  const float2* carriers_;
  float2* panel_;
  int thread_;
  int own_;  // unknowns of a function
  Equations equations_{};
  int known_ = 0;
  int antennas_ = 0;
  double power_ = 0;
};

__global__ void __launch_bounds__(kFrameThreads) estimate_users(const UserJob job) {
  extern __shared__ float2 shared_panel[];
  if (blockIdx.x >= dsp::read_once(job.found_at)) return;
  FrameOfUsers(job, blockIdx.x, shared_panel).estimate();
}
__global__ void __launch_bounds__(kFrameThreads) refine_users(const UserJob job) {
  extern __shared__ float2 shared_panel[];
  if (blockIdx.x >= dsp::read_once(job.found_at)) return;
  FrameOfUsers(job, blockIdx.x, shared_panel).refine();
}

}  // namespace
}  // namespace iqd::noma_channel_estimator
