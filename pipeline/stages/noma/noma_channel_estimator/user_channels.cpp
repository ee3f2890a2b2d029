// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/noma_channel_estimator/user_channels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/complex.hpp"
#include "signal/estimates/delay_sums.hpp"

namespace iqd::noma_channel_estimator {

UserChannels::UserChannels(const Design& design, Scratch& scratch)
    : design_(design),
      e_(design.extents),
      times_(design),
      functions_(times_.spread > 0 ? 2 : 1),
      width_((std::int64_t{functions_} * e_.pairs() + 15) / 16 * 16),
      white_(scratch.take<cf32>(e_.received() * e_.row())),
      sent_(scratch.take<cf32>(std::int64_t{e_.received()} * e_.carriers * e_.users)),
      weights_(scratch.take<float>(std::int64_t{e_.received()} * e_.carriers)),
      values_(scratch.take<cf32>(std::int64_t{e_.carriers} * e_.pairs())),
      sums_re_(scratch.take<float>(std::int64_t{e_.pairs()} * e_.delay_pitch)),
      sums_im_(scratch.take<float>(std::int64_t{e_.pairs()} * e_.delay_pitch)),
      products_(scratch.take<cf32>(std::int64_t{e_.users} * e_.users * e_.carriers)),
      lags_(scratch.take<cf32>(std::int64_t{e_.users} * e_.users * e_.lags())),
      equations_(unknowns(functions_), e_.rx, scratch),
      factor_(unknowns(functions_), e_.rx, scratch),
      g_re_(scratch.take<float>(e_.rx * factor_.most_pitch())),
      g_im_(scratch.take<float>(e_.rx * factor_.most_pitch())),
      variance_(scratch.take<float>(unknowns(functions_))),
      wide_re_(scratch.take<float>(e_.delays * width_)),
      wide_im_(scratch.take<float>(e_.delays * width_)),
      delays_(scratch.take<std::int32_t>(e_.delays)),
      powers_(scratch.take<float>(std::int64_t{e_.users} * e_.delays)),
      parts_(scratch.take<cf32>(std::int64_t{e_.carriers} * functions_ * e_.pairs())),
      offsets_(scratch.take<double>(e_.users)),
      scale_(scratch.take<double>(e_.rx)) {}

void UserChannels::estimate(const cf32* frame, const std::uint8_t* usable) noexcept {
  whiten(frame, usable);
  for (std::int32_t l = 0; l < e_.delays; ++l) delays_[l] = l;
  const std::int64_t pairs = std::int64_t{e_.users} * e_.delays;
  std::fill_n(powers_, pairs, static_cast<float>(std::max(power_ - 1, 1e-3) / static_cast<double>(pairs)));
  std::fill_n(offsets_, e_.users, 0.0);
  const double turn = 2 * std::numbers::pi * kOffsetHz * times_.spread;
  for (int round = 0; round < e_.rounds && functions_ > 1; ++round) {
    turn_pilots();
    set_equations(2, e_.training);
    solve(2, turn * turn);
    set_parts(2);
    learn_offsets();
  }
  turn_pilots();
  fit(e_.training);
}

void UserChannels::refine(const cf32* points, const float* unsure, const double* phases) noexcept {
  for (int s = 0; s < e_.data_symbols(); ++s)
    for (int u = 0; u < e_.users; ++u) {
      float power = 0;
      for (int l = 0; l < e_.delays; ++l) power += powers_[u * e_.delays + l];
      const double turns = offsets_[u] * design_.seconds(e_.training + s);
      const double radians = 2 * std::numbers::pi * turns + phases[u * e_.data_symbols() + s];
      const auto turn = cf32(std::polar(1.0, radians));
      for (int c = 0; c < e_.carriers; ++c) {
        const std::int64_t from = vector(s, c), to = vector(e_.training + s, c);
        sent_[to * e_.users + u] = dsp::product(turn, points[from * e_.users + u]);
        // Until the last user it is the noise of all.
        float& weight = weights_[to];
        if (u == 0) weight = weight > 0 ? 1.0f : 0.0f;
        if (weight > 0) weight += power * unsure[from * e_.users + u];
        if (u == e_.users - 1 && weight > 0) weight = 1 / weight;
      }
    }
  fit(e_.received());
}

/// With one function of time: the powers are learned.
void UserChannels::fit(int symbols) noexcept {
  set_equations(1, symbols);
  for (int step = 0; step <= e_.em; ++step) {
    if (step > 0) learn_powers();
    solve(1, 0);
  }
  set_parts(1);
}

/// All symbols from the pilots on, with the noise of each antenna brought to 1. The pilots are known.
void UserChannels::whiten(const cf32* frame, const std::uint8_t* usable) noexcept {
  known_ = 0;
  antennas_ = 0;
  power_ = 0;
  const auto is_known = [&](int s, int c) {
    return c < design_.known[static_cast<std::size_t>(s)] && usable[(Extents::kBefore + s) * e_.carriers + c] != 0;
  };
  for (int s = 0; s < e_.training; ++s)
    for (int c = 0; c < e_.carriers; ++c) known_ += is_known(s, c);
  for (int r = 0; r < e_.rx; ++r) {
    double alone = 0, all = 0;
    int empty = 0;
    for (const std::int32_t c : design_.odd)
      if (usable[c] != 0) alone += dsp::energy(frame[std::int64_t{c} * e_.rx + r]), ++empty;
    for (int s = 0; s < e_.training; ++s)
      for (int c = 0; c < e_.carriers; ++c)
        if (is_known(s, c)) all += dsp::energy(frame[(Extents::kBefore + s) * e_.row() + c * e_.rx + r]);
    const double power = known_ > 0 ? all / known_ : 0;
    const double noise = std::max(empty > 0 ? alone / empty : 0, kLeastNoise * power);
    scale_[r] = noise > kLeastPower * kLeastNoise && power > kLeastPower ? 1 / std::sqrt(noise) : 0;
    antennas_ += scale_[r] > 0;
    power_ += scale_[r] * scale_[r] * power;
    for (int s = 0; s < e_.received(); ++s)
      for (int c = 0; c < e_.carriers; ++c) {
        const cf32 y = frame[(Extents::kBefore + s) * e_.row() + c * e_.rx + r];
        const bool finite = usable[(Extents::kBefore + s) * e_.carriers + c] != 0;
        weights_[vector(s, c)] = s < e_.training ? is_known(s, c) : finite;
        white_[vector(s, c) * e_.rx + r] = finite ? cf32(static_cast<float>(scale_[r] * double{y.real()}),
                                                         static_cast<float>(scale_[r] * double{y.imag()}))
                                                  : cf32(0);
      }
  }
  if (antennas_ > 0) power_ /= antennas_;
}

/// The pilots, as far as each user's offset turns them.
void UserChannels::turn_pilots() noexcept {
  for (int s = 0; s < e_.training; ++s)
    for (int u = 0; u < e_.users; ++u) {
      const auto turn = cf32(std::polar(1.0, 2 * std::numbers::pi * offsets_[u] * design_.seconds(s)));
      for (int c = 0; c < e_.carriers; ++c) {
        const std::int64_t at = vector(s, c) * e_.users + u;
        sent_[at] = dsp::product(turn, design_.sent[static_cast<std::size_t>(at)]);
      }
    }
}

/// From the first `symbols`, without the prior. Unknowns are in the order function, user, delay.
void UserChannels::set_equations(int functions, int symbols) noexcept {
  const std::int64_t order = unknowns(functions), own = std::int64_t{e_.users} * e_.delays, lags = e_.lags();
  equations_.begin(order, e_.rx);
  for (int k = 0; k < functions; ++k) {
    set_sides(k, order, symbols);
    for (int later = k; later < functions; ++later) {
      set_products(k, later, symbols);
      for (int a = 0; a < e_.users; ++a)    // of the row
        for (int b = 0; b < e_.users; ++b)  // of the column
          for (int n = 0; n < e_.delays; ++n) {
            const std::int64_t j = k * own + b * e_.delays + n, begin = later * own + a * e_.delays;
            const cf32* const from = lags_ + (a * e_.users + b) * lags + e_.delays - 1 + n;
            float *const re = equations_.re(j) + begin, *const im = equations_.im(j) + begin;
            for (int m = 0; m < e_.delays; ++m) re[m] = from[-m].real(), im[m] = from[-m].imag();
          }
    }
  }
}

/// lags[a][b][lag] = sum over symbols and carriers of weight phi phi conj(a's) b's exp(-2 pi j f lag step / fft)
void UserChannels::set_products(int k, int later, int symbols) noexcept {
  const std::int64_t pairs = std::int64_t{e_.users} * e_.users, lags = e_.lags();
  std::fill_n(products_, pairs * e_.carriers, cf32(0));
  std::fill_n(lags_, pairs * lags, cf32(0));
  for (int s = 0; s < symbols; ++s)
    for (int c = 0; c < e_.carriers; ++c) {
      const float weight = weights_[vector(s, c)] * phi(k, s) * phi(later, s);
      const cf32* const sent = sent_ + vector(s, c) * e_.users;
      for (int a = 0; a < e_.users; ++a) {
        const cf32 left = weight * std::conj(sent[a]);
        for (int b = 0; b < e_.users; ++b)
          products_[(a * e_.users + b) * std::int64_t{e_.carriers} + c] += dsp::product(left, sent[b]);
      }
    }
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    for (int c = 0; c < e_.carriers; ++c) {
      const cf32* const turns = design_.step_turn.data() + c * lags;
      const cf32 both = products_[pair * e_.carriers + c];
      for (std::int64_t lag = 0; lag < lags; ++lag) lags_[pair * lags + lag] += dsp::product(both, turns[lag]);
    }
}

/// Correlates what each user sent with what was received, at all delays.
void UserChannels::set_sides(int k, std::int64_t order, int symbols) noexcept {
  std::fill_n(values_, std::int64_t{e_.carriers} * e_.pairs(), cf32(0));
  for (int s = 0; s < symbols; ++s)
    for (int c = 0; c < e_.carriers; ++c) {
      const float weight = weights_[vector(s, c)] * phi(k, s);
      const cf32* const y = white_ + vector(s, c) * e_.rx;
      for (int u = 0; u < e_.users; ++u) {
        const cf32 left = weight * std::conj(sent_[vector(s, c) * e_.users + u]);
        cf32* const to = values_ + std::int64_t{c} * e_.pairs() + u * e_.rx;
        for (int r = 0; r < e_.rx; ++r) to[r] += dsp::product(left, y[r]);
      }
    }
  correlate_rows(design_.turn_re.data(), design_.turn_im.data(), e_.delay_pitch, e_.carriers, values_, e_.pairs(),
                 sums_re_, sums_im_);
  for (int u = 0; u < e_.users; ++u)
    for (int r = 0; r < e_.rx; ++r)
      for (int l = 0; l < e_.delays; ++l) {
        const std::int64_t from = (std::int64_t{u} * e_.rx + r) * e_.delay_pitch + l;
        const std::int64_t j = (std::int64_t{k} * e_.users + u) * e_.delays + l;
        equations_.re(j)[order + r] = sums_re_[from], equations_.im(j)[order + r] = -sums_im_[from];
      }
}

void UserChannels::solve(int functions, double slope_prior) noexcept {
  factor_.copy(equations_);
  const std::int64_t own = std::int64_t{e_.users} * e_.delays;
  float largest = 0;
  for (std::int64_t j = 0; j < factor_.order(); ++j) largest = std::max(largest, factor_.re(j)[j]);
  const float load = kLoad * largest;
  for (int k = 0; k < functions; ++k)
    for (std::int64_t i = 0; i < own; ++i) {
      const std::int64_t j = k * own + i;
      const float precision = 1 / ((k == 0 ? 1.0f : static_cast<float>(slope_prior)) * powers_[i]);
      variance_[j] = 1 / (equations_.re(j)[j] + precision);
      factor_.re(j)[j] += load + precision;
    }
  factor_.factor(load);
  factor_.substitute(e_.rx, g_re_, g_im_);
}

/// From the slope of each user's channel over the pilot symbols.
void UserChannels::learn_offsets() noexcept {
  for (int u = 0; u < e_.users; ++u) {
    double slope = 0, energy = 0;
    for (int c = 0; c < e_.carriers; ++c) {
      const cf32* const middle = parts_ + std::int64_t{c} * 2 * e_.pairs() + u * e_.rx;
      for (int r = 0; r < e_.rx; ++r) {
        const cf32 moves = middle[e_.pairs() + r];
        slope += double{middle[r].real()} * moves.imag() - double{middle[r].imag()} * moves.real();
        energy += dsp::energy(middle[r]);
      }
    }
    if (energy > 0) offsets_[u] += slope / energy / (2 * std::numbers::pi * times_.spread);
  }
}

/// Expectation maximisation: the power of each user and delay, from the solution.
void UserChannels::learn_powers() noexcept {
  const std::int64_t own = std::int64_t{e_.users} * e_.delays;
  for (std::int64_t i = 0; i < own && antennas_ > 0; ++i) {
    float sum = 0;
    for (int r = 0; r < e_.rx; ++r) {
      const float re = g_re_[r * factor_.pitch() + i], im = g_im_[r * factor_.pitch() + i];
      sum += re * re + im * im;
    }
    powers_[i] = sum / static_cast<float>(antennas_) + variance_[i];
  }
}

/// The parts of the channels at all carriers.
void UserChannels::set_parts(int functions) noexcept {
  const std::int64_t own = std::int64_t{e_.users} * e_.delays, numbers = std::int64_t{functions} * e_.pairs();
  for (int l = 0; l < e_.delays; ++l) {
    std::fill_n(wide_re_ + l * width_, width_, 0.0f);
    std::fill_n(wide_im_ + l * width_, width_, 0.0f);
    for (int k = 0; k < functions; ++k)
      for (int u = 0; u < e_.users; ++u)
        for (int r = 0; r < e_.rx; ++r) {
          const std::int64_t from = r * factor_.pitch() + k * own + u * e_.delays + l;
          const std::int64_t to = l * width_ + std::int64_t{k} * e_.pairs() + u * e_.rx + r;
          wide_re_[to] = g_re_[from], wide_im_[to] = g_im_[from];
        }
  }
  combine_delays(design_.turn_re.data(), design_.turn_im.data(), e_.delay_pitch, e_.carriers, wide_re_, wide_im_,
                 width_, delays_, e_.delays, parts_, numbers);
}

double UserChannels::unknown() const noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < std::int64_t{e_.users} * e_.delays; ++i) sum += double{variance_[i]};
  return sum;
}

double UserChannels::delay(int user) const noexcept {
  double sum = 0, first = 0;
  for (int l = 0; l < e_.delays; ++l) {
    const double power = powers_[user * e_.delays + l];
    sum += power;
    first += power * (l - 2) * design_.step;
  }
  return first / sum - design_.early;
}

}  // namespace iqd::noma_channel_estimator
