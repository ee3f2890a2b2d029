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

/// What the steps of a frame share on a GPU: tables, memory, the state of a thread block, and how to read them.
namespace iqd::mimo_channel_estimator {
namespace {

using dsp::add;
using dsp::block_largest;
using dsp::block_median;
using dsp::block_sum;
using dsp::conj_times;
using dsp::Equations;
using dsp::EquationsOf;
using dsp::factor;
using dsp::kFrameThreads;
using dsp::kPanel;
using dsp::padded;
using dsp::scaled;
using dsp::substitute;
using dsp::subtract;
using dsp::Team;

/// What is the same for all frames.
struct Tables {
  const float *phi, *weights, *training, *pilot_signs, *taps, *combs;
  const float2 *turn, *pilot_turn;  // [carrier or pilot][delay_pitch]
  const float2 *cover, *uncover;    // [tx][training]
  const float2 *lags, *tail_lags;   // with equal weights, without and with the training of the next frame
  const double2* band;              // with equal weights
  const float2 *known, *ramp, *pilot_weights;
  const std::int32_t *odd, *pilot, *place, *first;
  std::int32_t odd_carriers, functions, delays, pitch, most_taps, em, soft_bits;
  Alphabets sent;
  float span, smoothed_noise, within;
  bool moves, whitens, groups;
};

/// Memory of a team of thread blocks, for one frame: `stride` bytes for each.
struct Desk {
  float2* white;  // [symbol][carrier][rx], with those of the tail
  float* weights;
  double *power, *strength, *traces, *counts;
  Covariance *covariance, *filter;
  double2* trained;  // [training][rx][pitch]
  float2* piloted;   // [symbol behind][tx][rx][pitch]
  double2* band;
  float2 *lags, *lag_work;
  float* powers;
  double2 *delay_factors, *delay_g;  // of the training alone; [rx][tx] and the variance, [delay]
  std::int32_t *delay, *keepers;
  float2 *equations, *factors, *g;
  float* variance;
  float2 *rough, *parts, *pilot_parts;
  float* phases;
  float2* back;
  float2* sent;       // [carrier][symbol behind][tx]: mean of what was sent
  float* doubt;       // [carrier][symbol behind]: its variance, sum over the antennas
  float2* soft_lags;  // [symbol behind][a][b][pitch]
  std::size_t stride;
};

struct Frames {
  Extents e;
  Tables t;
  Desk desk;
  const float2* carriers;
  const float* soft;         // LLRs of the data, or null
  const std::uint8_t* sent;  // bits of each antenna's points, or null
  const std::int32_t *found_at, *soft_found_at, *sent_found_at;
  std::int32_t* counts[8];
  float2 *y, *h, *covariance;
  float *noise, *phase, *level, *doppler, *interference;
};

/// What all threads of a block share of a frame; the same in all blocks of a team.
struct State {
  bool alive[kMostAntennas];
  double least[kMostAntennas];
  int antennas;
  int weighted;
  int own_lags;
  int trainings;  // that count: with those of the next frame, or without
  int knows_data;
  double level, interference;
  Covariance band, root;
  float2 front[kMostAntennas][kMostAntennas];
  float weights[kMostFunctions];
  int first_of[kMostFunctions + 1];
  float2 uncover[kMostAntennas * kMostAntennas];
  double slope;
};

template <class T> __device__ T* own(T* first, std::size_t stride) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(first) + blockIdx.x / Team::blocks() * stride);
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
          own(d.band, s),
          own(d.lags, s),
          own(d.lag_work, s),
          own(d.powers, s),
          own(d.delay_factors, s),
          own(d.delay_g, s),
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

/// One frame, by all threads of a team. What is little work all blocks do for themselves, each by its own `thread_`s, so
/// that State agrees without waiting; the rest is divided among `own_` threads of the team, and only that writes Desk.
class FrameWork {
 public:
  __device__ FrameWork(const Frames& f, const Desk& d, State& s, float2* panel)
      : f_(f),
        e_(f.e),
        t_(f.t),
        d_(d),
        s_(s),
        panel_(panel),
        thread_(static_cast<int>(threadIdx.x)),
        own_(Team::thread()),
        all_(Team::threads()) {}

 protected:
  __device__ const float2* white(int symbol, int c) const { return d_.white + symbol * e_.row() + c * e_.rx; }
  __device__ int vectors() const { return e_.data_carriers() * e_.data_symbols(); }
  __device__ int stretches() const { return stretches_of(t_.odd_carriers); }
  __device__ int kept(int k) const { return s_.first_of[k + 1] - s_.first_of[k]; }
  __device__ int place(int k, int a, int n) const { return s_.first_of[k] * e_.tx + a * kept(k) + n; }
  __device__ float prior(int k, int l) const { return s_.weights[k] * d_.powers[l]; }
  __device__ float weight(int c) const { return s_.weighted ? d_.weights[c] : 1.0f; }
  __device__ float phi(int s, int k) const { return t_.phi[s * t_.functions + k]; }
  __device__ float sign(int s, int i, int a) const {
    return t_.pilot_signs[(static_cast<std::int64_t>(s) * e_.pilots + i) * e_.tx + a];
  }
  /// What antenna a sends on carrier c in midamble j.
  __device__ float comb(int j, int c, int a) const {
    return c % e_.tx == a ? t_.combs[static_cast<std::int64_t>(j) * e_.carriers + c] : 0.0f;
  }
  __device__ bool knows_data() const { return s_.knows_data != 0; }
  __device__ int delay_of(int k, int n) const { return d_.delay[s_.first_of[k] + n]; }

  /// At a place: the parts at time s.
  __device__ float2 channel(const float2* parts, int s, int pair) const {
    if (!t_.moves) return parts[pair];
    float2 sum{0, 0};
    for (int k = 0; k < t_.functions; ++k) add(sum, scaled(parts[k * e_.pairs() + pair], phi(s, k)));
    return sum;
  }

  /// A symbol a block.
  __device__ void measure_phases() {
    const int numbers = (t_.moves ? t_.functions : 1) * e_.pairs();
    for (int s = Team::rank(); s < e_.behind(); s += Team::blocks()) {
      Sum mine;
      for (int i = thread_; i < e_.pilots * e_.rx; i += kFrameThreads) {
        const int p = i / e_.rx, r = i % e_.rx, c = t_.pilot[p];
        float2 expected{0, 0};
        for (int a = 0; a < e_.tx; ++a)
          add(expected, scaled(channel(d_.pilot_parts + p * numbers, e_.tx + s, r * e_.tx + a), sign(s, p, a)));
        const float2 both = conj_times(expected, white(1 + e_.tx + s, c)[r]);
        const double own = t_.moves ? weight(c) : 1;
        mine.re += own * both.x, mine.im += own * both.y;
      }
      const double re = block_sum(mine.re), im = block_sum(mine.im);
      if (thread_ == 0) d_.phases[s] = static_cast<float>(atan2(im, re));
    }
    Team::sync();
  }

  const Frames& f_;
  const Extents& e_;
  const Tables& t_;
  const Desk& d_;
  State& s_;
  float2* panel_;
  int thread_, own_, all_;
};

}  // namespace
}  // namespace iqd::mimo_channel_estimator
