// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/track_design.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

namespace iqd::mimo_channel_estimator {
namespace {

/// A symmetric matrix becomes diagonal by Jacobi rotations; the columns of `vectors` are its eigenvectors.
struct Eigen {
  explicit Eigen(std::size_t size) : n(size), matrix(size * size), vectors(size * size) {
    for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1;
  }
  double& at(std::size_t i, std::size_t j) { return matrix[i * n + j]; }

  void solve() {
    double all = 0;
    for (const double v : matrix) all += v * v;
    for (int turn = 0; turn < 60; ++turn) {
      double off = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) off += at(i, j) * at(i, j);
      if (off <= 1e-30 * all) return;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j) rotate(i, j);
    }
  }
  void rotate(std::size_t p, std::size_t q) {
    if (at(p, q) == 0) return;
    const double theta = (at(q, q) - at(p, p)) / (2 * at(p, q));
    const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double c = 1 / std::sqrt(t * t + 1), s = t * c;
    const auto turn = [c, s](double& a, double& b) {
      const double old = a;
      a = c * a - s * b;
      b = s * old + c * b;
    };
    for (std::size_t k = 0; k < n; ++k) turn(at(k, p), at(k, q));
    for (std::size_t k = 0; k < n; ++k) turn(at(p, k), at(q, k));
    for (std::size_t k = 0; k < n; ++k) turn(vectors[k * n + p], vectors[k * n + q]);
  }

  std::size_t n;
  std::vector<double> matrix, vectors;
};

/// The functions of time that hold every channel that moves with up to `doppler`, the strongest first.
void list_functions(const Config& config, double symbol_seconds, TrackDesign& t) {
  const OfdmFormat& f = config.format;
  std::vector<double> times;  // in symbols
  for (std::int64_t s = 1; s < f.symbols(); ++s) times.push_back(static_cast<double>(s));
  for (std::int64_t s = 1; s < f.tail_symbols(); ++s) times.push_back(f.tail_position(s));
  const std::size_t symbols = times.size();
  Eigen eigen(symbols);
  for (std::size_t i = 0; i < symbols; ++i)
    for (std::size_t j = 0; j < symbols; ++j) {
      const double x = 2 * std::numbers::pi * config.doppler * symbol_seconds * (times[i] - times[j]);
      eigen.at(i, j) = x == 0 ? 1 : std::sin(x) / x;
    }
  eigen.solve();
  std::vector<std::size_t> order(symbols);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return eigen.at(a, a) > eigen.at(b, b); });
  const auto count = static_cast<double>(symbols);
  for (int k = 0; k < t.functions; ++k)
    t.weights.push_back(static_cast<float>(std::max(eigen.at(order[k], order[k]), 0.0) / count));
  for (std::size_t s = 0; s < symbols; ++s)
    for (int k = 0; k < t.functions; ++k)
      t.phi.push_back(static_cast<float>(std::sqrt(count) * eigen.vectors[s * symbols + order[k]]));
  for (std::int64_t d = 0; d < f.data_symbols(); ++d) {
    const auto row = t.phi.begin() + (f.tx + f.comb().data(static_cast<std::int32_t>(d))) * t.functions;
    t.data_phi.insert(t.data_phi.end(), row, row + t.functions);
  }
}

void list_turns(const Config& config, const Design& design, TrackDesign& t) {
  const OfdmFormat& f = config.format;
  for (std::int64_t c = 0; c < f.carriers; ++c)
    for (std::int32_t l = 0; l < t.delay_pitch; ++l) {
      const double turns = static_cast<double>(f.frequency_of(c)) * l * config.step / static_cast<double>(f.fft);
      const bool real = l < t.delays;
      t.turn_re.push_back(real ? static_cast<float>(std::cos(2 * std::numbers::pi * turns)) : 0.0f);
      t.turn_im.push_back(real ? static_cast<float>(-std::sin(2 * std::numbers::pi * turns)) : 0.0f);
    }
  for (const std::int32_t c : design.pilot) {
    const auto from = std::int64_t{c} * t.delay_pitch;
    t.pilot_re.insert(t.pilot_re.end(), t.turn_re.begin() + from, t.turn_re.begin() + from + t.delay_pitch);
    t.pilot_im.insert(t.pilot_im.end(), t.turn_im.begin() + from, t.turn_im.begin() + from + t.delay_pitch);
  }
}

int products_of(int tx) {
  return tx * (tx + 1) / 2;
}

/// to[lag] = sum over `count` rows of weight times turn, for the delays as lags.
template <class T>
void add_turns(const float* turn_re, const float* turn_im, std::int32_t delays, T weight, T* re, T* im) {
  for (std::int32_t l = 0; l < delays; ++l) re[l] += weight * turn_re[l], im[l] += weight * turn_im[l];
}

/// The tables of all pairs from the training and, by add(a, b, s, factor, re, im), each symbol behind it. re and im stand
/// at lag 0.
template <class Add> void combine_lags(const Design& design, int trainings, const LagTables& to, const Add& add) {
  const Extents& e = design.extents;
  const TrackDesign& t = design.joint;
  const std::int64_t delays = t.delays, lags = 2 * delays - 1;
  std::int64_t table = 0;
  for (int j = 0; j < t.functions; ++j)
    for (int k = j; k < t.functions; ++k)
      for (int a = 0; a < e.tx; ++a)
        for (int b = 0; b < e.tx; ++b, ++table) {
          float *const re = to.re + table * lags + delays - 1, *const im = to.im + table * lags + delays - 1;
          const auto both = [&](int s) { return at(t.phi, s * t.functions + j) * at(t.phi, s * t.functions + k); };
          cf32 trained = 0;
          for (int s = 0; s < trainings; ++s)
            trained += both(e.training_time(s)) * std::conj(at(design.cover, a * e.tx + s % e.tx)) *
                       at(design.cover, b * e.tx + s % e.tx);
          const float x = trained.real(), y = trained.imag();
          // Of lag -m: the carriers' sums are conjugate, the factor is not.
          for (std::int64_t m = delays; m-- > 0;) {
            const auto u = static_cast<float>(to.band_re[m]), v = static_cast<float>(to.band_im[m]);
            re[m] = x * u - y * v, im[m] = x * v + y * u;
            re[-m] = x * u + y * v, im[-m] = y * u - x * v;
          }
          for (int s = 0; s < e.behind(); ++s) add(a, b, s, both(e.tx + s), re, im);
        }
}

}  // namespace

std::int64_t delays_of(const Config& config) noexcept {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(config.format.prefix + 1) / config.step));
}

std::int64_t lag_work(const Design& design) noexcept {
  const Extents& e = design.extents;
  return 2 * std::int64_t{e.behind()} * products_of(e.tx) * design.joint.delays;
}

void fill_lags(const Design& design, const float* weights, int trainings, float* work, const LagTables& to) noexcept {
  const Extents& e = design.extents;
  const TrackDesign& t = design.joint;
  const std::int64_t delays = t.delays, products = products_of(e.tx);
  const auto weight = [weights](std::int32_t c) { return weights ? weights[c] : 1.0f; };
  std::fill_n(to.band_re, delays, 0.0);
  std::fill_n(to.band_im, delays, 0.0);
  for (std::int32_t c = 0; c < e.carriers; ++c)
    add_turns(t.turn_re.data() + c * t.delay_pitch, t.turn_im.data() + c * t.delay_pitch, t.delays, double{weight(c)},
              to.band_re, to.band_im);

  // Of pilots and midambles: [symbol behind][antennas b <= a][delay].
  const std::int64_t planes = e.behind() * products * delays;
  float *const pilots_re = work, *const pilots_im = work + planes;
  std::fill_n(work, 2 * planes, 0.0f);
  const Midambles comb = e.comb();
  for (int j = 0; j < comb.count; ++j)
    for (std::int32_t c = 0; c < e.carriers; ++c) {
      const int a = c % e.tx;
      const std::int64_t at = (comb.at(j) * products + a * (a + 1) / 2 + a) * delays;
      add_turns(t.turn_re.data() + c * t.delay_pitch, t.turn_im.data() + c * t.delay_pitch, t.delays,
                weight(c) * static_cast<float>(e.tx), pilots_re + at, pilots_im + at);
    }
  for (int d = 0; d < e.data_symbols(); ++d)
    for (int i = 0; i < e.pilots; ++i) {
      const int s = comb.data(d);
      const float* const signs = design.pilot_signs.data() + (std::int64_t{s} * e.pilots + i) * e.tx;
      const float own = weight(design.pilot[static_cast<std::size_t>(i)]);
      for (int a = 0, pair = 0; a < e.tx; ++a)
        for (int b = 0; b <= a; ++b, ++pair) {
          const std::int64_t at = (s * products + pair) * delays;
          add_turns(t.pilot_re.data() + i * t.delay_pitch, t.pilot_im.data() + i * t.delay_pitch, t.delays,
                    own * signs[a] * signs[b], pilots_re + at, pilots_im + at);
        }
    }

  combine_lags(design, trainings, to, [&](int a, int b, int s, float factor, float* re, float* im) {
    const int pair = a >= b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a;
    const float* const from_re = pilots_re + (s * products + pair) * delays;
    const float* const from_im = pilots_im + (s * products + pair) * delays;
    re[0] += factor * from_re[0];
    for (std::int64_t m = 1; m < delays; ++m) {
      re[m] += factor * from_re[m], im[m] += factor * from_im[m];
      re[-m] += factor * from_re[m], im[-m] -= factor * from_im[m];
    }
  });
}

std::int64_t soft_lags(const Design& design) noexcept {
  const Extents& e = design.extents;
  return std::int64_t{e.behind()} * e.tx * e.tx * design.joint.delay_pitch;
}

void fill_soft_lags(const Design& design, const float* soft_re, const float* soft_im, int trainings,
                    const LagTables& to) noexcept {
  const Extents& e = design.extents;
  const TrackDesign& t = design.joint;
  combine_lags(design, trainings, to, [&](int a, int b, int s, float factor, float* re, float* im) {
    const auto from = [&](int p, int q) { return ((std::int64_t{s} * e.tx + p) * e.tx + q) * t.delay_pitch; };
    const float *const own_re = soft_re + from(a, b), *const own_im = soft_im + from(a, b);
    const float *const other_re = soft_re + from(b, a), *const other_im = soft_im + from(b, a);
    re[0] += factor * own_re[0], im[0] += factor * own_im[0];
    for (std::int64_t m = 1; m < t.delays; ++m) {
      re[m] += factor * other_re[m], im[m] -= factor * other_im[m];
      re[-m] += factor * own_re[m], im[-m] += factor * own_im[m];
    }
  });
}

void design_track(const Config& config, double symbol_seconds, Design& design) {
  constexpr int kLanes = 16;
  const OfdmFormat& f = config.format;
  TrackDesign& t = design.joint;
  t.functions = f.pilots() > 0
                    ? static_cast<std::int32_t>(std::min<std::int64_t>(config.time_functions, design.extents.times()))
                    : 1;
  t.delays = static_cast<std::int32_t>(delays_of(config));
  t.delay_pitch = (t.delays + kLanes - 1) / kLanes * kLanes;
  t.most_taps = static_cast<std::int32_t>(std::min<std::int64_t>(config.max_taps, t.delays));
  t.em = static_cast<std::int32_t>(config.em);
  t.span = static_cast<float>(std::pow(10, -config.span / 10));
  list_functions(config, symbol_seconds, t);
  list_turns(config, design, t);
  t.within = static_cast<float>(config.step / static_cast<double>(f.fft));
  for (auto* table : {&t.lag_re, &t.lag_im}) table->resize(static_cast<std::size_t>(t.lag_count(design.extents)));
  for (auto* table : {&t.band_re, &t.band_im}) table->resize(static_cast<std::size_t>(t.delays));
  std::vector<float> work(static_cast<std::size_t>(lag_work(design)));
  const Extents& e = design.extents;
  fill_lags(design, nullptr, e.tx, work.data(), {t.lag_re.data(), t.lag_im.data(), t.band_re.data(), t.band_im.data()});
  if (!e.tail) return;
  for (auto* table : {&t.tail_re, &t.tail_im}) table->resize(t.lag_re.size());
  fill_lags(design, nullptr, e.trainings(), work.data(),
            {t.tail_re.data(), t.tail_im.data(), t.band_re.data(), t.band_im.data()});
}

}  // namespace iqd::mimo_channel_estimator
