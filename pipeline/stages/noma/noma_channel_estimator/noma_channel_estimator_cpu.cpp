// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/complex.hpp"
#include "pipeline/stages/noma/multiuser/decide.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/phase_line.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/user_channels.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/user_filters.hpp"

namespace iqd::noma_channel_estimator {
namespace {

/// Receives one frame.
class UserReceiver {
 public:
  UserReceiver(const Design& design, Scratch& scratch)
      : design_(design),
        e_(design.extents),
        channels_(design, scratch),
        filters_(design, scratch),
        usable_(scratch.take<std::uint8_t>(std::int64_t{e_.symbols} * e_.carriers)),
        points_(scratch.take<cf32>(e_.data)),
        phases_(scratch.take<double>(std::int64_t{e_.users} * e_.data_symbols())),
        expected_(scratch.take<cf32>(e_.words > 0 ? std::int64_t{e_.slots()} * e_.users : 0)),
        unsure_(scratch.take<float>(e_.words > 0 ? std::int64_t{e_.slots()} * e_.users : 0)),
        left_(scratch.take<double>(e_.users)) {}

  /// Returns how many vectors were erased. `soft`: [word][n], or null.
  std::int64_t run(const cf32* frame, const float* soft, const Outputs& out) noexcept {
    check(frame);
    channels_.estimate(frame, usable_);
    filters_.design_for(channels_);
    for (int u = 0; u < e_.users; ++u) {
      filter_user(frame, u);
      follow_user(u);
      if (soft == nullptr) write_user(u, excess_of(u), out);
    }
    if (soft != nullptr) run_again(frame, soft, out);
    if (out.h) write_channel(out.h);
    std::int64_t erased = 0;
    for (int t = 0; t < e_.data; ++t) erased += !is_usable(t);
    return erased;
  }

 private:
  bool is_usable(int t) const noexcept {
    return usable_[std::int64_t{Extents::kBefore + e_.training} * e_.carriers + t] != 0;
  }

  void check(const cf32* frame) noexcept {
    for (std::int64_t i = 0; i < std::int64_t{e_.symbols} * e_.carriers; ++i)
      usable_[i] = std::all_of(frame + i * e_.rx, frame + (i + 1) * e_.rx,
                               [](cf32 y) { return std::isfinite(y.real()) && std::isfinite(y.imag()); });
  }

  /// With what the decoder knows of all users.
  void run_again(const cf32* frame, const float* soft, const Outputs& out) noexcept {
    for (int u = 0; u < e_.users; ++u) expect_user(u, soft);
    channels_.refine(expected_, unsure_, phases_);
    filters_.design_for(channels_, left_);
    for (int u = 0; u < e_.users; ++u) {
      filter_user(frame, u, true);
      leave_others_out(u);
      write_user(u, excess_of(u), out);
    }
  }

  /// What the user sent, as far as its words tell.
  void expect_user(int u, const float* soft) noexcept {
    const SymbolMap map = design_.maps[static_cast<std::size_t>(u)];
    const WordsOfUser own = design_.soft[static_cast<std::size_t>(u)];
    const int bits = bits_of(map), coded = own.words * e_.n;
    double sum = 0;
    for (int d = 0; d < e_.slots(); ++d) {
      const std::int64_t at = std::int64_t{d} * e_.users + u;
      if (d >= e_.data) {
        expected_[at] = design_.unused[static_cast<std::size_t>(std::int64_t{d - e_.data} * e_.users + u)];
        unsure_[at] = 0;
        continue;
      }
      float llr[8] = {};
      for (int b = 0; b < bits; ++b) {
        const int e = d * bits + b;
        llr[b] = e < coded ? soft[std::int64_t{own.first + e % own.words} * e_.n + e / own.words]
                           : design_.filler[static_cast<std::size_t>(own.filler + e - coded)];
      }
      const SoftPoint point = soften(map, llr);
      expected_[at] = {point.re, point.im};
      unsure_[at] = point.variance;
      sum += double{point.variance};
    }
    left_[u] = std::max(sum / e_.data, kLeastLeft);
  }

  /// Takes what is expected of the others out of the user's symbols.
  void leave_others_out(int u) noexcept {
    for (int s = 0; s < e_.used_symbols(); ++s)
      for (int v = 0; v < e_.users; ++v) {
        if (v == u) continue;
        const double turns = (channels_.offset_hz(v) - channels_.offset_hz(u)) * design_.seconds(e_.training + s);
        const double radians = 2 * std::numbers::pi * turns + phase(v, s) - phase(u, s);
        const auto turn = cf32(std::polar(1.0, radians));
        for (int c = 0; c < e_.points(s); ++c) {
          const int t = s * e_.carriers + c;
          if (!is_usable(t)) continue;
          const cf32 other = dsp::product(filters_.through(c, u)[v], expected_[std::int64_t{t} * e_.users + v]);
          points_[t] -= dsp::product(other, turn);
        }
      }
  }
  double& phase(int u, int s) const noexcept { return phases_[std::int64_t{u} * e_.data_symbols() + s]; }

  /// The user's symbols, without the turns of its offset and, if `followed`, of its phase; 0 where it is not heard.
  void filter_user(const cf32* frame, int u, bool followed = false) noexcept {
    const cf32* const data = frame + (Extents::kBefore + e_.training) * e_.row();
    for (int s = 0; s < e_.used_symbols(); ++s) {
      const double turns = channels_.offset_hz(u) * design_.seconds(e_.training + s);
      const double radians = 2 * std::numbers::pi * (turns - std::rint(turns)) + (followed ? phase(u, s) : 0);
      const auto turn = cf32(std::polar(1.0, -radians));
      for (int c = 0; c < e_.points(s); ++c) {
        const int t = s * e_.carriers + c;
        const cf32* const y = data + s * e_.row() + c * e_.rx;
        const cf32* const w = filters_.filter(c, u);
        float re = 0, im = 0;
        for (int r = 0; r < e_.rx && is_usable(t); ++r) {
          re += w[r].real() * y[r].real() + w[r].imag() * y[r].imag();
          im += w[r].real() * y[r].imag() - w[r].imag() * y[r].real();
        }
        points_[t] = dsp::product({re, im}, turn);
      }
    }
  }

  /// Follows the user's phase by its decisions, and takes it away.
  void follow_user(int u) noexcept {
    const Slicer nearest(design_.maps[static_cast<std::size_t>(u)]);
    PhaseLine line;
    for (int s = 0; s < e_.data_symbols(); ++s) {
      line.advance();
      cf32* const z = points_ + s * e_.carriers;
      const int points = std::max(e_.points(s), 0);
      turn_by(z, points, -line.phase);
      double sum_re = 0, sum_im = 0;
      for (int c = 0; c < points; ++c) {
        const float worth = worth_of(s, c, u);
        const auto p = nearest(z[c].real(), z[c].imag());
        sum_re += double{worth} * (double{z[c].real()} * p.re + double{z[c].imag()} * p.im);
        sum_im += double{worth} * (double{z[c].imag()} * p.re - double{z[c].real()} * p.im);
      }
      turn_by(z, points, -line.correct(std::atan2(sum_im, sum_re), e_.training + s));
      phase(u, s) = line.phase;
    }
  }
  /// By how much the user's symbols are noisier than its filters say.
  float excess_of(int u) const noexcept {
    const Slicer nearest(design_.maps[static_cast<std::size_t>(u)]);
    double far = 0;
    int heard = 0;
    for (int t = 0; t < e_.data; ++t) {
      const float worth = worth_of(t / e_.carriers, t % e_.carriers, u);
      const auto p = nearest(points_[t].real(), points_[t].imag());
      const float re = points_[t].real() - p.re, im = points_[t].imag() - p.im;
      far += double{worth} * double{re * re + im * im};
      heard += worth > 0;
    }
    return heard > 0 ? static_cast<float>(std::clamp(far / heard, 1.0, kMostExcess)) : 1.0f;
  }
  static void turn_by(cf32* z, int count, double radians) noexcept {
    const auto re = static_cast<float>(std::cos(radians)), im = static_cast<float>(std::sin(radians));
    for (int c = 0; c < count; ++c) z[c] = dsp::product(z[c], {re, im});
  }
  /// One over the noise; 0 where the user is not heard.
  float worth_of(int s, int c, int u) const noexcept {
    const float noise = filters_.noise(c, u);
    return noise > 0 && is_usable(s * e_.carriers + c) ? 1 / noise : 0;
  }

  void write_user(int u, float excess, const Outputs& out) noexcept {
    const SymbolMap map = design_.maps[static_cast<std::size_t>(u)];
    const std::int64_t first = std::int64_t{u} * e_.data;
    for (int t = 0; t < e_.data; ++t) {
      const float noise = filters_.noise(t % e_.carriers, u);
      const bool heard = noise > 0 && is_usable(t);
      if (out.symbols) out.symbols[first + t] = heard ? points_[t] : cf32(0);
      float llr[8] = {};
      if (heard)
        noma::Decider(map, noise * excess)(points_[t].real(), points_[t].imag(),
                                           [&](int b, float own) { llr[b] = own; });
      for (int b = 0; b < e_.bits; ++b) {
        const std::int64_t at = (first + t) * e_.bits + b;
        if (out.llr) out.llr[at] = llr[b];
        if (out.bits) out.bits[at] = llr[b] < 0;
      }
    }
    if (out.modulation) out.modulation[u] = static_cast<std::uint8_t>(bits_of(map));
    if (!out.model) return;
    double sum = 0;
    int heard = 0;
    for (int c = 0; c < e_.carriers; ++c) {
      sum += double{filters_.noise(c, u)};
      heard += filters_.noise(c, u) > 0;
    }
    float* const to = out.model + u * std::ssize(kModelValues);
    to[0] = heard > 0 ? static_cast<float>(sum / heard) * excess : 0;
    to[1] = static_cast<float>(channels_.offset_hz(u));
    to[2] = static_cast<float>(channels_.delay(u));
  }

  void write_channel(cf32* to) const noexcept {
    for (int c = 0; c < e_.carriers; ++c)
      for (int r = 0; r < e_.rx; ++r)
        for (int u = 0; u < e_.users; ++u) {
          const cf32 h = channels_.channel()[std::int64_t{c} * e_.pairs() + u * e_.rx + r];
          const double scale = channels_.scale(r);
          *to++ = scale > 0 ? cf32(std::complex<double>(h) / scale) : cf32(0);
        }
  }

  const Design& design_;
  const Extents e_;
  UserChannels channels_;
  UserFilters filters_;
  std::uint8_t* usable_;  // [symbol][carrier]
  cf32* points_;          // [t], of a user
  double* phases_;        // [user][data symbol]
  cf32* expected_;        // [data slot][user]
  float* unsure_;         // the same: their variance
  double* left_;          // [user]
};

}  // namespace

std::size_t scratch_bytes(const Design& design) {
  Scratch count(nullptr);
  UserReceiver(design, count);
  return count.bytes();
}

std::int64_t run_cpu(const Design& design, const cf32* carriers, const float* soft, std::int64_t frames,
                     const Outputs& out, std::byte* memory) noexcept {
  Scratch scratch(memory);
  UserReceiver receiver(design, scratch);
  const Extents& e = design.extents;
  const std::int64_t points = std::int64_t{e.users} * e.data;
  const auto moved = [](auto* port, std::int64_t by) { return port ? port + by : nullptr; };
  std::int64_t erased = 0;
  for (std::int64_t f = 0; f < frames; ++f)
    erased += receiver.run(carriers + f * e.frame(), moved(soft, f * e.words * e.n),
                           {.symbols = moved(out.symbols, f * points),
                            .llr = moved(out.llr, f * points * e.bits),
                            .bits = moved(out.bits, f * points * e.bits),
                            .model = moved(out.model, f * e.users * std::ssize(kModelValues)),
                            .h = moved(out.h, f * e.carriers * e.pairs()),
                            .modulation = moved(out.modulation, f * e.users)});
  return erased;
}

}  // namespace iqd::noma_channel_estimator
