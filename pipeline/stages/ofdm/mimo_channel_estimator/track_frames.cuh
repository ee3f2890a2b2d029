// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_desk.cuh"

/// The estimate of a channel that moves, with Tracker's steps.
namespace iqd::mimo_channel_estimator {
namespace {

class FrameTracker : public FrameWork {
 public:
  using FrameWork::FrameWork;

 protected:
  // A channel that moves.

  __device__ void follow() {
    correlate();
    judge_tail();
    if (thread_ == 0) s_.own_lags = 0;
    __syncthreads();
    if (s_.weighted) fill_lags_of_frame();
    if (thread_ < t_.functions) s_.weights[thread_] = t_.weights[thread_];
    for (int s = own_; s < e_.behind(); s += all_) d_.phases[s] = 0;
    learn_delays();
    fit(t_.em);
    if (e_.track_phase && e_.pilots > 0) {
      set_parts(t_.pilot_turn, e_.pilots, d_.pilot_parts);
      measure_phases();
      if (!knows_data()) turn_back();
    }
    if (knows_data()) {
      correlate_soft();
      fit(kSoftSteps);
    }
    set_parts(t_.turn, e_.carriers, d_.parts);
  }

  __device__ void correlate() {
    for (int i = own_; i < e_.trainings() * e_.rx * t_.delays; i += all_) {
      const int column = i / t_.delays, l = i % t_.delays, t = column / e_.rx, r = column % e_.rx;
      const int symbol = e_.training(t);
      double2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) {
        const float2 y = scaled(white(symbol, c)[r], t_.training[c] * weight(c));
        add(sum, conj_times(dsp::wide(t_.turn[c * t_.pitch + l]), dsp::wide(y)));
      }
      d_.trained[column * t_.pitch + l] = sum;
    }
    const int columns = e_.behind() * e_.pairs();
    for (int i = own_; e_.pilots > 0 && i < columns * t_.delays; i += all_) {
      const int column = i / t_.delays, l = i % t_.delays, r = column % e_.rx, a = column / e_.rx % e_.tx;
      const int s = column / e_.pairs(), j = e_.comb().in(s);
      float2 sum{0, 0};
      for (int p = 0; j < 0 && p < e_.pilots; ++p) {
        const int c = t_.pilot[p];
        add(sum,
            conj_times(t_.pilot_turn[p * t_.pitch + l], scaled(white(1 + e_.tx + s, c)[r], sign(s, p, a) * weight(c))));
      }
      for (int c = a; j >= 0 && c < e_.carriers; c += e_.tx)  // those of antenna a
        add(sum, conj_times(t_.turn[c * t_.pitch + l], scaled(white(1 + e_.tx + s, c)[r], comb(j, c, a) * weight(c))));
      d_.piloted[column * t_.pitch + l] = sum;
    }
    Team::sync();
  }

  /// Whether the training of the next frame is there, and at its time.
  __device__ void judge_tail() {
    if (thread_ == 0) s_.trainings = e_.tx;
    if (!e_.tail) return __syncthreads();
    double mine = 0;
    for (int i = thread_; i < e_.tx * e_.carriers; i += kFrameThreads) {
      const int c = i % e_.carriers, symbol = e_.training(e_.tx + i / e_.carriers);
      const double own = weight(c);
      for (int r = 0; r < e_.rx; ++r) {
        const float2 z = white(symbol, c)[r];
        mine += own * own * (double{z.x} * z.x + double{z.y} * z.y);
      }
    }
    const double energy = block_sum(mine);
    TailMetric metric;
    for (int l = thread_; l < t_.delays; l += kFrameThreads) {
      double own = 0, next = 0;
      for (int i = 0; i < e_.pairs(); ++i) {
        const double2 here = d_.trained[i * t_.pitch + l], later = d_.trained[(e_.pairs() + i) * t_.pitch + l];
        own += here.x * here.x + here.y * here.y;
        next += later.x * later.x + later.y * later.y;
      }
      metric.add(own, next);
    }
    for (double* const sum : {&metric.sum, &metric.own, &metric.next, &metric.both}) *sum = block_sum(*sum);
    if (thread_ == 0 && metric.is_there(energy, t_.within)) s_.trainings = e_.trainings();
    __syncthreads();
  }

  /// As fill_lags of the CPU, with the frame's weights.
  __device__ void fill_lags_of_frame() {
    const int products = e_.tx * (e_.tx + 1) / 2;
    for (int m = own_; m < t_.delays; m += all_) {
      double2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) add(sum, scaled(dsp::wide(t_.turn[c * t_.pitch + m]), d_.weights[c]));
      d_.band[m] = sum;
    }
    for (int i = own_; i < e_.behind() * products * t_.delays; i += all_) {
      const int m = i % t_.delays, pair = i / t_.delays % products, s = i / t_.delays / products;
      const int j = e_.comb().in(s);
      int a = 0;
      while ((a + 1) * (a + 2) / 2 <= pair) ++a;
      const int b = pair - a * (a + 1) / 2;
      float2 sum{0, 0};
      for (int p = 0; j < 0 && p < e_.pilots; ++p)
        add(sum, scaled(t_.pilot_turn[p * t_.pitch + m], d_.weights[t_.pilot[p]] * sign(s, p, a) * sign(s, p, b)));
      for (int c = a; j >= 0 && a == b && c < e_.carriers; c += e_.tx)
        add(sum, scaled(t_.turn[c * t_.pitch + m], d_.weights[c] * static_cast<float>(e_.tx)));
      d_.lag_work[i] = sum;
    }
    Team::sync();
    combine_lags([&](int a, int b, int s, int m) {
      const int pair = a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a;
      const float2 p = d_.lag_work[(s * products + pair) * t_.delays + abs(m)];
      return float2{p.x, m < 0 ? -p.y : p.y};
    });
  }
  /// The tables from the training, by its band, and for each symbol s behind it of_others(a, b, s, lag).
  template <class OfOthers> __device__ void combine_lags(const OfOthers& of_others) {
    const double2* const trained_band = band();
    const int lags = 2 * t_.delays - 1, tables = t_.functions * (t_.functions + 1) / 2 * e_.tx * e_.tx;
    for (int i = own_; i < tables * lags; i += all_) {
      const int m = i % lags - (t_.delays - 1), b = i / lags % e_.tx, a = i / lags / e_.tx % e_.tx;
      int j = 0, k = i / lags / (e_.tx * e_.tx);  // packed: k = j …
      for (; k >= t_.functions - j; ++j) k -= t_.functions - j;
      k += j;
      float2 of_training{0, 0};
      for (int t = 0; t < s_.trainings; ++t) {
        const int own = t % e_.tx, time = e_.training_time(t);
        add(of_training,
            scaled(conj_times(t_.cover[a * e_.tx + own], t_.cover[b * e_.tx + own]), phi(time, j) * phi(time, k)));
      }
      const float2 at = dsp::narrow(trained_band[abs(m)]);
      float2 sum = dsp::product(of_training, {at.x, m < 0 ? -at.y : at.y});
      for (int s = 0; s < e_.behind(); ++s)
        add(sum, scaled(of_others(a, b, s, m), phi(e_.tx + s, j) * phi(e_.tx + s, k)));
      d_.lags[i] = sum;
    }
    if (thread_ == 0) s_.own_lags = 1;
    Team::sync();
  }
  __device__ const float2* lags() const {
    return s_.own_lags ? d_.lags : s_.trainings > e_.tx ? t_.tail_lags : t_.lags;
  }
  __device__ const double2* band() const { return s_.weighted ? d_.band : t_.band; }

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
    for (int l = own_; l < t_.delays; l += all_) d_.powers[l] = begin;
    Team::sync();
    if (s_.antennas == 0) return;
    const int delays = t_.delays, sides = e_.pairs();
    const EquationsOf<double2> q{d_.delay_factors, padded(2 * delays + sides), delays, sides, true};
    auto* const panel = reinterpret_cast<double2*>(panel_);
    for (int step = 0; step < kDelaySteps; ++step) {
      set_delays(q);
      factor(q, kLeastPivot * e_.tx * band()[0].x, panel);
      substitute(q, sides, d_.delay_g, panel);
      for (int l = own_; l < delays; l += all_) {
        double found = 0, variance = 0;
        for (int s = 0; s < sides; ++s) {
          const double2 g = d_.delay_g[s * q.pitch + l];
          found += g.x * g.x + g.y * g.y;
        }
        for (int j = l; j < delays; ++j) {
          const double2 v = q.column(j)[q.rows() + l];
          variance += v.x * v.x + v.y * v.y;
        }
        d_.powers[l] = next_power(d_.powers[l], found / (s_.antennas * e_.tx), variance);
      }
      Team::sync();
    }
  }
  __device__ void set_delays(const EquationsOf<double2>& q) {
    const int delays = q.order, rows = q.rows(delays);
    for (int i = own_; i < delays * rows; i += all_) {
      const int j = i / rows, row = i % rows;
      if (row < j) continue;
      double2 value{0, 0};
      if (row < delays) {
        value = {e_.tx * band()[row - j].x, -e_.tx * band()[row - j].y};
        if (row == j) value.x += 1 / double{d_.powers[j]};
      } else if (row < q.rows()) {
        const int r = (row - delays) / e_.tx, a = (row - delays) % e_.tx;
        for (int t = 0; t < e_.tx; ++t)
          add(value, conj_times(dsp::wide(t_.cover[a * e_.tx + t]), d_.trained[(t * e_.rx + r) * t_.pitch + j]));
        value.y = -value.y;
      } else {
        value.x = row == q.rows() + j;
      }
      q.column(j)[row] = value;
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
    }
    __syncthreads();
    float widest = 0;
    for (int k = 0; k < t_.functions; ++k) widest = fmaxf(widest, s_.weights[k]);
    const float least = fmaxf(largest * t_.span, bound), least_prior = widest * largest * kLeastPrior;
    const auto is_kept = [&](int k, int l) {
      return l < t_.delays && d_.powers[l] >= least && prior(k, l) >= least_prior;
    };
    // A warp a function: first how many, then which.
    const int k = thread_ / 32, lane = thread_ % 32;
    int count = 0;
    for (int l = 0; k < t_.functions && l < t_.delays; l += 32)
      count += __popc(__ballot_sync(0xffffffffu, is_kept(k, l + lane)));
    if (k < t_.functions && lane == 0) s_.first_of[k + 1] = min(count, t_.most_taps);
    __syncthreads();
    if (thread_ == 0) {
      s_.first_of[0] = 0;
      for (int j = 0; j < t_.functions; ++j)
        s_.first_of[j + 1] = min(s_.first_of[j] + s_.first_of[j + 1], static_cast<int>(kMostUnknowns) / e_.tx);
    }
    __syncthreads();
    Team::sync();
    if (Team::rank() == 0) {
      for (int l = 0, at = k < t_.functions ? s_.first_of[k] : 0; k < t_.functions && l < t_.delays; l += 32) {
        const bool is = is_kept(k, l + lane);
        const unsigned which = __ballot_sync(0xffffffffu, is);
        const int place = at + __popc(which & ((1u << lane) - 1));
        if (is && place < s_.first_of[k + 1]) d_.delay[place] = l + lane;
        at += __popc(which);
      }
    }
    Team::sync();
    // How many functions keep a delay.
    for (int l = own_; l < t_.delays; l += all_) {
      int keepers = 0;
      for (int j = 0; j < t_.functions; ++j)
        for (int n = 0; n < kept(j); ++n) keepers += delay_of(j, n) == l;
      d_.keepers[l] = keepers;
    }
    Team::sync();
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

  __device__ void set_equations() {
    const Equations q = equations();
    const int lags_each = 2 * t_.delays - 1;
    for (int i = own_; i < q.order * q.rows(); i += all_) {
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
    Team::sync();
  }
  __device__ float2 trained(int t, int r, int l) const {
    return dsp::narrow(d_.trained[(t * e_.rx + r) * t_.pitch + l]);
  }
  __device__ float2 side_of(int k, int a, int l, int r) const {
    float2 sum{0, 0};
    for (int t = 0; t < s_.trainings; ++t)
      add(sum, scaled(conj_times(t_.cover[a * e_.tx + t % e_.tx], trained(t, r, l)), phi(e_.training_time(t), k)));
    for (int s = 0; (e_.pilots > 0 || knows_data()) && s < e_.behind(); ++s) {
      const float2 back{cosf(d_.phases[s]), -sinf(d_.phases[s])};
      add(sum, scaled(dsp::product(back, d_.piloted[((s * e_.tx + a) * e_.rx + r) * t_.pitch + l]), phi(e_.tx + s, k)));
    }
    return sum;
  }

  __device__ void solve() {
    const Equations q = equations(), l = factors();
    float mine = 0;
    for (int j = thread_; j < q.order; j += kFrameThreads) mine = fmaxf(mine, q.column(j)[j].x);
    const float load = kLoad * block_largest(mine);
    for (int i = own_; i < q.order * q.rows(); i += all_) {
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
    Team::sync();
    factor(l, load, panel_);
    substitute(l, e_.rx, d_.g, panel_);
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
    float* const energies = reinterpret_cast<float*>(panel_);  // of each kept pair of function and delay
    for (int k = 0; k < t_.functions; ++k)
      for (int n = thread_; n < kept(k); n += kFrameThreads) energies[s_.first_of[k] + n] = energy(k, n);
    __syncthreads();
    const int k = thread_ / 32, lane = thread_ % 32;
    if (k < t_.functions && kept(k) > 0) {
      float sum = 0;
      for (int n = lane; n < kept(k); n += 32) sum += energies[s_.first_of[k] + n] / d_.powers[delay_of(k, n)];
      for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
      if (lane == 0) s_.weights[k] = sum / static_cast<float>(kept(k));
    }
    Team::sync();
    for (int l = own_; l < t_.delays; l += all_) {
      if (d_.keepers[l] == 0) continue;
      float sum = 0;
      for (int j = 0; j < t_.functions; ++j)
        for (int n = 0; n < kept(j); ++n)
          if (delay_of(j, n) == l) sum += energies[s_.first_of[j] + n] / s_.weights[j];
      d_.powers[l] = sum / static_cast<float>(d_.keepers[l]);
    }
    Team::sync();
  }

  /// Takes the phases away: other right sides, the same factor.
  __device__ void turn_back() {
    const Equations l = factors();
    for (int i = own_; i < l.order * e_.rx; i += all_) {
      const int j = i % l.order, r = i / l.order;
      int k, a, n;
      who(j, k, a, n);
      d_.g[r * l.pitch + j] = side_of(k, a, delay_of(k, n), r);
    }
    substitute(l, e_.rx, d_.g, panel_, true);
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
    for (int i = own_; i < rows * numbers; i += all_) {
      const int row = i / numbers, k = i % numbers / e_.pairs(), r = i % e_.pairs() / e_.tx, a = i % e_.tx;
      float2 sum{0, 0};
      for (int n = 0; n < kept(k); ++n)
        add(sum, dsp::product(turn[row * t_.pitch + delay_of(k, n)], d_.g[r * pitch + place(k, a, n)]));
      parts[i] = sum;
    }
    Team::sync();
  }

  // Data that is known, more or less.

  __device__ void read_soft(std::int64_t frame) {
    const int symbols = e_.behind();
    const std::int64_t llrs = std::int64_t{vectors()} * e_.tx * t_.soft_bits;
    const Alphabets sent = t_.sent.with(f_.sent && knows_data() ? f_.sent + frame * e_.tx : nullptr, e_.tx);
    for (int i = own_; knows_data() && i < e_.carriers * symbols; i += all_) {
      const int c = i / symbols, s = i % symbols, at = t_.place[c];
      const int j = e_.comb().in(s), d = e_.comb().data_before(s);
      float doubt = 0;
      for (int a = 0; a < e_.tx; ++a) {
        float2& mean = d_.sent[i * e_.tx + a];
        if (j >= 0 || at < 0) {
          mean = {j >= 0 ? comb(j, c, a) : sign(s, -1 - at, a), 0};
          continue;
        }
        const qam::SoftSymbol symbol = soft_point(
            sent, a, f_.soft + frame * llrs + ((std::int64_t{at} * e_.data_symbols() + d) * e_.tx + a) * t_.soft_bits);
        mean = {symbol.re, symbol.im};
        doubt += symbol.variance;
      }
      d_.doubt[i] = doubt;
    }
    Team::sync();
  }
  /// As the CPU: the sums with data, and the tables of lags.
  __device__ void correlate_soft() {
    float delays = 0, functions = 0;
    for (int l = 0; l < t_.delays; ++l) delays += d_.powers[l];
    for (int k = 0; k < t_.functions; ++k) functions += s_.weights[k];
    const float power = delays * functions;
    const int symbols = e_.behind(), sides = symbols * e_.pairs(), products = e_.tx * e_.tx;
    const auto weight_of = [&](int c, int s) { return 1 / (1 / weight(c) + power * d_.doubt[c * symbols + s]); };
    for (int i = own_; i < sides * t_.delays; i += all_) {
      const int column = i / t_.delays, l = i % t_.delays, r = column % e_.rx, a = column / e_.rx % e_.tx;
      const int s = column / e_.pairs();
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) {
        const float2 own = scaled(d_.sent[(c * symbols + s) * e_.tx + a], weight_of(c, s));
        add(sum, conj_times(t_.turn[c * t_.pitch + l], conj_times(own, white(1 + e_.tx + s, c)[r])));
      }
      d_.piloted[column * t_.pitch + l] = sum;
    }
    for (int i = own_; i < symbols * products * t_.delays; i += all_) {
      const int column = i / t_.delays, l = i % t_.delays, b = column % e_.tx, a = column / e_.tx % e_.tx;
      const int s = column / products;
      float2 sum{0, 0};
      for (int c = 0; c < e_.carriers; ++c) {
        const float2* const x = d_.sent + (c * symbols + s) * e_.tx;
        add(sum, conj_times(t_.turn[c * t_.pitch + l], conj_times(scaled(x[a], weight_of(c, s)), x[b])));
      }
      d_.soft_lags[column * t_.pitch + l] = sum;
    }
    Team::sync();
    combine_lags([&](int a, int b, int s, int m) {
      const float2 p = d_.soft_lags[((s * e_.tx + (m < 0 ? a : b)) * e_.tx + (m < 0 ? b : a)) * t_.pitch + abs(m)];
      return float2{p.x, m < 0 ? p.y : -p.y};
    });
  }
};

}  // namespace
}  // namespace iqd::mimo_channel_estimator
