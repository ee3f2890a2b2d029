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
    correlate_training();
    for (int i = own_; e_.pilots > 0 && i < e_.behind() * e_.tx * t_.delays; i += all_) {
      const int l = i % t_.delays, a = i / t_.delays % e_.tx, s = i / t_.delays / e_.tx, j = e_.comb().in(s);
      float2* const to = d_.piloted + std::int64_t{s * e_.tx + a} * e_.rx * t_.pitch;
      const auto pilot = [&](int row, int r) {
        const int c = t_.pilot[row];
        return scaled(white(1 + e_.tx + s, c)[r], sign(s, row, a) * weight(c));
      };
      const auto midamble = [&](int row, int r) {
        const int c = row * e_.tx + a;  // those of antenna a
        return scaled(white(1 + e_.tx + s, c)[r], comb(j, c, a) * weight(c));
      };
      if (j < 0)
        correlate_columns({t_.pilot_turn + l, t_.pitch, e_.pilots}, e_.rx, pilot, to + l);
      else
        correlate_columns({t_.turn + a * t_.pitch + l, e_.tx * t_.pitch, (e_.carriers - a + e_.tx - 1) / e_.tx}, e_.rx,
                          midamble, to + l);
    }
    Team::sync();
  }
  /// A delay's turns.
  struct Turns {
    const float2* first;
    int step;  // to that of the next row
    int rows;
  };
  /// to[n * pitch] = sum over the rows of conj(turn) value(row, n), for at most kMostAntennas columns n, by a thread.
  template <class Value>
  __device__ void correlate_columns(const Turns& turns, int columns, const Value& value, float2* to) const {
    float2 sum[kMostAntennas] = {};
    for (int row = 0; row < turns.rows; ++row) {
      const float2 turn = turns.first[row * turns.step];
#pragma unroll
      for (int n = 0; n < kMostAntennas; ++n)
        if (n < columns) add(sum[n], conj_times(turn, value(row, n)));
    }
#pragma unroll
    for (int n = 0; n < kMostAntennas; ++n)
      if (n < columns) to[n * t_.pitch] = sum[n];
  }
  /// In double precision, for learn_delays. As on the CPU, carriers of opposite frequencies share their products. A warp
  /// takes a symbol and some delays; its lanes divide the carriers.
  __device__ void correlate_training() {
    constexpr int kParts = 4, kDelays = 32 / kParts;
    const int lane = thread_ % 32, part = lane % kParts, groups = (t_.delays + kDelays - 1) / kDelays;
    for (int i = own_ / 32; i < e_.trainings() * groups; i += all_ / 32) {
      const int t = i / groups, l = i % groups * kDelays + lane / kParts, symbol = e_.training(t);
      double2 sum[kMostAntennas] = {};
      for (int c = part; c < e_.carriers / 2; c += kParts) {
        const int other = e_.carriers - 1 - c;
        const float known = t_.training[c] * weight(c), other_known = t_.training[other] * weight(other);
        const double2 turn = dsp::wide(t_.turn[c * t_.pitch + l]);  // zeros behind the last delay
#pragma unroll
        for (int r = 0; r < kMostAntennas; ++r) {
          if (r >= e_.rx) continue;
          const double2 a = dsp::wide(scaled(white(symbol, c)[r], known));
          const double2 b = dsp::wide(scaled(white(symbol, other)[r], other_known));
          sum[r].x = fma(turn.y, a.y - b.y, fma(turn.x, a.x + b.x, sum[r].x));
          sum[r].y = fma(-turn.y, a.x - b.x, fma(turn.x, a.y + b.y, sum[r].y));
        }
      }
#pragma unroll
      for (int r = 0; r < kMostAntennas; ++r) {
        if (r >= e_.rx) continue;
        for (int step = 1; step < kParts; step *= 2) {
          sum[r].x += __shfl_xor_sync(0xffffffffu, sum[r].x, step);
          sum[r].y += __shfl_xor_sync(0xffffffffu, sum[r].y, step);
        }
        if (part == 0 && l < t_.delays) d_.trained[(t * e_.rx + r) * t_.pitch + l] = sum[r];
      }
    }
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
  __device__ const double2* band() const {
    return s_.weighted ? d_.band : t_.band;
  }

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
    for (int step = 0; step < kDelaySteps; ++step) {
      set_delays(q);
      factor(q, kLeastPivot * e_.tx * band()[0].x, reinterpret_cast<double2*>(panel_));
      // With u = L^-1 e_l, the solution of a side y = L^-1 q at delay l is u^H y, and its variance |u|^2.
      for (int i = own_; i < delays * (sides + 1); i += all_) {
        const int l = i % delays, row = i / delays < sides ? delays + i / delays : q.rows() + l;
        double2 sum{0, 0};
        for (int j = l; j < delays; ++j) {
          const double2* const column = q.column(j);
          add(sum, conj_times(column[row], column[q.rows() + l]));
        }
        d_.delay_g[i] = sum;
      }
      Team::sync();
      for (int l = own_; l < delays; l += all_) {
        double found = 0;
        for (int s = 0; s < sides; ++s) {
          const double2 g = d_.delay_g[s * delays + l];
          found += g.x * g.x + g.y * g.y;
        }
        d_.powers[l] = next_power(d_.powers[l], found / (s_.antennas * e_.tx), d_.delay_g[sides * delays + l].x);
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

  __device__ int order() const {
    return s_.first_of[t_.functions] * e_.tx;
  }
  __device__ Equations equations() const {
    return {d_.equations, padded(order() + e_.rx), order(), e_.rx};
  }
  __device__ Equations factors() const {
    return {d_.factors, padded(order() + e_.rx), order(), e_.rx};
  }
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
    constexpr int kRows = 4;  // that a thread takes at once
    const int numbers = t_.functions * e_.pairs(), pitch = padded(order() + e_.rx);
    for (int i = own_; i < (rows + kRows - 1) / kRows * numbers; i += all_) {
      const int row = i / numbers * kRows, number = i % numbers;
      const int k = number / e_.pairs(), r = number % e_.pairs() / e_.tx, a = number % e_.tx;
      float2 sum[kRows] = {};
      for (int n = 0; n < kept(k); ++n) {
        const float2 g = d_.g[r * pitch + place(k, a, n)];
        const float2* const turns = turn + delay_of(k, n);
#pragma unroll
        for (int m = 0; m < kRows; ++m)
          if (row + m < rows) add(sum[m], dsp::product(turns[(row + m) * t_.pitch], g));
      }
#pragma unroll
      for (int m = 0; m < kRows; ++m)
        if (row + m < rows) parts[(row + m) * numbers + number] = sum[m];
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
    const int symbols = e_.behind();
    const auto weight_of = [&](int c, int s) { return 1 / (1 / weight(c) + power * d_.doubt[c * symbols + s]); };
    for (int i = own_; i < symbols * e_.tx * t_.delays; i += all_) {
      const int l = i % t_.delays, a = i / t_.delays % e_.tx, s = i / t_.delays / e_.tx, pair = s * e_.tx + a;
      const Turns turns{t_.turn + l, t_.pitch, e_.carriers};
      const auto sent = [&](int c) { return d_.sent + std::int64_t{c * symbols + s} * e_.tx; };
      const auto own = [&](int c) { return scaled(sent(c)[a], weight_of(c, s)); };
      correlate_columns(
          turns, e_.rx, [&](int c, int r) { return conj_times(own(c), white(1 + e_.tx + s, c)[r]); },
          d_.piloted + std::int64_t{pair} * e_.rx * t_.pitch + l);
      correlate_columns(
          turns, e_.tx, [&](int c, int b) { return conj_times(own(c), sent(c)[b]); },
          d_.soft_lags + std::int64_t{pair} * e_.tx * t_.pitch + l);
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
