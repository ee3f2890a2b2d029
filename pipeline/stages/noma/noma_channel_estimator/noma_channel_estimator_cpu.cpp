// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

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
        points_(scratch.take<cf32>(e_.data)) {}

  /// Returns how many vectors were erased.
  std::int64_t run(const cf32* frame, const Outputs& out) noexcept {
    check(frame);
    channels_.estimate(frame, usable_);
    filters_.design_for(channels_);
    for (int u = 0; u < e_.users; ++u) {
      filter_user(frame, u);
      write_user(u, follow_user(u), out);
    }
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

  /// The user's symbols, without the turn that its offset makes; 0 where it is not heard.
  void filter_user(const cf32* frame, int u) noexcept {
    const cf32* const data = frame + (Extents::kBefore + e_.training) * e_.row();
    for (int s = 0; s < e_.used_symbols(); ++s) {
      const double turns = channels_.offset_hz(u) * design_.seconds(e_.training + s);
      const auto turn = cf32(std::polar(1.0, -2 * std::numbers::pi * (turns - std::rint(turns))));
      for (int c = 0; c < e_.points(s); ++c) {
        const int t = s * e_.carriers + c;
        const cf32* const y = data + s * e_.row() + c * e_.rx;
        const cf32* const w = filters_.filter(c, u);
        float re = 0, im = 0;
        for (int r = 0; r < e_.rx && is_usable(t); ++r) {
          re += w[r].real() * y[r].real() + w[r].imag() * y[r].imag();
          im += w[r].real() * y[r].imag() - w[r].imag() * y[r].real();
        }
        points_[t] = cf32(re * turn.real() - im * turn.imag(), re * turn.imag() + im * turn.real());
      }
    }
  }

  /// Follows the user's phase by its decisions. Returns by how much its symbols are noisier than its filters say.
  float follow_user(int u) noexcept {
    const Slicer nearest(design_.maps[static_cast<std::size_t>(u)]);
    PhaseLine line;
    double far = 0;
    int heard = 0;
    for (int s = 0; s < e_.used_symbols(); ++s) {
      line.advance();
      cf32* const z = points_ + s * e_.carriers;
      const int points = e_.points(s);
      turn_by(z, points, -line.phase);
      double sum_re = 0, sum_im = 0;
      for (int c = 0; c < points; ++c) {
        const float worth = worth_of(s, c, u);
        const auto p = nearest(z[c].real(), z[c].imag());
        sum_re += double{worth} * (double{z[c].real()} * p.re + double{z[c].imag()} * p.im);
        sum_im += double{worth} * (double{z[c].imag()} * p.re - double{z[c].real()} * p.im);
      }
      turn_by(z, points, -line.correct(std::atan2(sum_im, sum_re), e_.training + s));
      for (int c = 0; c < points; ++c) {
        const float worth = worth_of(s, c, u);
        const auto p = nearest(z[c].real(), z[c].imag());
        const float re = z[c].real() - p.re, im = z[c].imag() - p.im;
        far += double{worth} * double{re * re + im * im};
        heard += worth > 0;
      }
    }
    return heard > 0 ? static_cast<float>(std::clamp(far / heard, 1.0, kMostExcess)) : 1.0f;
  }
  static void turn_by(cf32* z, int count, double radians) noexcept {
    const auto re = static_cast<float>(std::cos(radians)), im = static_cast<float>(std::sin(radians));
    for (int c = 0; c < count; ++c)
      z[c] = cf32(z[c].real() * re - z[c].imag() * im, z[c].real() * im + z[c].imag() * re);
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
};

}  // namespace

std::size_t scratch_bytes(const Design& design) {
  Scratch count(nullptr);
  UserReceiver(design, count);
  return count.bytes();
}

std::int64_t run_cpu(const Design& design, const cf32* carriers, std::int64_t frames, const Outputs& out,
                     std::byte* memory) noexcept {
  Scratch scratch(memory);
  UserReceiver receiver(design, scratch);
  const Extents& e = design.extents;
  const std::int64_t points = std::int64_t{e.users} * e.data;
  const auto moved = [](auto* port, std::int64_t by) { return port ? port + by : nullptr; };
  std::int64_t erased = 0;
  for (std::int64_t f = 0; f < frames; ++f)
    erased += receiver.run(carriers + f * e.frame(), {.symbols = moved(out.symbols, f * points),
                                                      .llr = moved(out.llr, f * points * e.bits),
                                                      .bits = moved(out.bits, f * points * e.bits),
                                                      .model = moved(out.model, f * e.users * std::ssize(kModelValues)),
                                                      .h = moved(out.h, f * e.carriers * e.pairs()),
                                                      .modulation = moved(out.modulation, f * e.users)});
  return erased;
}

}  // namespace iqd::noma_channel_estimator
