// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/noma_channel_estimator/user_channels.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "signal/estimates/delay_sums.hpp"

namespace iqd::noma_channel_estimator {
namespace {

/// a b, without the library's check for infinities.
cf32 product_of(cf32 a, cf32 b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
double energy_of(cf32 z) noexcept {
  return double{z.real()} * double{z.real()} + double{z.imag()} * double{z.imag()};
}

}  // namespace

UserChannels::UserChannels(const Design& design, Scratch& scratch)
    : design_(design),
      e_(design.extents),
      times_(design),
      functions_(times_.spread > 0 ? 2 : 1),
      width_((std::int64_t{functions_} * e_.pairs() + 15) / 16 * 16),
      white_(scratch.take<cf32>(e_.training * e_.row())),
      values_(scratch.take<cf32>(std::int64_t{e_.carriers} * e_.pairs())),
      sums_re_(scratch.take<float>(std::int64_t{e_.training} * e_.pairs() * e_.delay_pitch)),
      sums_im_(scratch.take<float>(std::int64_t{e_.training} * e_.pairs() * e_.delay_pitch)),
      lags_(scratch.take<cf32>(design.lag_count())),
      turned_(scratch.take<cf32>(std::int64_t{e_.users} * e_.users * e_.lags())),
      turns_(scratch.take<cf32>(std::int64_t{e_.training} * e_.users)),
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
  correlate();
  leave_out(usable);
  for (std::int32_t l = 0; l < e_.delays; ++l) delays_[l] = l;
  const std::int64_t pairs = std::int64_t{e_.users} * e_.delays;
  std::fill_n(powers_, pairs, static_cast<float>(std::max(power_ - 1, 1e-3) / static_cast<double>(pairs)));
  std::fill_n(offsets_, e_.users, 0.0);
  const double turn = 2 * std::numbers::pi * kOffsetHz * times_.spread;
  for (int round = 0; round < e_.rounds && functions_ > 1; ++round) {
    turn_pilots();
    set_equations(2);
    solve(2, turn * turn);
    set_parts(2);
    learn_offsets();
  }
  turn_pilots();
  set_equations(1);
  for (int step = 0; step <= e_.em; ++step) {
    if (step > 0) learn_powers();
    solve(1, 0);
  }
  set_parts(1);
}

/// The pilots, with the noise of each antenna brought to 1.
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
      if (usable[c] != 0) alone += energy_of(frame[std::int64_t{c} * e_.rx + r]), ++empty;
    for (int s = 0; s < e_.training; ++s)
      for (int c = 0; c < e_.carriers; ++c)
        if (is_known(s, c)) all += energy_of(frame[(Extents::kBefore + s) * e_.row() + c * e_.rx + r]);
    const double power = known_ > 0 ? all / known_ : 0;
    const double noise = std::max(empty > 0 ? alone / empty : 0, kLeastNoise * power);
    scale_[r] = noise > kLeastPower * kLeastNoise && power > kLeastPower ? 1 / std::sqrt(noise) : 0;
    antennas_ += scale_[r] > 0;
    power_ += scale_[r] * scale_[r] * power;
    for (int s = 0; s < e_.training; ++s)
      for (int c = 0; c < e_.carriers; ++c) {
        const cf32 y = frame[(Extents::kBefore + s) * e_.row() + c * e_.rx + r];
        white_[s * e_.row() + c * e_.rx + r] = is_known(s, c) ? cf32(static_cast<float>(scale_[r] * double{y.real()}),
                                                                     static_cast<float>(scale_[r] * double{y.imag()}))
                                                              : cf32(0);
      }
  }
  if (antennas_ > 0) power_ /= antennas_;
}

/// Correlates each user's pilots with what was received, at all delays.
void UserChannels::correlate() noexcept {
  for (int s = 0; s < e_.training; ++s) {
    cf32* to = values_;
    for (int c = 0; c < e_.carriers; ++c) {
      const cf32* const sent = design_.sent.data() + (std::int64_t{s} * e_.carriers + c) * e_.users;
      const cf32* const y = white_ + s * e_.row() + c * e_.rx;
      for (int u = 0; u < e_.users; ++u)
        for (int r = 0; r < e_.rx; ++r) *to++ = product_of(std::conj(sent[u]), y[r]);
    }
    const std::int64_t at = std::int64_t{s} * e_.pairs() * e_.delay_pitch;
    correlate_rows(design_.turn_re.data(), design_.turn_im.data(), e_.delay_pitch, e_.carriers, values_, e_.pairs(),
                   sums_re_ + at, sums_im_ + at);
  }
}

/// Takes carriers that are not usable out of the products of pilots.
void UserChannels::leave_out(const std::uint8_t* usable) noexcept {
  used_lags_ = design_.lags.data();
  const std::int64_t each = std::int64_t{e_.users} * e_.users * e_.lags();
  for (int s = 0; s < e_.training; ++s)
    for (int c = 0; c < design_.known[static_cast<std::size_t>(s)]; ++c) {
      if (usable[(Extents::kBefore + s) * e_.carriers + c] != 0) continue;
      if (used_lags_ != lags_) used_lags_ = std::copy_n(used_lags_, design_.lag_count(), lags_) - design_.lag_count();
      const cf32* const sent = design_.sent.data() + (std::int64_t{s} * e_.carriers + c) * e_.users;
      const cf32* const turns = design_.step_turn.data() + std::int64_t{c} * e_.lags();
      cf32* to = lags_ + s * each;
      for (int a = 0; a < e_.users; ++a)
        for (int b = 0; b < e_.users; ++b) {
          const cf32 both = product_of(std::conj(sent[a]), sent[b]);
          for (int lag = 0; lag < e_.lags(); ++lag) *to++ -= product_of(both, turns[lag]);
        }
    }
}

/// How far each user's offset turns it at each pilot symbol.
void UserChannels::turn_pilots() noexcept {
  for (int s = 0; s < e_.training; ++s)
    for (int u = 0; u < e_.users; ++u)
      turns_[s * e_.users + u] = cf32(std::polar(1.0, 2 * std::numbers::pi * offsets_[u] * design_.seconds(s)));
}

/// Without the prior. Unknowns are in the order function, user, delay.
void UserChannels::set_equations(int functions) noexcept {
  const std::int64_t order = unknowns(functions), own = std::int64_t{e_.users} * e_.delays, lags = e_.lags();
  equations_.begin(order, e_.rx);
  for (int k = 0; k < functions; ++k)
    for (int later = k; later < functions; ++later) {
      std::fill_n(turned_, std::int64_t{e_.users} * e_.users * lags, cf32(0));
      for (int s = 0; s < e_.training; ++s)
        for (int a = 0; a < e_.users; ++a)
          for (int b = 0; b < e_.users; ++b) {
            const cf32 factor =
                phi(k, s) * phi(later, s) * product_of(std::conj(turns_[s * e_.users + a]), turns_[s * e_.users + b]);
            const std::int64_t pair = a * e_.users + b;
            const cf32* const from = used_lags_ + (std::int64_t{s} * e_.users * e_.users + pair) * lags;
            for (std::int64_t lag = 0; lag < lags; ++lag) turned_[pair * lags + lag] += product_of(factor, from[lag]);
          }
      for (int a = 0; a < e_.users; ++a)    // of the row
        for (int b = 0; b < e_.users; ++b)  // of the column
          for (int n = 0; n < e_.delays; ++n) {
            const std::int64_t j = k * own + b * e_.delays + n, begin = later * own + a * e_.delays;
            const cf32* const from = turned_ + (a * e_.users + b) * lags + e_.delays - 1 + n;
            float *const re = equations_.re(j) + begin, *const im = equations_.im(j) + begin;
            for (int m = 0; m < e_.delays; ++m) re[m] = from[-m].real(), im[m] = from[-m].imag();
          }
    }
  for (int k = 0; k < functions; ++k)
    for (int u = 0; u < e_.users; ++u)
      for (int r = 0; r < e_.rx; ++r)
        for (int l = 0; l < e_.delays; ++l) {
          cf32 q = 0;
          for (int s = 0; s < e_.training; ++s) {
            const std::int64_t from = ((std::int64_t{s} * e_.users + u) * e_.rx + r) * e_.delay_pitch + l;
            q += phi(k, s) * product_of(std::conj(turns_[s * e_.users + u]), {sums_re_[from], sums_im_[from]});
          }
          const std::int64_t j = k * own + u * e_.delays + l;
          equations_.re(j)[order + r] = q.real(), equations_.im(j)[order + r] = -q.imag();
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
        energy += energy_of(middle[r]);
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
