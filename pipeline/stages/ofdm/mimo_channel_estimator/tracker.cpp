// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/tracker.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "pipeline/stages/complex.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

using dsp::product;

constexpr int kVector = 16;
std::int64_t whole_vectors(std::int64_t floats) {
  return (floats + kVector - 1) / kVector * kVector;
}

}  // namespace

Tracker::Tracker(const Design& design, Scratch& scratch)
    : design_(design),
      t_(design.joint),
      e_(design.extents),
      width_(whole_vectors(std::int64_t{t_.functions} * e_.pairs())),
      mirrored_(scratch.take<MirroredValue>(std::int64_t{e_.carriers} / 2 * e_.trainings() * e_.rx)),
      values_(scratch.take<cf32>(most_values())),
      trained_re_(scratch.take<double>(std::int64_t{e_.trainings()} * e_.rx * t_.delay_pitch)),
      trained_im_(scratch.take<double>(std::int64_t{e_.trainings()} * e_.rx * t_.delay_pitch)),
      piloted_re_(scratch.take<float>(std::int64_t{e_.behind()} * e_.pairs() * t_.delay_pitch)),
      piloted_im_(scratch.take<float>(std::int64_t{e_.behind()} * e_.pairs() * t_.delay_pitch)),
      lags_{scratch.take<float>(t_.lag_count(e_)), scratch.take<float>(t_.lag_count(e_)),
            scratch.take<double>(t_.delays), scratch.take<double>(t_.delays)},
      lag_work_(scratch.take<float>(lag_work(design))),
      soft_re_(scratch.take<float>(design.soft_bits > 0 ? soft_lags(design) : 0)),
      soft_im_(scratch.take<float>(design.soft_bits > 0 ? soft_lags(design) : 0)),
      powers_(scratch.take<float>(t_.delays)),
      delay_factor_(t_.delays, e_.pairs() + t_.delays, scratch),
      delay_g_re_(scratch.take<double>(e_.pairs() * delay_factor_.most_pitch())),
      delay_g_im_(scratch.take<double>(e_.pairs() * delay_factor_.most_pitch())),
      delay_variance_(scratch.take<double>(t_.delays)),
      delay_(scratch.take<std::int32_t>(std::int64_t{t_.functions} * t_.delays)),
      is_used_(scratch.take<std::int32_t>(t_.delays)),
      used_(scratch.take<std::int32_t>(t_.delays)),
      equations_(most_order(), e_.rx, scratch),
      factor_(most_order(), e_.rx, scratch),
      g_re_(scratch.take<float>(e_.rx * factor_.most_pitch())),
      g_im_(scratch.take<float>(e_.rx * factor_.most_pitch())),
      variance_(scratch.take<float>(most_order())),
      wide_re_(scratch.take<float>(t_.delays * width_)),
      wide_im_(scratch.take<float>(t_.delays * width_)),
      sums_(scratch.take<float>(t_.delays)),
      parts_(scratch.take<cf32>(std::int64_t{e_.carriers} * t_.functions * e_.pairs())),
      pilot_parts_(scratch.take<cf32>(std::int64_t{e_.pilots} * t_.functions * e_.pairs())),
      phases_(scratch.take<float>(e_.behind())) {}

std::int64_t Tracker::most_values() const noexcept {
  const int products = design_.soft_bits > 0 ? e_.tx * e_.tx : 0;
  return std::max(std::int64_t{e_.carriers} * (e_.pairs() + products),
                  std::int64_t{e_.pilots} * e_.behind() * e_.pairs());
}
std::int64_t Tracker::most_order() const noexcept {
  return std::min(std::int64_t{t_.functions} * t_.most_taps * e_.tx, kMostUnknowns);
}

void Tracker::estimate(const cf32* frame, const float* weights, int antennas, const SoftSymbols* soft) noexcept {
  knows_data_ = false;
  std::ranges::copy(t_.weights, weights_);
  correlate(frame, weights);
  trainings_ = e_.tx;
  if (e_.tail) judge_tail(frame, weights);
  set_lags(weights);
  learn_delays(power_of(frame, weights, antennas), antennas);
  std::fill_n(phases_, e_.behind(), 0.0f);
  fit(t_.em, antennas);
  if (e_.track_phase && e_.pilots > 0) {
    set_parts(t_.pilot_re.data(), t_.pilot_im.data(), e_.pilots, pilot_parts_);
    measure_phases(frame, weights);
    if (!soft) turn_back();
  }
  if (soft) {
    correlate_soft(frame, weights, *soft);
    fit(kSoftSteps, antennas);
  }
  set_parts(t_.turn_re.data(), t_.turn_im.data(), e_.carriers, parts_);
}

void Tracker::set_lags(const float* weights) noexcept {
  if (weights) fill_lags(design_, weights, trainings_, lag_work_, lags_);
  const bool tail = trainings_ > e_.tx;
  lag_re_ = weights ? lags_.re : tail ? t_.tail_re.data() : t_.lag_re.data();
  lag_im_ = weights ? lags_.im : tail ? t_.tail_im.data() : t_.lag_im.data();
  band_re_ = weights ? lags_.band_re : t_.band_re.data(), band_im_ = weights ? lags_.band_im : t_.band_im.data();
}

/// The mean power of a carrier of an antenna in the training.
double Tracker::power_of(const cf32* frame, const float* weights, int antennas) const noexcept {
  double sum = 0, count = 0;
  for (int c = 0; c < e_.carriers; ++c) {
    double own = 0;
    for (int t = 0; t < e_.tx; ++t)
      for (int r = 0; r < e_.rx; ++r) own += std::norm(std::complex<double>(frame[(1 + t) * e_.row() + c * e_.rx + r]));
    const double weight = weights ? weights[c] : 1;
    sum += weight * own;
    count += weight;
  }
  return antennas > 0 ? sum / (count * antennas * e_.tx) : 0;
}

/// Correlates what is known with what was received, at all delays.
void Tracker::correlate(const cf32* frame, const float* weights) noexcept {
  const auto known = [&](int c) { return at(design_.training, c) * (weights ? weights[c] : 1.0f); };
  const std::int64_t columns = std::int64_t{e_.trainings()} * e_.rx;
  MirroredValue* mirrored = mirrored_;
  for (int c = 0; c < e_.carriers / 2; ++c) {
    const int other = e_.carriers - 1 - c;
    for (int t = 0; t < e_.trainings(); ++t)
      for (int r = 0; r < e_.rx; ++r) {
        const cf32* const y = frame + std::int64_t{e_.training(t)} * e_.row() + r;
        const std::complex<double> a(known(c) * y[c * e_.rx]), b(known(other) * y[other * e_.rx]);
        *mirrored++ = {a + b, a - b};
      }
  }
  correlate_mirrored(t_.turn_re.data(), t_.turn_im.data(), t_.delay_pitch, e_.carriers / 2, mirrored_, columns,
                     trained_re_, trained_im_);
  if (e_.pilots == 0) return;
  cf32* to = values_;
  for (int i = 0; i < e_.pilots; ++i) {
    const int c = design_.pilot[static_cast<std::size_t>(i)];
    for (int s = 0; s < e_.behind(); ++s) {
      const cf32* const y = frame + (1 + e_.tx + s) * e_.row() + c * e_.rx;
      const float* const signs = design_.pilot_signs.data() + (std::int64_t{s} * e_.pilots + i) * e_.tx;
      for (int a = 0; a < e_.tx; ++a)
        for (int r = 0; r < e_.rx; ++r) *to++ = signs[a] * (weights ? weights[c] : 1.0f) * y[r];
    }
  }
  correlate_rows(t_.pilot_re.data(), t_.pilot_im.data(), t_.delay_pitch, e_.pilots, values_,
                 std::int64_t{e_.behind()} * e_.pairs(), piloted_re_, piloted_im_);
  if (e_.midambles > 0) correlate_midambles(frame, weights);
}

/// In a midamble all carriers are known, each of one antenna.
void Tracker::correlate_midambles(const cf32* frame, const float* weights) noexcept {
  for (int j = 0; j < e_.midambles; ++j) {
    const int s = e_.comb().at(j);
    cf32* to = values_;
    for (int c = 0; c < e_.carriers; ++c) {
      const cf32* const y = frame + (1 + e_.tx + s) * e_.row() + c * e_.rx;
      for (int a = 0; a < e_.tx; ++a)
        for (int r = 0; r < e_.rx; ++r) *to++ = design_.comb(j, c, a) * (weights ? weights[c] : 1.0f) * y[r];
    }
    const std::int64_t side = std::int64_t{s} * e_.pairs() * t_.delay_pitch;
    correlate_rows(t_.turn_re.data(), t_.turn_im.data(), t_.delay_pitch, e_.carriers, values_, e_.pairs(),
                   piloted_re_ + side, piloted_im_ + side);
  }
}

/// Whether the training of the next frame is there, and at its time.
void Tracker::judge_tail(const cf32* frame, const float* weights) noexcept {
  double energy = 0;
  for (int t = e_.tx; t < e_.trainings(); ++t)
    for (int c = 0; c < e_.carriers; ++c) {
      const double weight = weights ? weights[c] : 1;
      for (int r = 0; r < e_.rx; ++r)
        energy += weight * weight *
                  std::norm(std::complex<double>(frame[std::int64_t{e_.training(t)} * e_.row() + c * e_.rx + r]));
    }
  TailMetric metric;
  for (std::int64_t l = 0; l < t_.delays; ++l) {
    double own = 0, next = 0;
    for (std::int64_t i = 0; i < e_.pairs(); ++i) {
      const std::int64_t here = i * t_.delay_pitch + l, later = here + std::int64_t{e_.pairs()} * t_.delay_pitch;
      own += std::norm(std::complex<double>(trained_re_[here], trained_im_[here]));
      next += std::norm(std::complex<double>(trained_re_[later], trained_im_[later]));
    }
    metric.add(own, next);
  }
  if (metric.is_there(energy, t_.within)) trainings_ = e_.trainings();
}

/// The same with data as far as it is known. What is not known of it disturbs as much as the channel lets through.
void Tracker::correlate_soft(const cf32* frame, const float* weights, const SoftSymbols& soft) noexcept {
  float delays = 0, functions = 0;
  for (std::int64_t l = 0; l < t_.delays; ++l) delays += powers_[l];
  for (int k = 0; k < t_.functions; ++k) functions += weights_[k];
  const float power = delays * functions;
  const std::int64_t products = std::int64_t{e_.tx} * e_.tx;
  for (int s = 0; s < e_.behind(); ++s) {
    cf32 *sides = values_, *both = values_ + std::int64_t{e_.carriers} * e_.pairs();
    for (int c = 0; c < e_.carriers; ++c) {
      const cf32* const x = soft.mean(c, s);
      const cf32* const y = frame + (1 + e_.tx + s) * e_.row() + c * e_.rx;
      const float weight = 1 / (1 / (weights ? weights[c] : 1.0f) + power * soft.doubt(c, s));
      for (int a = 0; a < e_.tx; ++a) {
        const cf32 own = weight * std::conj(x[a]);
        for (int r = 0; r < e_.rx; ++r) *sides++ = product(own, y[r]);
        for (int b = 0; b < e_.tx; ++b) *both++ = product(own, x[b]);
      }
    }
    const std::int64_t side = std::int64_t{s} * e_.pairs() * t_.delay_pitch, lag = s * products * t_.delay_pitch;
    correlate_rows(t_.turn_re.data(), t_.turn_im.data(), t_.delay_pitch, e_.carriers, values_, e_.pairs(),
                   piloted_re_ + side, piloted_im_ + side);
    correlate_rows(t_.turn_re.data(), t_.turn_im.data(), t_.delay_pitch, e_.carriers,
                   values_ + std::int64_t{e_.carriers} * e_.pairs(), products, soft_re_ + lag, soft_im_ + lag);
  }
  if (!weights)
    std::copy_n(t_.band_re.data(), t_.delays, lags_.band_re), std::copy_n(t_.band_im.data(), t_.delays, lags_.band_im);
  fill_soft_lags(design_, soft_re_, soft_im_, trainings_, lags_);
  lag_re_ = lags_.re, lag_im_ = lags_.im;
  knows_data_ = true;
}

/// The equations of the training alone, as if the channel stood still, for each pair of antennas.
void Tracker::set_delays() noexcept {
  const std::int64_t delays = t_.delays, sides = e_.pairs();
  delay_factor_.begin(delays, sides, true);
  for (std::int64_t j = 0; j < delays; ++j) {
    double *const re = delay_factor_.re(j), *const im = delay_factor_.im(j);
    for (std::int64_t i = j; i < delays; ++i)  // the element is that of lag j - i, the conjugate of i - j
      re[i] = e_.tx * band_re_[i - j], im[i] = -e_.tx * band_im_[i - j];
    re[j] += 1 / double{powers_[j]};
    for (int r = 0; r < e_.rx; ++r)
      for (int a = 0; a < e_.tx; ++a) {
        std::complex<double> q = 0;
        for (int t = 0; t < e_.tx; ++t) {
          const std::int64_t from = (t * e_.rx + r) * t_.delay_pitch + j;
          q += product(std::complex<double>(std::conj(at(design_.cover, a * e_.tx + t))),
                       {trained_re_[from], trained_im_[from]});
        }
        re[delays + r * e_.tx + a] = q.real(), im[delays + r * e_.tx + a] = -q.imag();
      }
  }
}

/// The powers of the delays, from the training alone.
void Tracker::learn_delays(double power, int antennas) noexcept {
  const std::int64_t delays = t_.delays, sides = e_.pairs();
  const double begin = std::max((power - 1) / e_.tx, 1e-3) / static_cast<double>(delays);
  std::fill_n(powers_, delays, static_cast<float>(begin));
  for (int step = 0; step < kDelaySteps && antennas > 0; ++step) {
    set_delays();
    delay_factor_.factor(kLeastPivot * e_.tx * band_re_[0]);
    delay_factor_.substitute(sides, delay_g_re_, delay_g_im_);
    delay_factor_.read_inverse(delay_variance_);
    for (std::int64_t l = 0; l < delays; ++l) {
      double energy = 0;
      for (std::int64_t s = 0; s < sides; ++s) {
        const std::int64_t from = s * delay_factor_.pitch() + l;
        energy += delay_g_re_[from] * delay_g_re_[from] + delay_g_im_[from] * delay_g_im_[from];
      }
      powers_[l] = next_power(powers_[l], energy / (antennas * e_.tx), delay_variance_[l]);
    }
  }
}

/// Which delays and functions of time are worth an unknown.
void Tracker::choose() noexcept {
  const std::int64_t delays = t_.delays;
  const float largest = *std::max_element(powers_, powers_ + delays);
  float least = largest * t_.span;
  std::copy_n(powers_, delays, sums_);
  std::nth_element(sums_, sums_ + t_.most_taps - 1, sums_ + delays, std::greater<>());
  least = std::max(least, sums_[t_.most_taps - 1]);
  const float widest = largest * *std::max_element(weights_, weights_ + t_.functions);
  std::fill_n(is_used_, delays, 0);
  std::int32_t count = 0;
  for (int k = 0; k < t_.functions; ++k) {
    first_of_[k] = count;
    for (std::int32_t l = 0, own = 0; l < delays && own < t_.most_taps && (count + 1) * e_.tx <= kMostUnknowns; ++l)
      if (powers_[l] >= least && prior(k, l) >= widest * kLeastPrior) {
        delay_[count++] = l;
        is_used_[l] = 1;
        ++own;
      }
  }
  first_of_[t_.functions] = count;
}

void Tracker::set_equations() noexcept {
  const std::int64_t order = std::int64_t{first_of_[t_.functions]} * e_.tx, lags = 2 * t_.delays - 1;
  equations_.begin(order, e_.rx);
  for (int k = 0, table = 0; k < t_.functions; ++k)
    for (int later = k; later < t_.functions; ++later, ++table)
      for (int a = 0; a < e_.tx; ++a)                             // of the row
        for (int b = 0; b < (k == later ? a + 1 : e_.tx); ++b) {  // of the column
          const std::int64_t lag = (std::int64_t{table} * e_.tx * e_.tx + a * e_.tx + b) * lags + t_.delays - 1;
          const std::int32_t* const rows = delay_ + first_of_[later];
          const std::int64_t begin = place(later, a, 0);
          const int count = kept(later);
          for (int n = 0; n < kept(k); ++n) {
            const std::int64_t j = place(k, b, n);
            float *const re = equations_.re(j) + begin, *const im = equations_.im(j) + begin;
            const float* const from_re = lag_re_ + lag + delay_[first_of_[k] + n];
            const float* const from_im = lag_im_ + lag + delay_[first_of_[k] + n];
            for (int m = 0; m < count; ++m) re[m] = from_re[-rows[m]], im[m] = from_im[-rows[m]];
          }
        }
}

/// The right sides, with the phases of the symbols behind the training taken away.
void Tracker::set_sides() noexcept {
  const std::int64_t order = equations_.order();
  for (int k = 0; k < t_.functions; ++k)
    for (int a = 0; a < e_.tx; ++a)
      for (int r = 0; r < e_.rx; ++r) {
        cf32 trained[2 * kMostAntennas], factors[kMostSymbols];
        for (int t = 0; t < trainings_; ++t)
          trained[t] =
              at(t_.phi, e_.training_time(t) * t_.functions + k) * std::conj(at(design_.cover, a * e_.tx + t % e_.tx));
        for (int s = 0; s < e_.behind(); ++s)
          factors[s] = at(t_.phi, (e_.tx + s) * t_.functions + k) * cf32(std::cos(phases_[s]), -std::sin(phases_[s]));
        for (int n = 0; n < kept(k); ++n) {
          const std::int64_t l = delay_[first_of_[k] + n];
          cf32 q = 0;
          for (int t = 0; t < trainings_; ++t) {
            const std::int64_t from = (t * e_.rx + r) * t_.delay_pitch + l;
            q += product(trained[t], cf32(std::complex<double>(trained_re_[from], trained_im_[from])));
          }
          for (int s = 0; (e_.pilots > 0 || knows_data_) && s < e_.behind(); ++s) {
            const std::int64_t from = ((s * e_.tx + a) * e_.rx + r) * t_.delay_pitch + l;
            q += product(factors[s], {piloted_re_[from], piloted_im_[from]});
          }
          const std::int64_t j = place(k, a, n);
          equations_.re(j)[order + r] = q.real(), equations_.im(j)[order + r] = -q.imag();
        }
      }
}

void Tracker::solve() noexcept {
  factor_.copy(equations_);
  float largest = 0;
  for (std::int64_t j = 0; j < factor_.order(); ++j) largest = std::max(largest, factor_.re(j)[j]);
  const float load = kLoad * largest;
  for (int k = 0; k < t_.functions; ++k)
    for (int a = 0; a < e_.tx; ++a)
      for (int n = 0; n < kept(k); ++n) {
        const std::int64_t j = place(k, a, n);
        const float precision = 1 / prior(k, delay_[first_of_[k] + n]);
        variance_[j] = 1 / (equations_.re(j)[j] + precision);
        factor_.re(j)[j] += load + precision;
      }
  factor_.factor(load);
  factor_.substitute(e_.rx, g_re_, g_im_);
}

/// Expectation maximisation: the powers of functions and delays, from the solution.
void Tracker::learn_powers(int antennas) noexcept {
  const auto energy = [&](int k, int n) {
    float sum = 0;
    for (int a = 0; a < e_.tx; ++a) {
      const std::int64_t j = place(k, a, n);
      float own = 0;
      for (int r = 0; r < e_.rx; ++r) {
        const float re = g_re_[r * factor_.pitch() + j], im = g_im_[r * factor_.pitch() + j];
        own += re * re + im * im;
      }
      sum += own / static_cast<float>(antennas) + variance_[j];
    }
    return sum / static_cast<float>(e_.tx);
  };
  for (int k = 0; k < t_.functions; ++k) {
    float sum = 0;
    for (int n = 0; n < kept(k); ++n) sum += energy(k, n) / powers_[delay_[first_of_[k] + n]];
    if (kept(k) > 0) weights_[k] = sum / static_cast<float>(kept(k));
  }
  std::fill_n(sums_, t_.delays, 0.0f);
  std::fill_n(is_used_, t_.delays, 0);
  for (int k = 0; k < t_.functions; ++k)
    for (int n = 0; n < kept(k); ++n) {
      const std::int32_t l = delay_[first_of_[k] + n];
      sums_[l] += energy(k, n) / weights_[k];
      ++is_used_[l];
    }
  for (std::int32_t l = 0; l < t_.delays; ++l)
    if (is_used_[l] > 0) powers_[l] = sums_[l] / static_cast<float>(is_used_[l]);
}

void Tracker::fit(int steps, int antennas) noexcept {
  choose();
  set_equations();
  set_sides();
  solve();
  for (int step = 0; step < steps && antennas > 0; ++step) {
    learn_powers(antennas);
    solve();
  }
}

/// The solution without the phases, which only the right sides know.
void Tracker::turn_back() noexcept {
  set_sides();
  factor_.substitute(equations_, e_.rx, g_re_, g_im_);
}

/// The parts of the channel at some carriers.
void Tracker::set_parts(const float* turn_re, const float* turn_im, std::int64_t rows, cf32* parts) noexcept {
  const std::int64_t numbers = std::int64_t{t_.functions} * e_.pairs();
  std::int64_t used = 0;
  for (std::int32_t l = 0; l < t_.delays; ++l)
    if (is_used_[l] > 0) {
      std::fill_n(wide_re_ + l * width_, width_, 0.0f);
      std::fill_n(wide_im_ + l * width_, width_, 0.0f);
    }
  for (int k = 0; k < t_.functions; ++k)
    for (int n = 0; n < kept(k); ++n) {
      const std::int64_t to = delay_[first_of_[k] + n] * width_ + std::int64_t{k} * e_.pairs();
      for (int r = 0; r < e_.rx; ++r)
        for (int a = 0; a < e_.tx; ++a) {
          wide_re_[to + r * e_.tx + a] = g_re_[r * factor_.pitch() + place(k, a, n)];
          wide_im_[to + r * e_.tx + a] = g_im_[r * factor_.pitch() + place(k, a, n)];
        }
    }
  for (std::int32_t l = 0; l < t_.delays; ++l)
    if (is_used_[l] > 0) used_[used++] = l;
  combine_delays(turn_re, turn_im, t_.delay_pitch, rows, wide_re_, wide_im_, width_, used_, used, parts, numbers);
}

/// The common phase of each symbol behind the training, by its pilots.
void Tracker::measure_phases(const cf32* frame, const float* weights) noexcept {
  for (int s = 0; s < e_.behind(); ++s) {
    double sum_re = 0, sum_im = 0;
    const float* const phi = t_.phi.data() + (e_.tx + s) * t_.functions;
    for (int i = 0; i < e_.pilots; ++i) {
      const int c = design_.pilot[static_cast<std::size_t>(i)];
      const float* const signs = design_.pilot_signs.data() + (std::int64_t{s} * e_.pilots + i) * e_.tx;
      const cf32* const y = frame + (1 + e_.tx + s) * e_.row() + c * e_.rx;
      for (int r = 0; r < e_.rx; ++r) {
        cf32 expected = 0;
        for (int k = 0; k < t_.functions; ++k) {
          const cf32* const part = pilot_parts_ + ((std::int64_t{i} * t_.functions + k) * e_.rx + r) * e_.tx;
          for (int a = 0; a < e_.tx; ++a) expected += phi[k] * signs[a] * part[a];
        }
        const cf32 both = product(std::conj(expected), y[r]);
        const double weight = weights ? weights[c] : 1;
        sum_re += weight * both.real(), sum_im += weight * both.imag();
      }
    }
    phases_[s] = static_cast<float>(std::atan2(sum_im, sum_re));
  }
}

float Tracker::unknown(int s) const noexcept {
  const float* const phi = t_.phi.data() + (e_.tx + s) * t_.functions;
  float all = 0;
  for (int k = 0; k < t_.functions; ++k) {
    float sum = 0;
    for (std::int64_t j = place(k, 0, 0); j < place(k, 0, 0) + std::int64_t{kept(k)} * e_.tx; ++j) sum += variance_[j];
    // Pairs that have no unknown count with their prior.
    int n = 0;
    for (std::int32_t l = 0; l < t_.delays; ++l)
      if (n < kept(k) && delay_[first_of_[k] + n] == l)
        ++n;
      else
        sum += static_cast<float>(e_.tx) * prior(k, l);
    all += phi[k] * phi[k] * sum;
  }
  return all;
}

float Tracker::doppler() const noexcept {
  float all = 0;
  for (int k = 0; k < t_.functions; ++k) all += weights_[k];
  return all > 0 ? std::sqrt(std::max(0.0f, (all - weights_[0]) / all)) : 0;
}

}  // namespace iqd::mimo_channel_estimator
