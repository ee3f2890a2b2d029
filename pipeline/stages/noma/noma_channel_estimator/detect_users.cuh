// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "pipeline/stages/items.cuh"
#include "pipeline/stages/noma/multiuser/decide.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/phase_line.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/user_desk.cuh"

/// Symbols and LLRs, as UserReceiver of the CPU: a thread block takes a user of a frame.
namespace iqd::noma_channel_estimator {
namespace {

class UserOfFrame {
 public:
  __device__ UserOfFrame(const UserJob& job, std::int64_t frame, int user)
      : job_(job),
        e_(job.e),
        d_(desk_of(job, frame)),
        frame_(frame),
        u_(user),
        thread_(static_cast<int>(threadIdx.x)),
        points_(d_.points + std::int64_t{user} * job.e.data),
        map_(job.t.maps[user]) {}

  __device__ void detect(bool again) {
    filter(again);
    if (again)
      leave_others_out();
    else
      follow();
    __syncthreads();
    if (again || job_.soft == nullptr) write(excess());
  }

  /// What the user sent, as far as its words tell.
  __device__ void expect() {
    const WordsOfUser own = job_.t.soft[u_];
    const float* const soft = job_.soft + frame_ * e_.words * e_.n;
    const int bits = bits_of(map_), coded = own.words * e_.n;
    double sum = 0;
    for (int i = thread_; i < e_.slots(); i += kFrameThreads) {
      const std::int64_t at = std::int64_t{i} * e_.users + u_;
      if (i >= e_.data) {
        d_.expected[at] = job_.t.unused[(i - e_.data) * e_.users + u_];
        d_.unsure[at] = 0;
        continue;
      }
      float llr[8] = {};
      for (int b = 0; b < bits; ++b) {
        const int n = i * bits + b;
        llr[b] = n < coded ? soft[std::int64_t{own.first + n % own.words} * e_.n + n / own.words]
                           : job_.t.filler[own.filler + n - coded];
      }
      const SoftPoint point = soften(map_, llr);
      d_.expected[at] = {point.re, point.im};
      d_.unsure[at] = point.variance;
      sum += point.variance;
    }
    const double all = block_sum(sum);
    if (thread_ == 0) d_.left[u_] = fmax(all / e_.data, kLeastLeft);
  }

 private:
  __device__ double& phase(int u, int s) const { return d_.phases[u * e_.data_symbols() + s]; }
  __device__ double seconds(int s) const { return (e_.training + s) * job_.t.symbol_seconds; }
  __device__ float noise(int t) const { return d_.noise[t % e_.carriers * e_.users + u_]; }
  __device__ float worth(int t) const {
    const float own = noise(t);
    return own > 0 && is_usable(e_, d_, t) ? 1 / own : 0.0f;
  }

  __device__ void filter(bool followed) {
    const float2* const data = job_.carriers + frame_ * e_.frame() + (Extents::kBefore + e_.training) * e_.row();
    for (int t = thread_; t < e_.data; t += kFrameThreads) {
      const int s = t / e_.carriers, c = t % e_.carriers;
      const double turns = d_.offsets[u_] * seconds(s);
      const double radians = 2 * std::numbers::pi * (turns - rint(turns)) + (followed ? phase(u_, s) : 0.0);
      const float2* const y = data + std::int64_t{t} * e_.rx;
      const float2* const w = d_.filters + (std::int64_t{c} * e_.users + u_) * e_.rx;
      float2 sum{0, 0};
      for (int r = 0; r < e_.rx && is_usable(e_, d_, t); ++r) {
        sum.x += w[r].x * y[r].x + w[r].y * y[r].y;
        sum.y += w[r].x * y[r].y - w[r].y * y[r].x;
      }
      points_[t] = product(sum, turned_by(-radians));
    }
    __syncthreads();
  }

  __device__ void leave_others_out() {
    for (int t = thread_; t < e_.data; t += kFrameThreads) {
      if (!is_usable(e_, d_, t)) continue;
      const int s = t / e_.carriers, c = t % e_.carriers;
      float2 z = points_[t];
      for (int v = 0; v < e_.users; ++v) {
        if (v == u_) continue;
        const double turns = (d_.offsets[v] - d_.offsets[u_]) * seconds(s);
        const double radians = 2 * std::numbers::pi * turns + phase(v, s) - phase(u_, s);
        const float2 through = d_.through[(std::int64_t{c} * e_.users + u_) * e_.users + v];
        const float2 other = product(product(through, d_.expected[std::int64_t{t} * e_.users + v]), turned_by(radians));
        z.x -= other.x, z.y -= other.y;
      }
      points_[t] = z;
    }
  }

  /// Each thread keeps the line; it moves by the same sums in all.
  __device__ void follow() {
    const Slicer nearest(map_);
    PhaseLine line;
    for (int s = 0; s < e_.data_symbols(); ++s) {
      line.advance();
      const int first = s * e_.carriers, end = min(first + e_.carriers, e_.data);
      turn_by(first, end, -line.phase);
      double re = 0, im = 0;
      for (int t = first + thread_; t < end; t += kFrameThreads) {
        const float2 z = points_[t];
        const auto p = nearest(z.x, z.y);
        const double own = worth(t);
        re += own * (double{z.x} * p.re + double{z.y} * p.im);
        im += own * (double{z.y} * p.re - double{z.x} * p.im);
      }
      re = block_sum(re), im = block_sum(im);
      turn_by(first, end, -line.correct(atan2(im, re), e_.training + s));
      if (thread_ == 0) phase(u_, s) = line.phase;
    }
  }
  __device__ void turn_by(int first, int end, double radians) {
    const float2 turn = turned_by(radians);
    for (int t = first + thread_; t < end; t += kFrameThreads) points_[t] = product(points_[t], turn);
  }

  __device__ float excess() {
    const Slicer nearest(map_);
    double far = 0, heard = 0;
    for (int t = thread_; t < e_.data; t += kFrameThreads) {
      const float own = worth(t);
      const float2 z = points_[t];
      const auto p = nearest(z.x, z.y);
      const float re = z.x - p.re, im = z.y - p.im;
      far += double{own} * double{re * re + im * im};
      heard += own > 0;
    }
    far = block_sum(far), heard = block_sum(heard);
    return heard > 0 ? static_cast<float>(fmin(fmax(far / heard, 1.0), kMostExcess)) : 1.0f;
  }

  __device__ void write(float excess) {
    const std::int64_t item = frame_ * e_.users + u_, first = item * e_.data;
    for (int t = thread_; t < e_.data; t += kFrameThreads) {
      const float own = noise(t);
      const bool heard = own > 0 && is_usable(e_, d_, t);
      const float2 z = points_[t];
      if (job_.symbols) job_.symbols[first + t] = heard ? z : float2{0, 0};
      float llr[8] = {};
      if (heard) noma::Decider(map_, own * excess)(z.x, z.y, [&](int b, float value) { llr[b] = value; });
      for (int b = 0; b < e_.bits; ++b) {
        const std::int64_t at = (first + t) * e_.bits + b;
        if (job_.llr) job_.llr[at] = llr[b];
        if (job_.bits) job_.bits[at] = llr[b] < 0;
      }
    }
    for (int i = thread_; job_.h && i < e_.carriers * e_.rx; i += kFrameThreads) {
      const int c = i / e_.rx, r = i % e_.rx;
      const float2 h = d_.parts[c * e_.pairs() + u_ * e_.rx + r];
      const double scale = d_.scale[r];
      job_.h[(frame_ * e_.carriers * e_.rx + i) * e_.users + u_] =
          scale > 0 ? narrow({h.x / scale, h.y / scale}) : float2{0, 0};
    }
    if (thread_ > 0) return;
    if (job_.modulation) job_.modulation[item] = static_cast<std::uint8_t>(bits_of(map_));
    if (job_.model) write_model(excess, job_.model + item * kModelNumbers);
  }
  __device__ void write_model(float excess, float* to) const {
    double sum = 0, heard = 0, power = 0, late = 0;
    for (int c = 0; c < e_.carriers; ++c) {
      sum += noise(c);
      heard += noise(c) > 0;
    }
    for (int l = 0; l < e_.delays; ++l) {
      const double own = d_.powers[u_ * e_.delays + l];
      power += own;
      late += own * (l - 2) * job_.t.step;
    }
    to[0] = heard > 0 ? static_cast<float>(sum / heard) * excess : 0.0f;
    to[1] = static_cast<float>(d_.offsets[u_]);
    to[2] = static_cast<float>(late / power - job_.t.early);
  }

  static constexpr int kModelNumbers = static_cast<int>(std::size(kModelValues));

  const UserJob& job_;
  const Extents& e_;
  const UserDesk d_;
  std::int64_t frame_;
  int u_;
  int thread_;
  float2* points_;
  SymbolMap map_;
};

__global__ void __launch_bounds__(kFrameThreads) detect_users(const UserJob job, bool again) {
  if (blockIdx.y >= dsp::read_once(job.found_at)) return;
  UserOfFrame(job, blockIdx.y, static_cast<int>(blockIdx.x)).detect(again);
}
__global__ void __launch_bounds__(kFrameThreads) expect_users(const UserJob job) {
  if (blockIdx.y >= dsp::read_once(job.found_at)) return;
  UserOfFrame(job, blockIdx.y, static_cast<int>(blockIdx.x)).expect();
}

/// The counts of all ports, and the events.
__global__ void count_users(const UserJob job) {
  const std::int32_t found = *job.found_at;
  std::int64_t erased = 0;
  for (std::int64_t f = 0; f < found; ++f) erased += *desk_of(job, f).erased;
  for (std::size_t port = 0; port < kPorts; ++port) *job.counts[port] = port == kTally ? 1 : found;
  job.events[kFrames] = found;
  job.events[kErased] = erased;
}

}  // namespace
}  // namespace iqd::noma_channel_estimator
