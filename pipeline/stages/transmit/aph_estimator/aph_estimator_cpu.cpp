// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pipeline/stages/transmit/aph_estimator/aph_estimator.hpp"
#include "signal/scratch.hpp"

namespace iqd::aph_estimator {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kSkipped = 16;  // rows; what the transmitter remembers of before is over by then
constexpr double kSilence = 1e-14;     // power: -140 dB of full scale
constexpr double kRail = 1 - 0x1p-12;  // of the largest part; converters of 12 bits and more
constexpr double kCoherence = 0.5;
constexpr double kDrift = 0.05;  // samples between the halves: of 65536 samples, 1.5 ppm
constexpr double kTurn = 0.1;    // radians
constexpr double kPoor = 0.01;
constexpr double kNearlyWhole = 0.1;  // samples
constexpr double kClearlyBetter = 0.9;

struct Levels {
  double power = 0;
  double largest = 0;  // part
  bool finite = true;
};

Levels levels_of(std::span<const cf32> x) {
  Levels l;
  for (const cf32 v : x) {
    l.power += static_cast<double>(v.real()) * v.real() + static_cast<double>(v.imag()) * v.imag();
    l.largest = std::max<double>(l.largest, std::max(std::abs(v.real()), std::abs(v.imag())));
  }
  l.finite = std::isfinite(l.power);
  l.power /= static_cast<double>(x.size());
  return l;
}

bool is_clipped(std::span<const cf32> x, double largest) {
  const auto rail = static_cast<float>(largest * kRail);
  const auto at_rail = [rail](cf32 v) { return std::abs(v.real()) >= rail || std::abs(v.imag()) >= rail; };
  return std::count_if(x.begin(), x.end(), at_rail) * 1000 >= std::ssize(x);
}

double decibels(double ratio) {
  return 10 * std::log10(std::max(ratio, 1e-30));  // NaN stays
}

}  // namespace

struct Trainer::Fit {
  Complex gain;
  double power = 0;  // of what was sent
  double after = Report::kNan;
  double condition = Report::kNan;
  std::span<const Complex> u;
  std::span<const cf32> z;  // of u's samples
  bool found = false;
};

struct Trainer::Work {
  Complex* u = nullptr;
  Complex* h = nullptr;
  cf32* other = nullptr;  // coefficients
  cf32* shown = nullptr;  // samples for the meter
  std::byte* rest = nullptr;
  std::size_t bytes = 0;
};

Trainer::Trainer(const Config& config, double rate_hz)
    : orders_(config.orders.orders()),
      samples_(config.samples),
      gain_(config.gain),
      aligner_(config.samples, config.search),
      equations_(orders_) {
  const std::vector<Complex> applied = config.coefficients.empty() ? aph_identity(orders_) : config.coefficients;
  for (const Complex c : applied) applied_.emplace_back(c);
  if (config.measured) meter_.emplace(config.aclr, rate_hz);
}

Trainer::Work Trainer::work_in(std::byte* memory, const AphOrders& orders, std::int64_t samples) noexcept {
  Scratch scratch(memory);
  Work w;
  w.u = scratch.take<Complex>(samples);
  w.h = scratch.take<Complex>(orders.coefficients());
  w.other = scratch.take<cf32>(orders.coefficients());
  w.shown = scratch.take<cf32>(samples);
  w.rest = scratch.take<std::byte>(
      static_cast<std::int64_t>(std::max(Aligner::scratch_bytes(samples), NormalEquations(orders).scratch_bytes())));
  w.bytes = scratch.bytes();
  return w;
}

std::size_t Trainer::scratch_bytes(const Config& config) noexcept {
  // What the meter needs lies where the rest was.
  const std::size_t metered = config.measured ? acpr_meter::Meter::scratch_bytes(config.aclr.size) : 0;
  return work_in(nullptr, config.orders.orders(), config.samples).bytes + metered;
}

Report Trainer::train(std::span<const cf32> sent, std::span<const cf32> received, std::span<cf32> coefficients,
                      std::byte* scratch) const noexcept {
  const Work work = work_in(scratch, orders_, samples_);
  const auto length = static_cast<std::size_t>(std::min<std::int64_t>(samples_, std::ssize(sent)));
  sent = sent.first(length);
  received = received.first(length);
  Report report;
  const auto refuse = [&](Outcome reason) {
    std::copy(applied_.begin(), applied_.end(), coefficients.begin());
    report.outcome = reason;
    return report;
  };
  for (const cf32 z : sent) report.peak = std::fmax(report.peak, std::norm(Complex(z)));
  report.peak = std::sqrt(report.peak);
  if (const Outcome seen = look(sent, received); seen != Outcome::trained) return refuse(seen);
  const Alignment found = aligner_.find(sent, received, work.rest);
  report.coherence = found.coherence;
  if (!found.inside) return refuse(Outcome::misaligned);
  if (!(found.coherence >= kCoherence)) return refuse(Outcome::other_signal);
  report.delay = found.delay;
  if (std::abs(found.drift) > kDrift || std::abs(found.turn) > kTurn) return refuse(Outcome::misaligned);

  const Fit best = choose_fit(sent, received, found.delay, coefficients, work);
  report.gain = best.gain;
  report.condition = best.condition;
  if (!best.found) return refuse(Outcome::not_finite);
  report.before = residual(best.z, best.u, applied_.data());
  report.after = best.after;
  measure(best, coefficients.data(), work, report);
  return report.after < kPoor ? report : refuse(Outcome::poor_fit);
}

/// Memory of the transmitter looks like a small delay. Where the true one may well be whole, that memory is left to the
/// taps, unless they do worse: a resampling would make a part of it future, which they do not see.
Trainer::Fit Trainer::choose_fit(std::span<const cf32> sent, std::span<const cf32> received, double delay,
                                 std::span<cf32> coefficients, const Work& work) const noexcept {
  const double whole = std::round(delay);
  if (std::abs(whole - delay) > kNearlyWhole) return fit(sent, received, delay, coefficients.data(), work);
  const Fit between = fit(sent, received, delay, work.other, work);
  const Fit best = fit(sent, received, whole, coefficients.data(), work);
  if (best.found && !(between.after < kClearlyBetter * best.after)) return best;
  return fit(sent, received, delay, coefficients.data(), work);  // once more: u is its own again
}

Outcome Trainer::look(std::span<const cf32> sent, std::span<const cf32> received) const noexcept {
  if (std::ssize(sent) < std::max<std::int64_t>(kFewestSamples, 8 * orders_.coefficients())) return Outcome::too_short;
  const Levels z = levels_of(sent), s = levels_of(received);
  if (!z.finite || !s.finite) return Outcome::not_finite;
  if (z.power < kSilence || s.power < kSilence) return Outcome::silent;
  return is_clipped(received, s.largest) ? Outcome::clipped : Outcome::trained;
}

Trainer::Fit Trainer::fit(std::span<const cf32> sent, std::span<const cf32> received, double delay, cf32* coefficients,
                          const Work& work) const noexcept {
  const Range range = within(std::ssize(sent), delay);
  const auto length = static_cast<std::size_t>(range.end - range.begin);
  const std::span u(work.u, length);
  const std::span h(work.h, static_cast<std::size_t>(orders_.coefficients()));
  Fit fit;
  fit.u = u;
  fit.z = sent.subspan(static_cast<std::size_t>(range.begin), length);
  advance(received, delay, range, u.data());
  Complex cross;
  double z_energy = 0, s_energy = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const Complex z(fit.z[n]);
    cross += Complex(z.real() * u[n].real() + z.imag() * u[n].imag(), z.real() * u[n].imag() - z.imag() * u[n].real());
    z_energy += std::norm(z);
    s_energy += std::norm(u[n]);
  }
  fit.gain = cross / z_energy;
  if (gain_) fit.gain *= *gain_ / std::abs(fit.gain);
  const Complex factor = 1.0 / fit.gain;
  for (Complex& v : u)
    v = {v.real() * factor.real() - v.imag() * factor.imag(), v.real() * factor.imag() + v.imag() * factor.real()};
  const double power = s_energy * std::norm(factor) / static_cast<double>(length);
  const Solution solution = equations_.solve(u, fit.z, kSkipped, power, h, work.rest);
  fit.condition = solution.condition;
  if (!solution.found) return fit;
  fold_to_monomial(orders_, h, power);
  std::transform(h.begin(), h.end(), coefficients, [](Complex c) { return cf32(c); });
  fit.after = residual(fit.z, u, coefficients);
  fit.found = std::isfinite(fit.after);
  return fit;
}

/// |z - Psi(u) h|^2 / |z|^2 over the rows that count, by the sum of the specification's form, in double precision.
double Trainer::residual(std::span<const cf32> z, std::span<const Complex> u, const cf32* h,
                         cf32* errors) const noexcept {
  const int mains = orders_.main_branches(), branches = orders_.branches(), taps = orders_.taps;
  double error = 0, energy = 0;
  for (std::int64_t n = kSkipped; n < std::ssize(z); ++n) {
    const cf32 sent = z[static_cast<std::size_t>(n)], c = h[orders_.constant_at()];
    double re = sent.real() - c.real(), im = sent.imag() - c.imag();
    for (int k = 0; k < taps; ++k) {
      const Complex x = u[static_cast<std::size_t>(n - k)];
      const double a = std::norm(x);
      double main_re = 0, main_im = 0, other_re = 0, other_im = 0;
      for (int b = mains - 1; b >= 0; --b) {
        main_re = main_re * a + h[b * taps + k].real();
        main_im = main_im * a + h[b * taps + k].imag();
      }
      for (int b = branches - 1; b >= mains; --b) {
        other_re = other_re * a + h[b * taps + k].real();
        other_im = other_im * a + h[b * taps + k].imag();
      }
      re -= x.real() * (main_re + other_re) - x.imag() * (main_im - other_im);
      im -= x.real() * (main_im + other_im) + x.imag() * (main_re - other_re);
    }
    if (errors) errors[n] = cf32(Complex(re, im));
    error += re * re + im * im;
    energy += std::norm(Complex(sent));
  }
  return error / energy;
}

/// What the predistorter gets wrong goes out beside the carriers as it is.
void Trainer::measure(const Fit& fit, const cf32* coefficients, const Work& work, Report& report) const noexcept {
  using Levels = std::array<float, acpr_meter::kLevels.size()>;
  if (!meter_) return;
  const std::span shown(work.shown, fit.u.size());
  Levels heard, sent, wrong;
  std::transform(fit.u.begin(), fit.u.end(), shown.begin(), [](Complex u) { return cf32(u); });
  if (meter_->run(shown, heard, {}, work.rest) == 0) return;
  meter_->run(fit.z, sent, {}, work.rest);
  std::fill_n(shown.begin(), kSkipped, cf32());
  residual(fit.z, fit.u, coefficients, shown.data());
  meter_->run(shown, wrong, {}, work.rest);
  for (std::size_t l = 0; l < heard.size(); ++l) {
    const std::string_view level = acpr_meter::kLevels[l];
    if (!level.starts_with("adjacent") && !level.starts_with("im3")) continue;
    report.aclr_before_db = std::fmax(report.aclr_before_db, heard[l]);
    report.aclr_after_db = std::fmax(report.aclr_after_db, wrong[l] + wrong[0] - sent[0]);  // [0]: the carrier
  }
}

std::array<float, kValues.size()> Report::values() const noexcept {
  const std::array all{static_cast<double>(outcome),
                       delay,
                       decibels(std::norm(gain)),
                       std::arg(gain),
                       coherence,
                       decibels(before),
                       decibels(after),
                       decibels(condition),
                       peak,
                       aclr_before_db,
                       aclr_after_db};
  static_assert(all.size() == kValues.size());
  std::array<float, kValues.size()> values{};
  std::transform(all.begin(), all.end(), values.begin(), [](double v) { return static_cast<float>(v); });
  return values;
}

}  // namespace iqd::aph_estimator
