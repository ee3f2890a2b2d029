// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/ofdm/mimo_channel_estimator/track_frames.cuh"

/// Whole frames with `track: frame` or `whiten`: a team takes one frame after the other, with the CPU's steps.
namespace iqd::mimo_channel_estimator {
namespace {

/// Thread blocks that take a frame together, where a GPU has clusters.
constexpr unsigned kTeamBlocks = 8;

class Follower : public FrameTracker {
 public:
  using FrameTracker::FrameTracker;

  __device__ void run(std::int64_t frame) {
    const float2* const carriers = f_.carriers + frame * e_.all_symbols() * e_.row();
    bool spoilt = false;
    for (int i = thread_; i < e_.symbols * e_.row(); i += kFrameThreads)
      spoilt |= !(isfinite(carriers[i].x) && isfinite(carriers[i].y));
    if (__syncthreads_or(spoilt)) return spoil(frame);
    read_soft(frame);
    find_antennas(carriers);
    judge_stretches(carriers);
    whiten_band(carriers);
    if (t_.moves)
      follow();
    else
      hold();
    for (int s = own_; s < e_.behind(); s += all_) d_.back[s] = {cosf(d_.phases[s]), -sinf(d_.phases[s])};
    Team::sync();
    if (t_.groups && s_.antennas > 0) whiten_groups();
    write(frame);
    Team::sync();
  }

 private:
  __device__ void spoil(std::int64_t frame) {
    const float2 none{NAN, NAN};
    const std::int64_t y = std::int64_t{vectors()} * e_.rx, noises = t_.moves ? vectors() : 1;
    const std::int64_t h = std::int64_t{t_.moves ? vectors() : e_.data_carriers()} * e_.pairs();
    for (std::int64_t i = own_; i < y; i += all_) f_.y[frame * y + i] = none;
    for (std::int64_t i = own_; i < h; i += all_) f_.h[frame * h + i] = none;
    for (std::int64_t i = own_; i < noises; i += all_) f_.noise[frame * noises + i] = NAN;
    for (int d = own_; f_.phase && d < e_.data_symbols(); d += all_) f_.phase[frame * e_.data_symbols() + d] = NAN;
    const int all = e_.groups() * e_.rx * e_.rx;
    for (int i = own_; f_.covariance && i < all; i += all_) f_.covariance[frame * all + i] = none;
    if (own_ == 0) f_.level[frame] = NAN;
    if (own_ == 0 && t_.moves) f_.doppler[frame] = NAN;
    if (own_ == 0 && t_.whitens) f_.interference[frame] = NAN;
  }

  __device__ void find_antennas(const float2* carriers) {
    double mine[kMostAntennas] = {};
    for (int i = thread_; i < e_.tx * e_.carriers; i += kFrameThreads) {
#pragma unroll
      for (int r = 0; r < kMostAntennas; ++r) {
        if (r >= e_.rx) continue;
        const float2 z = carriers[e_.row() + i * e_.rx + r];
        mine[r] += double{z.x} * z.x + double{z.y} * z.y;
      }
    }
#pragma unroll
    for (int r = 0; r < kMostAntennas; ++r) {
      if (r >= e_.rx) continue;
      const double sum = block_sum(mine[r]);
      if (thread_ == 0) {
        s_.alive[r] = sum > kLeastPower * e_.tx * e_.carriers;
        s_.least[r] = (t_.moves ? kLeastTracked : kLeastNoise) * sum / (e_.tx * e_.carriers);
        s_.antennas = (r > 0 ? s_.antennas : 0) + s_.alive[r];
      }
    }
    __syncthreads();
  }

  /// By one block.
  __device__ void judge_stretches(const float2* carriers) {
    if (Team::rank() == 0) weigh_stretches(carriers);
    Team::sync();
    bool weighted = false;
    for (int c = thread_; c < e_.carriers; c += kFrameThreads) weighted |= d_.weights[c] != 1;
    const bool any = __syncthreads_or(weighted);
    if (thread_ == 0) s_.weighted = any;
    __syncthreads();
  }
  __device__ void weigh_stretches(const float2* carriers) {
    for (int c = thread_; c < e_.carriers; c += kFrameThreads) d_.weights[c] = 1;
    if (!t_.whitens) return;
    const int all = stretches();
    for (int i = thread_; i < all * e_.rx; i += kFrameThreads) {
      const int n = i / e_.rx, r = i % e_.rx, end = stretch_end(n, t_.odd_carriers);
      double sum = 0;
      for (int o = n * kStretch; o < end; ++o) {
        const float2 z = carriers[t_.odd[o] * e_.rx + r];
        sum += double{z.x} * z.x + double{z.y} * z.y;
      }
      d_.power[r * all + n] = sum / (end - n * kStretch);
    }
    for (int n = thread_; n < all; n += kFrameThreads) d_.strength[n] = 0;
    for (int r = 0; r < e_.rx; ++r) {
      const double usual = block_median(d_.power + r * all, all);
      for (int n = thread_; n < all && usual > 0; n += kFrameThreads) d_.strength[n] += d_.power[r * all + n] / usual;
    }
    const double usual = block_median(d_.strength, all);
    for (int n = thread_; n < all; n += kFrameThreads) {
      if (!(d_.strength[n] > kMostStrength * usual)) continue;
      const int end = n + 1 < all ? t_.odd[(n + 1) * kStretch] : e_.carriers;
      for (int c = n == 0 ? 0 : t_.odd[n * kStretch]; c < end; ++c)
        d_.weights[c] = static_cast<float>(usual / d_.strength[n]);
    }
  }

  __device__ void whiten_band(const float2* carriers) {
    double mine = 0;
    for (int o = thread_; o < t_.odd_carriers; o += kFrameThreads) mine += d_.weights[t_.odd[o]] == 1;
    const double count = block_sum(mine);
    for (int i = 0; i < e_.rx; ++i)
      for (int j = 0; j <= i; ++j) {
        Sum sum;
        for (int o = thread_; o < t_.odd_carriers; o += kFrameThreads) {
          const int c = t_.odd[o];
          if (d_.weights[c] != 1) continue;
          const float2 a = carriers[c * e_.rx + i], b = carriers[c * e_.rx + j];
          sum.add({b.x, b.y}, {a.x, a.y});
        }
        const double re = block_sum(sum.re), im = block_sum(sum.im);
        if (thread_ == 0) s_.band.re[i][j] = re, s_.band.im[i][j] = i == j ? 0 : im;
      }
    if (thread_ == 0) finish_band(count);
    __syncthreads();
    for (int i = own_; i < e_.all_symbols() * e_.carriers; i += all_)
      for (int r = 0; r < e_.rx; ++r) {
        float2 sum{0, 0};
        for (int j = r; j >= 0; --j) {  // rounded as in Triangle
          const float2 l = s_.front[r][j], x = carriers[i * e_.rx + j];
          sum = {fmaf(-l.y, x.y, fmaf(l.x, x.x, sum.x)), fmaf(l.y, x.x, fmaf(l.x, x.y, sum.y))};
        }
        d_.white[i * e_.rx + r] = sum;
      }
    Team::sync();
  }
  __device__ void finish_band(double count) {
    set_band(s_.band, s_.alive, s_.least, count, e_.rx, s_.antennas, t_.whitens);
    s_.level = s_.band.trace(e_.rx) / e_.rx;
    s_.root = s_.band;
    take_root(s_.root, e_.rx);
    Covariance inverse = s_.root;
    invert_root(inverse, e_.rx);
    s_.interference = common_power(s_.band, inverse, e_.rx);
    for (int i = 0; i < e_.rx; ++i)
      for (int j = 0; j <= i; ++j)
        s_.front[i][j] = {static_cast<float>(inverse.re[i][j]), static_cast<float>(inverse.im[i][j])};
  }

  // A channel that stands still.

  __device__ void hold() {
    PhaseSlope slope;
    for (int s = 0; e_.track_phase && s < e_.behind(); ++s) {
      Sum mine;
      for (int i = thread_; i < e_.pilots * e_.rx; i += kFrameThreads) {
        const int c = t_.pilot[i / e_.rx], r = i % e_.rx;
        float2 expected{0, 0};
        for (int t = 0; t < e_.tx; ++t)
          add(expected, dsp::product(t_.pilot_weights[(std::int64_t{s} * e_.pilots + i / e_.rx) * e_.tx + t],
                                     white(1 + t, c)[r]));
        const float2 y = white(1 + e_.tx + s, c)[r];
        mine.add({expected.x, expected.y}, {y.x, y.y});
      }
      const double re = block_sum(mine.re), im = block_sum(mine.im);
      slope.add(atan2(im, re), position_behind(s, e_.tx));
    }
    if (thread_ == 0) s_.slope = slope.slope();
    __syncthreads();
    if (thread_ < e_.tx * e_.tx) {
      const double angle = -s_.slope * training_position(thread_ % e_.tx, e_.tx);
      s_.uncover[thread_] =
          dsp::product(t_.uncover[thread_], {static_cast<float>(cos(angle)), static_cast<float>(sin(angle))});
    }
    __syncthreads();
    for (int i = own_; i < max(e_.carriers, kTaps) * e_.pairs(); i += all_) {
      const int c = i / e_.pairs(), r = i % e_.pairs() / e_.tx, a = i % e_.tx;
      float2 sum{0, 0};
      for (int t = 0; c < e_.carriers && t < e_.tx; ++t)
        add(sum, dsp::product(s_.uncover[a * e_.tx + t], white(1 + t, c)[r]));
      d_.rough[i] = c < e_.carriers ? dsp::product(sum, t_.known[c]) : float2{0, 0};
    }
    Team::sync();
    for (int i = own_; i < e_.carriers * e_.pairs(); i += all_) {
      const int c = i / e_.pairs(), pair = i % e_.pairs();
      float2 sum{0, 0};
      for (int k = 0; k < kTaps; ++k)
        add(sum, scaled(d_.rough[(t_.first[c] + k) * e_.pairs() + pair], t_.taps[c * kTaps + k]));
      d_.parts[i] = dsp::product(sum, t_.ramp[c]);
      if (t_.place[c] < 0) d_.pilot_parts[(-1 - t_.place[c]) * e_.pairs() + pair] = d_.parts[i];
    }
    Team::sync();
    if (e_.track_phase) return measure_phases();
    for (int s = own_; s < e_.behind(); s += all_) d_.phases[s] = 0;
    Team::sync();
  }

  // What is left, by groups of carriers.

  __device__ float2 left_of(int s, int c, int r, float2 turn, const float2* sent) const {
    const float2* const parts = d_.parts + std::int64_t{c} * (t_.moves ? t_.functions : 1) * e_.pairs();
    float2 expected{0, 0};
    for (int a = 0; a < e_.tx; ++a) add(expected, dsp::product(channel(parts, s, r * e_.tx + a), sent[a]));
    float2 y = dsp::product(white(1 + s, c)[r], turn);
    subtract(y, expected);
    return y;
  }
  /// One warp a group, one lane a place.
  __device__ void whiten_groups() {
    const int lane = thread_ % 32;
    for (int g = own_ / 32; g < e_.groups(); g += all_ / 32) {
      Covariance sum;
      int count = 0;
      const int begin = g * e_.group, end = min(begin + e_.group, e_.carriers), symbols = e_.symbols;
      for (int i = lane; i < (end - begin) * symbols; i += 32) {
        const int c = begin + i / symbols, symbol = i % symbols, s = symbol - 1, d = s - e_.tx;
        const int j = d >= 0 ? e_.comb().in(d) : -1;
        const bool pilot = t_.place[c] < 0, data = d >= 0 && j < 0 && !pilot;
        if (symbol == 0 && !is_odd(c)) continue;
        if (data && !(knows_data() && d_.doubt[c * e_.behind() + d] < kMostDoubt * static_cast<float>(e_.tx))) continue;
        float re[kMostAntennas], im[kMostAntennas];
        if (symbol == 0) {
          for (int r = 0; r < e_.rx; ++r) re[r] = white(0, c)[r].x, im[r] = white(0, c)[r].y;
        } else {
          float2 sent[kMostAntennas], turn{1, 0};
          for (int a = 0; a < e_.tx; ++a)
            sent[a] = d < 0    ? scaled(t_.cover[a * e_.tx + s], t_.training[c])
                      : j >= 0 ? float2{comb(j, c, a), 0}
                      : pilot  ? float2{sign(d, -1 - t_.place[c], a), 0}
                               : d_.sent[(c * e_.behind() + d) * e_.tx + a];
          if (d >= 0) turn = d_.back[d];
          if (d < 0 && !t_.moves) {
            const double phase = -s_.slope * training_position(s, e_.tx);
            turn = {static_cast<float>(cos(phase)), static_cast<float>(sin(phase))};
          }
          for (int r = 0; r < e_.rx; ++r) {
            const float2 left = left_of(s, c, r, turn, sent);
            re[r] = left.x, im[r] = left.y;
          }
        }
        sum.add(re, im, e_.rx);
        ++count;
      }
      for (int step = 16; step > 0; step /= 2) {
        count += __shfl_down_sync(0xffffffffu, count, step);
        for (int i = 0; i < e_.rx; ++i)
          for (int j = 0; j <= i; ++j) {
            sum.re[i][j] += __shfl_down_sync(0xffffffffu, sum.re[i][j], step);
            sum.im[i][j] += __shfl_down_sync(0xffffffffu, sum.im[i][j], step);
          }
      }
      if (lane > 0) continue;
      sum.scale(1.0 / count, e_.rx);
      d_.traces[g] = sum.trace(e_.rx) / s_.antennas;
      shrink(sum, count, e_.rx, s_.antennas);
      sum.scale(count / (count + 1.0), e_.rx);
      d_.counts[g] = count;
      d_.covariance[g] = sum;
    }
    Team::sync();
    double mine = 0;
    for (int i = thread_; i < e_.tx * e_.row(); i += kFrameThreads) {
      const float2 z = d_.white[e_.row() + i];
      mine += double{z.x} * z.x + double{z.y} * z.y;
    }
    const double least = kLeastNoise * block_sum(mine) / (double(e_.tx) * e_.carriers * s_.antennas);
    const double usual = fmax(block_median(d_.traces, e_.groups()), least);
    for (int g = own_; g < e_.groups(); g += all_) {
      for (int r = 0; r < e_.rx; ++r) d_.covariance[g].re[r][r] += usual / (d_.counts[g] + 1);
      d_.filter[g] = d_.covariance[g];
      take_root(d_.filter[g], e_.rx);
      invert_root(d_.filter[g], e_.rx);
    }
    Team::sync();
  }
  __device__ bool is_odd(int c) const {
    const int f = c < e_.carriers / 2 ? c - e_.carriers / 2 : c - e_.carriers / 2 + 1;
    return f % 2 != 0;
  }

  /// L x of a group's filter; without groups, x.
  __device__ float2 filtered(int g, int r, const float2* x, int step) const {
    if (!t_.groups || s_.antennas == 0) return x[r * step];
    float2 sum{0, 0};
    for (int j = 0; j <= r; ++j)
      add(sum, dsp::product({static_cast<float>(d_.filter[g].re[r][j]), static_cast<float>(d_.filter[g].im[r][j])},
                            x[j * step]));
    return sum;
  }

  __device__ void write(std::int64_t frame) {
    const int symbols = e_.data_symbols(), pairs = e_.pairs(), functions = t_.moves ? t_.functions : 1;
    // The parts become those behind the filters.
    for (int i = own_; i < e_.carriers * functions * e_.tx; i += all_) {
      const int c = i / (functions * e_.tx), k = i / e_.tx % functions, a = i % e_.tx;
      float2* const column = d_.parts + (std::int64_t{c} * functions + k) * pairs + a;
      float2 x[kMostAntennas];
      for (int r = 0; r < e_.rx; ++r) x[r] = column[r * e_.tx];
      for (int r = 0; r < e_.rx; ++r) column[r * e_.tx] = filtered(c / e_.group, r, x, 1);
    }
    Team::sync();
    for (int i = own_; i < e_.carriers * symbols; i += all_) {
      const int c = i / symbols, d = i % symbols, at = t_.place[c];
      if (at < 0) continue;
      const int s = e_.comb().data(d);
      const std::int64_t vector = frame * vectors() + std::int64_t{at} * symbols + d;
      float2 x[kMostAntennas];
      for (int r = 0; r < e_.rx; ++r) x[r] = dsp::product(white(1 + e_.tx + s, c)[r], d_.back[s]);
      for (int r = 0; r < e_.rx; ++r) f_.y[vector * e_.rx + r] = filtered(c / e_.group, r, x, 1);
      const float2* const parts = d_.parts + std::int64_t{c} * functions * pairs;
      if (t_.moves)
        for (int pair = 0; pair < pairs; ++pair) f_.h[vector * pairs + pair] = channel(parts, e_.tx + s, pair);
      else if (d == 0)
        for (int pair = 0; pair < pairs; ++pair) f_.h[(frame * e_.data_carriers() + at) * pairs + pair] = parts[pair];
    }
    write_noise(frame);
    for (int d = own_; f_.phase && d < symbols; d += all_) f_.phase[frame * symbols + d] = d_.phases[e_.comb().data(d)];
    if (own_ == 0) {
      f_.level[frame] = told(s_.level);
      if (t_.whitens) f_.interference[frame] = static_cast<float>(s_.interference);
      float all = 0;
      for (int k = 0; k < t_.functions; ++k) all += s_.weights[k];
      if (t_.moves)
        f_.doppler[frame] = all > 0 && s_.antennas > 0 ? sqrtf(fmaxf(0.0f, (all - s_.weights[0]) / all)) : 0;
    }
    for (int g = own_; f_.covariance && g < e_.groups(); g += all_) {
      const Covariance c = t_.groups && s_.antennas > 0 ? colour(s_.root, d_.covariance[g], e_.rx) : s_.band;
      float2* const to = f_.covariance + (frame * e_.groups() + g) * e_.rx * e_.rx;
      for (int i = 0; i < e_.rx; ++i)
        for (int j = 0; j <= i; ++j) {
          const float re = static_cast<float>(c.re[i][j]), im = static_cast<float>(c.im[i][j]);
          to[i * e_.rx + j] = {re, im};
          to[j * e_.rx + i] = {re, i == j ? im : -im};
        }
    }
  }
  __device__ bool keeps(int k, int l) const {
    int from = s_.first_of[k], to = s_.first_of[k + 1];  // in order
    while (from < to) {
      const int middle = (from + to) / 2;
      if (d_.delay[middle] < l)
        from = middle + 1;
      else
        to = middle;
    }
    return from < s_.first_of[k + 1] && d_.delay[from] == l;
  }
  __device__ void write_noise(std::int64_t frame) {
    const bool silent = s_.antennas == 0;
    if (!t_.moves) {
      if (own_ == 0) f_.noise[frame] = silent ? 0.0f : 1 + t_.smoothed_noise;
      return;
    }
    __shared__ float unknown[kMostFunctions], noise[kMostSymbols];
    const int k = thread_ / 32, lane = thread_ % 32;
    if (k < t_.functions) {
      float sum = 0;
      for (int j = lane; j < kept(k) * e_.tx; j += 32) sum += d_.variance[place(k, 0, 0) + j];
      for (int l = lane; l < t_.delays; l += 32)
        if (!keeps(k, l)) sum += static_cast<float>(e_.tx) * prior(k, l);
      for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
      if (lane == 0) unknown[k] = sum;
    }
    __syncthreads();
    const int symbols = e_.data_symbols();
    for (int d = thread_; d < symbols; d += kFrameThreads) {
      float all = 0;
      for (int j = 0; j < t_.functions; ++j) {
        const float own = phi(e_.tx + e_.comb().data(d), j);
        all += own * own * unknown[j];
      }
      noise[d] = silent ? 0.0f : 1 + all;
    }
    __syncthreads();
    const int vectors_here = vectors();
    for (int i = own_; i < vectors_here; i += all_) f_.noise[frame * vectors_here + i] = noise[i % symbols];
  }
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(kTeamBlocks, 1, 1) __launch_bounds__(kFrameThreads) follow_frames(const Frames f) {
#else
__global__ void __launch_bounds__(kFrameThreads) follow_frames(const Frames f) {
#endif
  extern __shared__ __align__(16) float2 panel[];
  __shared__ State state;
  if (threadIdx.x == 0)
    state.knows_data =
        f.soft != nullptr && *f.soft_found_at == *f.found_at && (f.sent == nullptr || *f.sent_found_at == *f.found_at);
  const std::int32_t found = dsp::read_once(f.found_at);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (std::int32_t* const count : f.counts) *count = found;
    if (!f.t.moves) *f.counts[6] = 0;
    if (!f.t.whitens) *f.counts[7] = 0;
  }
  const Desk desk = own_desk(f.desk);
  Follower follower(f, desk, state, panel);
  const int team = static_cast<int>(blockIdx.x) / Team::blocks(), teams = static_cast<int>(gridDim.x) / Team::blocks();
  for (std::int64_t frame = team; frame < found; frame += teams) follower.run(frame);
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
