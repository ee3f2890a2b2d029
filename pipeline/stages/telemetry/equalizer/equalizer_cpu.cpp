// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/equalizer_cpu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/telemetry/equalizer/toeplitz.hpp"
#include "signal/filters/scratch.hpp"

// Plain loops, compiled once for each kind of processor: the compiler makes vectors of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/equalizer_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

using elementwise::Complex;
HWY_INLINE const Complex* pairs(const cf32* x) {
  return reinterpret_cast<const Complex*>(x);
}
HWY_INLINE Complex* pairs(cf32* x) {
  return reinterpret_cast<Complex*>(x);
}
HWY_INLINE float square(Complex a) {
  return a.re * a.re + a.im * a.im;
}

/// The largest magnitude of all parts, as bits: from 0x7f800000 on something is not finite. Whole numbers, since a
/// compiler may not make vectors of floating-point maxima.
std::uint32_t largest(const cf32* x, std::int64_t n) {
  const auto* const bits = reinterpret_cast<const float*>(x);
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i) most = std::max(most, std::bit_cast<std::uint32_t>(bits[i]) & 0x7fffffffu);
  return most;
}

void scale(const cf32* x, float factor, cf32* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) pairs(y)[i] = {pairs(x)[i].re * factor, pairs(x)[i].im * factor};
}

/// y = r c w, or y += r c w
void filter_bins(const cf32* r, const cf32* c, const float* w, bool more, cf32* y, std::int64_t n) {
  const auto product = [=](std::int64_t k) {
    const Complex a = pairs(r)[k];
    const Complex b = pairs(c)[k];
    return Complex{(a.re * b.re - a.im * b.im) * w[k], (a.re * b.im + a.im * b.re) * w[k]};
  };
  Complex* const to = pairs(y);
  if (more)
    for (std::int64_t k = 0; k < n; ++k) to[k] = {to[k].re + product(k).re, to[k].im + product(k).im};
  else
    for (std::int64_t k = 0; k < n; ++k) to[k] = product(k);
}

/// C = H* / (|H|^2 + N)
void invert(const cf32* h, float noise, cf32* c, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const Complex a = pairs(h)[k];
    const float part = 1 / std::max(square(a) + noise, kLeastDivisor);
    pairs(c)[k] = {a.re * part, -a.im * part};
  }
}

/// C = H* Psi / (|H|^2 Psi + N)
void invert_weighted(const cf32* h, const float* psi, float noise, cf32* c, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const Complex a = pairs(h)[k];
    const float part = psi[k] / std::max(square(a) * psi[k] + noise, kLeastDivisor);
    pairs(c)[k] = {a.re * part, -a.im * part};
  }
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(largest);
HWY_EXPORT(scale);
HWY_EXPORT(filter_bins);
HWY_EXPORT(invert);
HWY_EXPORT(invert_weighted);

namespace {

static_assert(kRows == kTaps && kBand == kChannelTaps);

/// Taps from `first` on, at their indices modulo `size`.
void wrap(const cf32* taps, std::int64_t count, std::int64_t first, cf32* to, std::int64_t size) {
  std::fill_n(to, size, cf32());
  std::copy_n(taps, -first, to + size + first);
  std::copy_n(taps - first, count + first, to);
}

/// A power of two that brings the channel's largest part to 1 … 2; 0 where there is no channel; NaN where something is
/// not finite.
float unit_of(const Packet& packet, std::int64_t window) {
  const std::uint32_t h = HWY_DYNAMIC_DISPATCH(largest)(packet.channel, kChannelTaps);
  const std::uint32_t r = HWY_DYNAMIC_DISPATCH(largest)(packet.window, window);
  if (!std::isfinite(std::bit_cast<float>(std::max(h, r))) || !std::isfinite(packet.noise))
    return std::numeric_limits<float>::quiet_NaN();
  const float most = std::bit_cast<float>(h);
  return most < kLeastChannel ? 0 : std::ldexp(1.0f, -std::min(std::ilogb(most), 126));
}

}  // namespace

/// One packet under way, in a lane's scratch.
class Work {
 public:
  Work(const Setup& setup, std::byte* memory) : s_(setup) {
    Scratch scratch(memory);
    for (cf32** buffer : {&samples_, &received_, &channel_, &filter_, &a_, &b_}) *buffer = scratch.take<cf32>(s_.size);
    factor_ = scratch.take<ToeplitzFactor>(1);
    for (cf32** taps : {&taps_, &matched_}) *taps = scratch.take<cf32>(kTaps);
    h_ = scratch.take<cf32>(kChannelTaps);
    lags_ = scratch.take<std::complex<double>>(kChannelTaps);
    if (s_.wants(Kind::cma)) descent_.emplace(s_, scratch);
    bytes_ = scratch.bytes();
  }
  std::size_t bytes() const noexcept { return bytes_; }

  void run(const Equalizer& equalizer, const Packet& packet, float unit) noexcept {
    e_ = &equalizer;
    packet_ = &packet;
    unit_ = unit;
    noise_ = std::min(std::max(packet.noise, 0.0f) * unit * unit, kMostNoise);
    receive();
    if (s_.count_linear() > 0) make_linear();
    if (s_.wants(Kind::fde1) || s_.wants(Kind::fde2)) make_inverses();
  }

 private:
  void receive() noexcept;
  void make_linear() noexcept;
  void make_inverses() noexcept;
  void correlate() noexcept;
  void solve(double load) noexcept;
  void deliver_taps(Kind kind) const noexcept;
  void deliver(Kind kind) const noexcept;
  auto output_of(Kind kind) const noexcept {
    return std::find_if(s_.outputs.begin(), s_.outputs.end(), [kind](const auto& o) { return o.kind == kind; });
  }

  const Setup& s_;
  const Equalizer* e_ = nullptr;
  const Packet* packet_ = nullptr;
  float unit_ = 1;
  float noise_ = 0;
  cf32* samples_;   // of the window
  cf32* received_;  // spectra: of the window,
  cf32* channel_;   // of the channel,
  cf32* filter_;    // of the equalizer
  cf32* a_;
  cf32* b_;
  ToeplitzFactor* factor_;
  cf32* taps_;
  cf32* matched_;  // h*(-k)
  cf32* h_;
  std::complex<double>* lags_;  // r_h
  std::optional<DescentMemory> descent_;
  std::size_t bytes_;
};

void Work::receive() noexcept {
  const std::int64_t window = s_.format.window();
  HWY_DYNAMIC_DISPATCH(scale)(packet_->channel, unit_, h_, kChannelTaps);
  HWY_DYNAMIC_DISPATCH(scale)(packet_->window, unit_, samples_, window);
  std::fill_n(samples_ + window, s_.size - window, cf32());
  e_->forward_.run(samples_, received_);
}

void Work::make_linear() noexcept {
  correlate();
  if (s_.wants(Kind::zf)) {
    solve(s_.zf_load * lags_[0].real());
    deliver_taps(Kind::zf);
  }
  if (!s_.wants(Kind::mmse) && !s_.wants(Kind::cma)) return;
  solve(noise_);
  if (s_.wants(Kind::mmse)) deliver_taps(Kind::mmse);
  if (!s_.wants(Kind::cma)) return;
  e_->descent_->run(samples_, taps_, *descent_);
  deliver_taps(Kind::cma);
}

void Work::make_inverses() noexcept {
  wrap(h_, kChannelTaps, kChannelFirst, a_, s_.size);
  e_->forward_.run(a_, channel_);
  if (s_.wants(Kind::fde1)) {
    HWY_DYNAMIC_DISPATCH(invert)(channel_, noise_, filter_, s_.size);
    deliver(Kind::fde1);
  }
  if (!s_.wants(Kind::fde2)) return;
  HWY_DYNAMIC_DISPATCH(invert_weighted)(channel_, s_.psi.data(), noise_, filter_, s_.size);
  deliver(Kind::fde2);
}

void Work::correlate() noexcept {
  for (std::int64_t k = 0; k < kChannelTaps; ++k) {
    double re = 0;
    double im = 0;
    for (std::int64_t n = k; n < kChannelTaps; ++n) {
      const std::complex<double> x = h_[n];
      const std::complex<double> y = h_[n - k];
      re += x.real() * y.real() + x.imag() * y.imag();
      im += x.imag() * y.real() - x.real() * y.imag();
    }
    lags_[k] = {re, im};
  }
  std::fill_n(matched_, kTaps, cf32());
  for (std::int64_t i = 0; i < kChannelTaps; ++i) matched_[-kFirst - kChannelFirst - i] = std::conj(h_[i]);
}

void Work::solve(double load) noexcept {
  const std::complex<double> energy = lags_[0];
  lags_[0] += std::max(load, kLeastLoad * energy.real());
  solve_toeplitz(std::span<const std::complex<double>, kBand>(lags_, kBand),
                 std::span<const cf32, kRows>(matched_, kRows), *factor_, std::span<cf32, kRows>(taps_, kRows));
  lags_[0] = energy;
}

void Work::deliver_taps(Kind kind) const noexcept {
  wrap(taps_, kTaps, kFirst, a_, s_.size);
  e_->forward_.run(a_, filter_);
  deliver(kind);
  if (packet_->taps == nullptr) return;
  const auto before = std::count_if(s_.outputs.begin(), output_of(kind), [](const auto& o) { return linear(o.kind); });
  HWY_DYNAMIC_DISPATCH(scale)(taps_, unit_, packet_->taps + before * kTaps, kTaps);
}

/// Filters the window with the spectrum at hand and writes what is at the bits' centres.
void Work::deliver(Kind kind) const noexcept {
  const auto output = output_of(kind);
  const float* const weights = (output->filtered ? e_->filtered_ : e_->plain_).data();
  const std::int64_t bins = s_.size / s_.format.samples_per_bit;
  for (std::int64_t at = 0; at < s_.size; at += bins)
    HWY_DYNAMIC_DISPATCH(filter_bins)(received_ + at, filter_ + at, weights + at, at > 0, a_, bins);
  e_->to_symbols_.run(a_, b_);
  const std::int64_t bits = s_.format.bits();
  std::copy_n(b_ + PacketFormat::kGuard / s_.format.samples_per_bit, bits,
              packet_->symbols + (output - s_.outputs.begin()) * bits);
}

Equalizer::Equalizer(Setup setup)
    : setup_(std::move(setup)),
      forward_(setup_.size),
      to_symbols_(setup_.size / setup_.format.samples_per_bit, FftPlan::Direction::inverse) {
  const float part = 1 / static_cast<float>(setup_.size);
  plain_.assign(static_cast<std::size_t>(setup_.size), part);
  for (const float d : setup_.detection) filtered_.push_back(d * part);
  if (setup_.wants(Kind::cma)) descent_.emplace(setup_);
}

std::size_t Equalizer::scratch_bytes(const Setup& setup) noexcept {
  return Work(setup, nullptr).bytes();
}

void Equalizer::run(const Packet& packet, std::byte* scratch) const noexcept {
  const float unit = unit_of(packet, setup_.format.window());
  if (unit > 0) return Work(setup_, scratch).run(*this, packet, unit);
  const cf32 all(unit, unit);  // zeros, or NaN
  std::fill_n(packet.symbols, setup_.outputs.size() * static_cast<std::size_t>(setup_.format.bits()), all);
  if (packet.taps) std::fill_n(packet.taps, setup_.count_linear() * kTaps, all);
}

}  // namespace iqd::equalizer
#endif
