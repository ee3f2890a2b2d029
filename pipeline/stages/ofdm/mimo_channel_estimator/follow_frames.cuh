// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/block_math.cuh"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/limits.hpp"
#include "signal/estimates/covariance.hpp"
#include "signal/filters/scratch.hpp"
#include "signal/formats/soft_qam.hpp"

/// Whole frames with `track: frame` or `whiten`: a thread block takes one frame after the other, with the CPU's steps.
namespace iqd::mimo_channel_estimator {
namespace {

using dsp::add;
using dsp::block_largest;
using dsp::block_median;
using dsp::block_sum;
using dsp::conj_times;
using dsp::Equations;
using dsp::factor;
using dsp::kFrameThreads;
using dsp::kPanel;
using dsp::padded;
using dsp::scaled;
using dsp::substitute;
using dsp::subtract;
using dsp::times_conj;

/// What is the same for all frames.
struct Tables {
  const float *phi, *weights, *training, *pilot_signs, *taps;
  const float2 *turn, *pilot_turn;  // [carrier or pilot][delay_pitch]
  const float2 *cover, *uncover;    // [tx][training]
  const float2 *lags, *band;        // with equal weights
  const float2 *known, *ramp, *pilot_weights;
  const std::int32_t *odd, *pilot, *place, *first;
  std::int32_t odd_carriers, functions, delays, pitch, most_taps, em, soft_bits;
  float span, smoothed_noise;
  bool moves, whitens, groups;
};

/// Memory of a thread block, for one frame: `stride` bytes for each.
struct Desk {
  float2* white;  // [symbol][carrier][rx]
  float* weights;
  double *power, *strength, *traces, *counts;
  Covariance *covariance, *filter;
  float2 *trained, *piloted;  // [training][rx] and [data symbol][tx][rx][pitch]
  float2 *lags, *band, *lag_work;
  float* powers;
  std::int32_t *delay, *keepers;
  float2 *equations, *factors, *g;
  float* variance;
  float2 *rough, *parts, *pilot_parts;
  float* phases;
  float2* back;
  float2* sent;       // [carrier][data symbol][tx]: mean of what was sent
  float* doubt;       // [carrier][data symbol]: its variance, sum over the antennas
  float2* soft_lags;  // [data symbol][a][b][pitch]
  std::size_t stride;
};

struct Frames {
  Extents e;
  Tables t;
  Desk desk;
  const float2* carriers;
  const float* soft;  // LLRs of the data, or null
  const std::int32_t *found_at, *soft_found_at;
  std::int32_t* counts[7];
  float2 *y, *h, *covariance;
  float *noise, *phase, *level, *doppler;
};

/// What all threads share of a frame.
struct State {
  bool alive[kMostAntennas];
  double least[kMostAntennas];
  int antennas;
  int weighted;
  int own_lags;
  int knows_data;
  double level;
  Covariance band, root;
  float2 front[kMostAntennas][kMostAntennas];
  float weights[kMostFunctions];
  int first_of[kMostFunctions + 1];
  float2 uncover[kMostAntennas * kMostAntennas];
  double slope;
};

template <class T> __device__ T* own(T* first, std::size_t stride) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + blockIdx.x * stride);
}
__device__ Desk own_desk(const Desk& d) {
  const std::size_t s = d.stride;
  return {own(d.white, s),
          own(d.weights, s),
          own(d.power, s),
          own(d.strength, s),
          own(d.traces, s),
          own(d.counts, s),
          own(d.covariance, s),
          own(d.filter, s),
          own(d.trained, s),
          own(d.piloted, s),
          own(d.lags, s),
          own(d.band, s),
          own(d.lag_work, s),
          own(d.powers, s),
          own(d.delay, s),
          own(d.keepers, s),
          own(d.equations, s),
          own(d.factors, s),
          own(d.g, s),
          own(d.variance, s),
          own(d.rough, s),
          own(d.parts, s),
          own(d.pilot_parts, s),
          own(d.phases, s),
          own(d.back, s),
          own(d.sent, s),
          own(d.doubt, s),
          own(d.soft_lags, s),
          s};
}

/// One frame, by all threads of a block.
class Follower {
 public:
  __device__ Follower(const Frames& f, const Desk& d, State& s, float2* panel)
      : f_(f), e_(f.e), t_(f.t), d_(d), s_(s), panel_(panel), thread_(static_cast<int>(threadIdx.x)) {}

  __device__ void run(std::int64_t frame) {
    const float2* const carriers = f_.carriers + frame * e_.symbols * e_.row();
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
    __syncthreads();
    for (int d = thread_; d < e_.data_symbols(); d += kFrameThreads)
      d_.back[d] = {cosf(d_.phases[d]), -sinf(d_.phases[d])};
    __syncthreads();
    if (t_.groups && s_.antennas > 0) whiten_groups();
    write(frame);
    __syncthreads();
  }

 private:
  __device__ const float2* white(int symbol, int c) const { return d_.white + symbol * e_.row() + c * e_.rx; }
  __device__ int vectors() const { return e_.data_carriers() * e_.data_symbols(); }
  __device__ int stretches() const { return stretches_of(t_.odd_carriers); }
  __device__ int kept(int k) const { return s_.first_of[k + 1] - s_.first_of[k]; }
  __device__ int place(int k, int a, int n) const { return s_.first_of[k] * e_.tx + a * kept(k) + n; }
  __device__ float prior(int k, int l) const { return s_.weights[k] * d_.powers[l]; }
  __device__ float weight(int c) const { return s_.weighted ? d_.weights[c] : 1.0f; }
  __device__ float phi(int s, int k) const { return t_.phi[s * t_.functions + k]; }
  __device__ float sign(int d, int i, int a) const {
    return t_.pilot_signs[(static_cast<std::int64_t>(d) * e_.pilots + i) * e_.tx + a];
  }

  __device__ void spoil(std::int64_t frame) {
    const float2 none{NAN, NAN};
    const std::int64_t y = std::int64_t{vectors()} * e_.rx, noises = t_.moves ? vectors() : 1;
    const std::int64_t h = std::int64_t{t_.moves ? vectors() : e_.data_carriers()} * e_.pairs();
    for (std::int64_t i = thread_; i < y; i += kFrameThreads) f_.y[frame * y + i] = none;
    for (std::int64_t i = thread_; i < h; i += kFrameThreads) f_.h[frame * h + i] = none;
    for (std::int64_t i = thread_; i < noises; i += kFrameThreads) f_.noise[frame * noises + i] = NAN;
    for (int d = thread_; f_.phase && d < e_.data_symbols(); d += kFrameThreads)
      f_.phase[frame * e_.data_symbols() + d] = NAN;
    const int all = e_.groups() * e_.rx * e_.rx;
    for (int i = thread_; f_.covariance && i < all; i += kFrameThreads) f_.covariance[frame * all + i] = none;
    if (thread_ == 0) f_.level[frame] = NAN;
    if (thread_ == 0 && t_.moves) f_.doppler[frame] = NAN;
  }

  __device__ void find_antennas(const float2* carriers) {
    for (int r = 0; r < e_.rx; ++r) {
      double mine = 0;
      for (int i = thread_; i < e_.tx * e_.carriers; i += kFrameThreads) {
        const Sum z{carriers[e_.row() + i * e_.rx + r].x, carriers[e_.row() + i * e_.rx + r].y};
        mine += z.re * z.re + z.im * z.im;
      }
      const double sum = block_sum(mine);
      if (thread_ == 0) {
        s_.alive[r] = sum > kLeastPower * e_.tx * e_.carriers;
        s_.least[r] = (t_.moves ? kLeastTracked : kLeastNoise) * sum / (e_.tx * e_.carriers);
        s_.antennas = (r > 0 ? s_.antennas : 0) + s_.alive[r];
      }
    }
    __syncthreads();
  }

  __device__ void judge_stretches(const float2* carriers) {
    if (thread_ == 0) s_.weighted = 0;
    for (int c = thread_; c < e_.carriers; c += kFrameThreads) d_.weights[c] = 1;
    if (!t_.whitens) return __syncthreads();
    const int all = stretches();
    for (int i = thread_; i < all * e_.rx; i += kFrameThreads) {
      const int n = i / e_.rx, r = i % e_.rx, end = min((n + 1) * kStretch, t_.odd_carriers);
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
      s_.weighted = 1;  // all who write write this
    }
    __syncthreads();
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
    for (int i = thread_; i < e_.symbols * e_.carriers; i += kFrameThreads)
      for (int r = 0; r < e_.rx; ++r) {
        float2 sum{0, 0};
        for (int j = 0; j <= r; ++j) add(sum, dsp::product(s_.front[r][j], carriers[i * e_.rx + j]));
        d_.white[i * e_.rx + r] = sum;
      }
    __syncthreads();
  }
  __device__ void finish_band(double count) {
    set_band(s_.band, s_.alive, s_.least, count, e_.rx, s_.antennas, t_.whitens);
    s_.level = s_.band.trace(e_.rx) / e_.rx;
    s_.root = s_.band;
    take_root(s_.root, e_.rx);
    Covariance inverse = s_.root;
    invert_root(inverse, e_.rx);
    for (int i = 0; i < e_.rx; ++i)
      for (int j = 0; j <= i; ++j)
        s_.front[i][j] = {static_cast<float>(inverse.re[i][j]), static_cast<float>(inverse.im[i][j])};
  }

  // Data that is known, more or less.

  __device__ bool knows_data() const { return s_.knows_data != 0; }
  __device__ void read_soft(std::int64_t frame) {
    const int symbols = e_.data_symbols();
    const std::int64_t llrs = std::int64_t{vectors()} * e_.tx * t_.soft_bits;
    for (int i = thread_; knows_data() && i < e_.carriers * symbols; i += kFrameThreads) {
      const int c = i / symbols, d = i % symbols, at = t_.place[c];
      float doubt = 0;
      for (int a = 0; a < e_.tx; ++a) {
        float2& mean = d_.sent[i * e_.tx + a];
        if (at < 0) {
          mean = {sign(d, -1 - at, a), 0};
          continue;
        }
        const qam::SoftSymbol symbol = qam::soft_symbol(
            t_.soft_bits, f_.soft + frame * llrs + ((std::int64_t{at} * symbols + d) * e_.tx + a) * t_.soft_bits);
        mean = {symbol.re, symbol.im};
        doubt += symbol.variance;
      }
      d_.doubt[i] = doubt;
    }
    __syncthreads();
  }
  /// As the CPU: the sums with data, and the tables of lags.
  __device__ void correlate_soft() {
    float delays = 0, functions = 0;
    for (int l = 0; l < t_.delays; ++l) delays += d_.powers[l];
    for (int k = 0; k < t_.functions; ++k) functions += s_.weights[k];
    const float power = delays * functions;
    const int symbols = e_.data_symbols(), sides = symbols * e_.pairs(), products = e_.tx * e_.tx;
    const auto weight_of = [&](int c, int d) { return 1 / (1 / weight(c) + power * d_.doubt[c * symbols + d]); };
    for (int i = thread_; i < sides * t_.delays; i += kFrameThreads) {
      const int column = i / t_.delays, l = i % t_.delays, r = column % e_.rx, a = column / e_.rx % e_.tx;
      const int d = column / e_.pairs();
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) {
        const float2 own = scaled(d_.sent[(c * symbols + d) * e_.tx + a], weight_of(c, d));
        add(sum, conj_times(t_.turn[c * t_.pitch + l], conj_times(own, white(1 + e_.tx + d, c)[r])));
      }
      d_.piloted[column * t_.pitch + l] = sum;
    }
    for (int i = thread_; i < symbols * products * t_.delays; i += kFrameThreads) {
      const int column = i / t_.delays, l = i % t_.delays, b = column % e_.tx, a = column / e_.tx % e_.tx;
      const int d = column / products;
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) {
        const float2* const x = d_.sent + (c * symbols + d) * e_.tx;
        add(sum, conj_times(t_.turn[c * t_.pitch + l], conj_times(scaled(x[a], weight_of(c, d)), x[b])));
      }
      d_.soft_lags[column * t_.pitch + l] = sum;
    }
    __syncthreads();
    combine_lags([&](int a, int b, int d, int m) {
      const float2 p = d_.soft_lags[((d * e_.tx + (m < 0 ? a : b)) * e_.tx + (m < 0 ? b : a)) * t_.pitch + abs(m)];
      return float2{p.x, m < 0 ? p.y : -p.y};
    });
  }

  // A channel that stands still.

  __device__ void hold() {
    PhaseSlope slope;
    for (int d = 0; e_.track_phase && d < e_.data_symbols(); ++d) {
      Sum mine;
      for (int i = thread_; i < e_.pilots * e_.rx; i += kFrameThreads) {
        const int c = t_.pilot[i / e_.rx], r = i % e_.rx;
        float2 expected{0, 0};
        for (int t = 0; t < e_.tx; ++t)
          add(expected, dsp::product(t_.pilot_weights[(std::int64_t{d} * e_.pilots + i / e_.rx) * e_.tx + t],
                                     white(1 + t, c)[r]));
        const float2 y = white(1 + e_.tx + d, c)[r];
        mine.add({expected.x, expected.y}, {y.x, y.y});
      }
      const double re = block_sum(mine.re), im = block_sum(mine.im);
      slope.add(atan2(im, re), data_position(d, e_.tx));
    }
    if (thread_ == 0) s_.slope = slope.slope();
    __syncthreads();
    if (thread_ < e_.tx * e_.tx) {
      const double angle = -s_.slope * training_position(thread_ % e_.tx, e_.tx);
      s_.uncover[thread_] =
          dsp::product(t_.uncover[thread_], {static_cast<float>(cos(angle)), static_cast<float>(sin(angle))});
    }
    __syncthreads();
    for (int i = thread_; i < max(e_.carriers, kTaps) * e_.pairs(); i += kFrameThreads) {
      const int c = i / e_.pairs(), r = i % e_.pairs() / e_.tx, a = i % e_.tx;
      float2 sum{0, 0};
      for (int t = 0; c < e_.carriers && t < e_.tx; ++t)
        add(sum, dsp::product(s_.uncover[a * e_.tx + t], white(1 + t, c)[r]));
      d_.rough[i] = c < e_.carriers ? dsp::product(sum, t_.known[c]) : float2{0, 0};
    }
    __syncthreads();
    for (int i = thread_; i < e_.carriers * e_.pairs(); i += kFrameThreads) {
      const int c = i / e_.pairs(), pair = i % e_.pairs();
      float2 sum{0, 0};
      for (int k = 0; k < kTaps; ++k)
        add(sum, scaled(d_.rough[(t_.first[c] + k) * e_.pairs() + pair], t_.taps[c * kTaps + k]));
      d_.parts[i] = dsp::product(sum, t_.ramp[c]);
      if (t_.place[c] < 0) d_.pilot_parts[(-1 - t_.place[c]) * e_.pairs() + pair] = d_.parts[i];
    }
    __syncthreads();
    if (e_.track_phase) return measure_phases();
    for (int d = thread_; d < e_.data_symbols(); d += kFrameThreads) d_.phases[d] = 0;
  }

  // A channel that moves.

  __device__ void follow() {
    correlate();
    if (thread_ == 0) s_.own_lags = 0;
    __syncthreads();
    if (s_.weighted) fill_lags_of_frame();
    if (thread_ < t_.functions) s_.weights[thread_] = t_.weights[thread_];
    for (int d = thread_; d < e_.data_symbols(); d += kFrameThreads) d_.phases[d] = 0;
    learn_delays();
    fit(t_.em);
    if (e_.track_phase && e_.pilots > 0) {
      set_parts(t_.pilot_turn, e_.pilots, d_.pilot_parts);
      measure_phases();
      if (!knows_data()) fit(0);
    }
    if (knows_data()) {
      correlate_soft();
      fit(kSoftSteps);
    }
    set_parts(t_.turn, e_.carriers, d_.parts);
  }

  __device__ void correlate() {
    for (int i = thread_; i < e_.pairs() * t_.delays; i += kFrameThreads) {
      const int column = i / t_.delays, l = i % t_.delays, t = column / e_.rx, r = column % e_.rx;
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c)
        add(sum, conj_times(t_.turn[c * t_.pitch + l], scaled(white(1 + t, c)[r], t_.training[c] * weight(c))));
      d_.trained[column * t_.pitch + l] = sum;
    }
    const int columns = e_.data_symbols() * e_.pairs();
    for (int i = thread_; e_.pilots > 0 && i < columns * t_.delays; i += kFrameThreads) {
      const int column = i / t_.delays, l = i % t_.delays, r = column % e_.rx, a = column / e_.rx % e_.tx;
      const int d = column / e_.pairs();
      float2 sum{0, 0};
      for (int p = 0; p < e_.pilots; ++p) {
        const int c = t_.pilot[p];
        add(sum,
            conj_times(t_.pilot_turn[p * t_.pitch + l], scaled(white(1 + e_.tx + d, c)[r], sign(d, p, a) * weight(c))));
      }
      d_.piloted[column * t_.pitch + l] = sum;
    }
    __syncthreads();
  }

  /// As fill_lags of the CPU, with the frame's weights.
  __device__ void fill_lags_of_frame() {
    const int products = e_.tx * (e_.tx + 1) / 2;
    for (int m = thread_; m < t_.delays; m += kFrameThreads) {
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) add(sum, scaled(t_.turn[c * t_.pitch + m], d_.weights[c]));
      d_.band[m] = sum;
    }
    for (int i = thread_; i < e_.data_symbols() * products * t_.delays; i += kFrameThreads) {
      const int m = i % t_.delays, pair = i / t_.delays % products, d = i / t_.delays / products;
      int a = 0;
      while ((a + 1) * (a + 2) / 2 <= pair) ++a;
      const int b = pair - a * (a + 1) / 2;
      float2 sum{0, 0};
      for (int p = 0; p < e_.pilots; ++p)
        add(sum, scaled(t_.pilot_turn[p * t_.pitch + m], d_.weights[t_.pilot[p]] * sign(d, p, a) * sign(d, p, b)));
      d_.lag_work[i] = sum;
    }
    __syncthreads();
    combine_lags([&](int a, int b, int d, int m) {
      const int pair = a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a;
      const float2 p = d_.lag_work[(d * products + pair) * t_.delays + abs(m)];
      return float2{p.x, m < 0 ? -p.y : p.y};
    });
  }
  /// The tables from the training, by its band, and for each data symbol of_data(a, b, d, lag).
  template <class OfData> __device__ void combine_lags(const OfData& of_data) {
    const float2* const trained_band = band();
    const int lags = 2 * t_.delays - 1, tables = t_.functions * (t_.functions + 1) / 2 * e_.tx * e_.tx;
    for (int i = thread_; i < tables * lags; i += kFrameThreads) {
      const int m = i % lags - (t_.delays - 1), b = i / lags % e_.tx, a = i / lags / e_.tx % e_.tx;
      int j = 0, k = i / lags / (e_.tx * e_.tx);  // packed: k = j …
      for (; k >= t_.functions - j; ++j) k -= t_.functions - j;
      k += j;
      float2 trained{0, 0};
      for (int t = 0; t < e_.tx; ++t)
        add(trained, scaled(conj_times(t_.cover[a * e_.tx + t], t_.cover[b * e_.tx + t]), phi(t, j) * phi(t, k)));
      const float2 at = trained_band[abs(m)];
      float2 sum = dsp::product(trained, {at.x, m < 0 ? -at.y : at.y});
      for (int d = 0; d < e_.data_symbols(); ++d)
        add(sum, scaled(of_data(a, b, d, m), phi(e_.tx + d, j) * phi(e_.tx + d, k)));
      d_.lags[i] = sum;
    }
    if (thread_ == 0) s_.own_lags = 1;
    __syncthreads();
  }
  __device__ const float2* lags() const { return s_.own_lags ? d_.lags : t_.lags; }
  __device__ const float2* band() const { return s_.weighted ? d_.band : t_.band; }

  __device__ void learn_delays() {
    double mine = 0, all = 0;
    for (int i = thread_; i < e_.tx * e_.carriers; i += kFrameThreads) {
      const int c = i % e_.carriers;
      for (int r = 0; r < e_.rx; ++r) {
        const float2 z = white(1 + i / e_.carriers, c)[r];
        mine += weight(c) * (double{z.x} * z.x + double{z.y} * z.y);
      }
      all += i < e_.carriers ? weight(c) : 0;
    }
    const double sum = block_sum(mine), count = block_sum(all);
    const double power = s_.antennas > 0 ? sum / (count * s_.antennas * e_.tx) : 0;
    const auto begin = static_cast<float>(fmax((power - 1) / e_.tx, 1e-3) / t_.delays);
    for (int l = thread_; l < t_.delays; l += kFrameThreads) d_.powers[l] = begin;
    __syncthreads();
    if (s_.antennas == 0) return;
    const int delays = t_.delays, sides = e_.pairs();
    const Equations q{d_.equations, padded(2 * delays + sides), delays, sides + delays};
    const Equations factored{d_.factors, q.pitch, q.order, q.sides};
    for (int i = thread_; i < delays * q.rows(); i += kFrameThreads) {
      const int j = i / q.rows(), row = i % q.rows();
      float2 value{row == delays + sides + j ? 1.0f : 0.0f, 0};
      if (row < delays) {
        value = row >= j ? scaled({band()[row - j].x, -band()[row - j].y}, static_cast<float>(e_.tx)) : float2{0, 0};
      } else if (row < delays + sides) {
        const int r = (row - delays) / e_.tx, a = (row - delays) % e_.tx;
        value = {0, 0};
        for (int t = 0; t < e_.tx; ++t)
          add(value, conj_times(t_.cover[a * e_.tx + t], d_.trained[(t * e_.rx + r) * t_.pitch + j]));
        value.y = -value.y;
      }
      q.column(j)[row] = value;
    }
    __syncthreads();
    const float load = kLoad * q.column(0)[0].x;
    for (int step = 0; step < kDelaySteps; ++step) {
      for (int i = thread_; i < delays * q.rows(); i += kFrameThreads) {
        const int j = i / q.rows(), row = i % q.rows();
        float2 value = q.column(j)[row];
        if (row == j) value.x += load + 1 / d_.powers[j];
        factored.column(j)[row] = value;
      }
      __syncthreads();
      factor(factored, load, panel_);
      substitute(factored, sides, d_.g);
      for (int l = thread_; l < delays; l += kFrameThreads) {
        float found = 0;
        for (int s = 0; s < sides; ++s) {
          const float2 g = d_.g[s * q.pitch + l];
          found += g.x * g.x + g.y * g.y;
        }
        found /= static_cast<float>(s_.antennas * e_.tx);
        for (int j = l; j < delays; ++j) {
          const float2 v = factored.column(j)[delays + sides + l];
          found += v.x * v.x + v.y * v.y;
        }
        d_.powers[l] = found;
      }
      __syncthreads();
    }
  }

  __device__ void choose() {
    float mine = 0;
    for (int l = thread_; l < t_.delays; l += kFrameThreads) mine = fmaxf(mine, d_.powers[l]);
    const float largest = block_largest(mine);
    __shared__ float bound;
    for (int l = thread_; l < t_.delays; l += kFrameThreads) {
      int rank = 0;  // from the largest
      for (int j = 0; j < t_.delays; ++j)
        rank += d_.powers[j] > d_.powers[l] || (d_.powers[j] == d_.powers[l] && j < l);
      if (rank == t_.most_taps - 1) bound = d_.powers[l];
      d_.keepers[l] = 0;
    }
    __syncthreads();
    if (thread_ == 0) {
      const float least = fmaxf(largest * t_.span, bound);
      float widest = 0;
      for (int k = 0; k < t_.functions; ++k) widest = fmaxf(widest, s_.weights[k]);
      widest *= largest;
      int count = 0;
      for (int k = 0; k < t_.functions; ++k) {
        s_.first_of[k] = count;
        for (int l = 0, here = 0; l < t_.delays && here < t_.most_taps && (count + 1) * e_.tx <= kMostUnknowns; ++l)
          if (d_.powers[l] >= least && prior(k, l) >= widest * kLeastPrior) {
            d_.delay[count++] = l;
            ++d_.keepers[l];
            ++here;
          }
      }
      s_.first_of[t_.functions] = count;
    }
    __syncthreads();
  }

  __device__ int order() const { return s_.first_of[t_.functions] * e_.tx; }
  __device__ Equations equations() const { return {d_.equations, padded(order() + e_.rx), order(), e_.rx}; }
  __device__ Equations factors() const { return {d_.factors, padded(order() + e_.rx), order(), e_.rx}; }
  /// Function, antenna and number of the kept delay of unknown j.
  __device__ void who(int j, int& k, int& a, int& n) const {
    for (k = 0; j >= s_.first_of[k + 1] * e_.tx;) ++k;
    const int within = j - s_.first_of[k] * e_.tx;
    a = within / kept(k), n = within % kept(k);
  }
  __device__ int delay_of(int k, int n) const { return d_.delay[s_.first_of[k] + n]; }

  __device__ void set_equations() {
    const Equations q = equations();
    const int lags_each = 2 * t_.delays - 1;
    for (int i = thread_; i < q.order * q.rows(); i += kFrameThreads) {
      const int j = i / q.rows(), row = i % q.rows();
      if (row < j) continue;
      int k, b, n;
      who(j, k, b, n);
      if (row < q.order) {
        int later, a, m;
        who(row, later, a, m);
        const int table = ((k * t_.functions - k * (k - 1) / 2 + later - k) * e_.tx + a) * e_.tx + b;
        q.column(j)[row] = lags()[table * lags_each + t_.delays - 1 + delay_of(k, n) - delay_of(later, m)];
      } else {
        const float2 side = side_of(k, b, delay_of(k, n), row - q.order);
        q.column(j)[row] = {side.x, -side.y};
      }
    }
    __syncthreads();
  }
  __device__ float2 side_of(int k, int a, int l, int r) const {
    float2 sum{0, 0};
    for (int t = 0; t < e_.tx; ++t)
      add(sum, scaled(conj_times(t_.cover[a * e_.tx + t], d_.trained[(t * e_.rx + r) * t_.pitch + l]), phi(t, k)));
    for (int d = 0; (e_.pilots > 0 || knows_data()) && d < e_.data_symbols(); ++d) {
      const float2 back{cosf(d_.phases[d]), -sinf(d_.phases[d])};
      add(sum, scaled(dsp::product(back, d_.piloted[((d * e_.tx + a) * e_.rx + r) * t_.pitch + l]), phi(e_.tx + d, k)));
    }
    return sum;
  }

  __device__ void solve() {
    const Equations q = equations(), l = factors();
    float mine = 0;
    for (int j = thread_; j < q.order; j += kFrameThreads) mine = fmaxf(mine, q.column(j)[j].x);
    const float load = kLoad * block_largest(mine);
    for (int i = thread_; i < q.order * q.rows(); i += kFrameThreads) {
      const int j = i / q.rows(), row = i % q.rows();
      if (row < j) continue;
      float2 value = q.column(j)[row];
      if (row == j) {
        int k, a, n;
        who(j, k, a, n);
        const float precision = 1 / prior(k, delay_of(k, n));
        d_.variance[j] = 1 / (value.x + precision);
        value.x += load + precision;
      }
      l.column(j)[row] = value;
    }
    __syncthreads();
    factor(l, load, panel_);
    substitute(l, e_.rx, d_.g);
  }

  __device__ float energy(int k, int n) const {
    const int pitch = padded(order() + e_.rx);
    float sum = 0;
    for (int a = 0; a < e_.tx; ++a) {
      const int j = place(k, a, n);
      float here = 0;
      for (int r = 0; r < e_.rx; ++r) {
        const float2 g = d_.g[r * pitch + j];
        here += g.x * g.x + g.y * g.y;
      }
      sum += here / static_cast<float>(s_.antennas) + d_.variance[j];
    }
    return sum / static_cast<float>(e_.tx);
  }
  __device__ void learn_powers() {
    if (thread_ < t_.functions && kept(thread_) > 0) {
      float sum = 0;
      for (int n = 0; n < kept(thread_); ++n) sum += energy(thread_, n) / d_.powers[delay_of(thread_, n)];
      s_.weights[thread_] = sum / static_cast<float>(kept(thread_));
    }
    __syncthreads();
    for (int l = thread_; l < t_.delays; l += kFrameThreads) {
      if (d_.keepers[l] == 0) continue;
      float sum = 0;
      for (int k = 0; k < t_.functions; ++k)
        for (int n = 0; n < kept(k); ++n)
          if (delay_of(k, n) == l) sum += energy(k, n) / s_.weights[k];
      d_.powers[l] = sum / static_cast<float>(d_.keepers[l]);
    }
    __syncthreads();
  }

  __device__ void fit(int steps) {
    choose();
    set_equations();
    solve();
    for (int step = 0; step < steps && s_.antennas > 0; ++step) {
      learn_powers();
      solve();
    }
  }

  __device__ void set_parts(const float2* turn, int rows, float2* parts) {
    const int numbers = t_.functions * e_.pairs(), pitch = padded(order() + e_.rx);
    for (int i = thread_; i < rows * numbers; i += kFrameThreads) {
      const int row = i / numbers, k = i % numbers / e_.pairs(), r = i % e_.pairs() / e_.tx, a = i % e_.tx;
      float2 sum{0, 0};
      for (int n = 0; n < kept(k); ++n)
        add(sum, dsp::product(turn[row * t_.pitch + delay_of(k, n)], d_.g[r * pitch + place(k, a, n)]));
      parts[i] = sum;
    }
    __syncthreads();
  }

  /// Of data symbol d at a place: the parts at the symbol's time.
  __device__ float2 channel(const float2* parts, int s, int pair) const {
    if (!t_.moves) return parts[pair];
    float2 sum{0, 0};
    for (int k = 0; k < t_.functions; ++k) add(sum, scaled(parts[k * e_.pairs() + pair], phi(s, k)));
    return sum;
  }

  __device__ void measure_phases() {
    const int numbers = (t_.moves ? t_.functions : 1) * e_.pairs();
    for (int d = 0; d < e_.data_symbols(); ++d) {
      Sum mine;
      for (int i = thread_; i < e_.pilots * e_.rx; i += kFrameThreads) {
        const int p = i / e_.rx, r = i % e_.rx, c = t_.pilot[p];
        float2 expected{0, 0};
        for (int a = 0; a < e_.tx; ++a)
          add(expected, scaled(channel(d_.pilot_parts + p * numbers, e_.tx + d, r * e_.tx + a), sign(d, p, a)));
        const float2 both = conj_times(expected, white(1 + e_.tx + d, c)[r]);
        const double own = t_.moves ? weight(c) : 1;
        mine.re += own * both.x, mine.im += own * both.y;
      }
      const double re = block_sum(mine.re), im = block_sum(mine.im);
      if (thread_ == 0) d_.phases[d] = static_cast<float>(atan2(im, re));
    }
    __syncthreads();
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
    for (int g = thread_ / 32; g < e_.groups(); g += kFrameThreads / 32) {
      Covariance sum;
      int count = 0;
      const int begin = g * e_.group, end = min(begin + e_.group, e_.carriers), symbols = e_.symbols;
      for (int i = lane; i < (end - begin) * symbols; i += 32) {
        const int c = begin + i / symbols, symbol = i % symbols, s = symbol - 1, d = s - e_.tx;
        const bool pilot = t_.place[c]<0, data = symbol> 0 && d >= 0 && !pilot;
        if (symbol == 0 && !is_odd(c)) continue;
        if (data && !(knows_data() && d_.doubt[c * e_.data_symbols() + d] < kMostDoubt * static_cast<float>(e_.tx)))
          continue;
        float re[kMostAntennas], im[kMostAntennas];
        if (symbol == 0) {
          for (int r = 0; r < e_.rx; ++r) re[r] = white(0, c)[r].x, im[r] = white(0, c)[r].y;
        } else {
          float2 sent[kMostAntennas], turn{1, 0};
          for (int a = 0; a < e_.tx; ++a)
            sent[a] = d < 0   ? scaled(t_.cover[a * e_.tx + s], t_.training[c])
                      : pilot ? float2{sign(d, -1 - t_.place[c], a), 0}
                              : d_.sent[(c * e_.data_symbols() + d) * e_.tx + a];
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
    double mine = 0;
    for (int i = thread_; i < e_.tx * e_.row(); i += kFrameThreads) {
      const float2 z = d_.white[e_.row() + i];
      mine += double{z.x} * z.x + double{z.y} * z.y;
    }
    const double least = kLeastNoise * block_sum(mine) / (double(e_.tx) * e_.carriers * s_.antennas);
    const double usual = fmax(block_median(d_.traces, e_.groups()), least);
    for (int g = thread_; g < e_.groups(); g += kFrameThreads) {
      for (int r = 0; r < e_.rx; ++r) d_.covariance[g].re[r][r] += usual / (d_.counts[g] + 1);
      d_.filter[g] = d_.covariance[g];
      take_root(d_.filter[g], e_.rx);
      invert_root(d_.filter[g], e_.rx);
    }
    __syncthreads();
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
    for (int i = thread_; i < e_.carriers * functions * e_.tx; i += kFrameThreads) {
      const int c = i / (functions * e_.tx), k = i / e_.tx % functions, a = i % e_.tx;
      float2* const column = d_.parts + (std::int64_t{c} * functions + k) * pairs + a;
      float2 x[kMostAntennas];
      for (int r = 0; r < e_.rx; ++r) x[r] = column[r * e_.tx];
      for (int r = 0; r < e_.rx; ++r) column[r * e_.tx] = filtered(c / e_.group, r, x, 1);
    }
    __syncthreads();
    for (int i = thread_; i < e_.carriers * symbols; i += kFrameThreads) {
      const int c = i / symbols, d = i % symbols, at = t_.place[c];
      if (at < 0) continue;
      const std::int64_t vector = frame * vectors() + std::int64_t{at} * symbols + d;
      float2 x[kMostAntennas];
      for (int r = 0; r < e_.rx; ++r) x[r] = dsp::product(white(1 + e_.tx + d, c)[r], d_.back[d]);
      for (int r = 0; r < e_.rx; ++r) f_.y[vector * e_.rx + r] = filtered(c / e_.group, r, x, 1);
      const float2* const parts = d_.parts + std::int64_t{c} * functions * pairs;
      if (t_.moves)
        for (int pair = 0; pair < pairs; ++pair) f_.h[vector * pairs + pair] = channel(parts, e_.tx + d, pair);
      else if (d == 0)
        for (int pair = 0; pair < pairs; ++pair) f_.h[(frame * e_.data_carriers() + at) * pairs + pair] = parts[pair];
    }
    write_noise(frame);
    for (int d = thread_; f_.phase && d < symbols; d += kFrameThreads) f_.phase[frame * symbols + d] = d_.phases[d];
    if (thread_ == 0) {
      f_.level[frame] = told(s_.level);
      float all = 0;
      for (int k = 0; k < t_.functions; ++k) all += s_.weights[k];
      if (t_.moves)
        f_.doppler[frame] = all > 0 && s_.antennas > 0 ? sqrtf(fmaxf(0.0f, (all - s_.weights[0]) / all)) : 0;
    }
    for (int g = thread_; f_.covariance && g < e_.groups(); g += kFrameThreads) {
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
  __device__ void write_noise(std::int64_t frame) {
    const int symbols = e_.data_symbols();
    const bool silent = s_.antennas == 0;
    if (!t_.moves) {
      if (thread_ == 0) f_.noise[frame] = silent ? 0.0f : 1 + t_.smoothed_noise;
      return;
    }
    for (int d = thread_; d < symbols; d += kFrameThreads) {
      float all = 0;
      for (int k = 0; k < t_.functions; ++k) {
        float sum = 0;
        for (int j = place(k, 0, 0); j < place(k, 0, 0) + kept(k) * e_.tx; ++j) sum += d_.variance[j];
        int n = 0;
        for (int l = 0; l < t_.delays; ++l)
          if (n < kept(k) && delay_of(k, n) == l)
            ++n;
          else
            sum += static_cast<float>(e_.tx) * prior(k, l);
        all += phi(e_.tx + d, k) * phi(e_.tx + d, k) * sum;
      }
      const float noise = silent ? 0.0f : 1 + all;
      for (int i = 0; i < e_.data_carriers(); ++i) f_.noise[(frame * e_.data_carriers() + i) * symbols + d] = noise;
    }
  }

  const Frames& f_;
  const Extents& e_;
  const Tables& t_;
  const Desk& d_;
  State& s_;
  float2* panel_;
  int thread_;
};

__global__ void __launch_bounds__(kFrameThreads) follow_frames(const Frames f) {
  extern __shared__ float2 panel[];
  __shared__ State state;
  if (threadIdx.x == 0) state.knows_data = f.soft != nullptr && *f.soft_found_at == *f.found_at;
  const std::int32_t found = dsp::read_once(f.found_at);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (std::int32_t* const count : f.counts) *count = found;
    if (!f.t.moves) *f.counts[6] = 0;
  }
  const Desk desk = own_desk(f.desk);
  Follower follower(f, desk, state, panel);
  for (std::int64_t frame = blockIdx.x; frame < found; frame += gridDim.x) follower.run(frame);
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
