// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "pipeline/stages/transmit/aph_estimator/aph_estimator.hpp"
#include "pipeline/stages/transmit/aph_estimator/residual.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::aph_estimator {
namespace {

using Levels = std::array<float, acpr_meter::kLevels.size()>;

}  // namespace

/// A fit, and its inputs.
struct Trainer::Trial {
  Fit fit;
  Range range;
  std::span<const Complex64> u;
  std::span<const cf32> z;  // at the samples of u
};

struct Trainer::Work {
  AphOrders orders;
  std::int64_t samples;
  Scratch scratch;
  Complex64* u = scratch.take<Complex64>(samples);
  Complex64* h = scratch.take<Complex64>(orders.coefficients());
  cf32* other = scratch.take<cf32>(orders.coefficients());  // coefficients
  cf32* errors = scratch.take<cf32>(samples);
  std::byte* rest =
      scratch.take_bytes(std::max(Aligner::scratch_bytes(samples), NormalEquations(orders).scratch_bytes()));
};

Setup setup_of(const Config& config, double rate_hz) {
  Setup setup{.orders = config.orders.orders(),
              .samples = config.samples,
              .search = config.search,
              .gain = config.gain.value_or(Report::kNan),
              .above = config.above.value_or(Report::kNan),
              .told = !config.coefficients.empty(),
              .applied = {},
              .bands = {}};
  for (const Complex64 c : setup.told ? config.coefficients : aph_identity(setup.orders)) setup.applied.emplace_back(c);
  if (!config.measured) return setup;
  setup.bands.emplace(config.aclr, rate_hz);
  setup.size = config.aclr.size;
  setup.average = config.aclr.average;
  return setup;
}

Trainer::Trainer(const Config& config, double rate_hz)
    : setup_(setup_of(config, rate_hz)), aligner_(config.samples, config.search), equations_(setup_.orders) {
  if (config.measured) meter_.emplace(config.aclr, rate_hz);
}

std::size_t Trainer::scratch_bytes(const Config& config) noexcept {
  // The meter reuses the memory of the other steps.
  const std::size_t metered = config.measured ? acpr_meter::Meter::scratch_bytes(config.aclr.size) : 0;
  return Work{config.orders.orders(), config.samples, Scratch(nullptr)}.scratch.bytes() + metered;
}

Report Trainer::train(std::span<const cf32> sent, std::span<const cf32> received, std::span<cf32> coefficients,
                      std::byte* scratch) const noexcept {
  const auto length = static_cast<std::size_t>(std::min<std::int64_t>(setup_.samples, std::ssize(sent)));
  Report report = learn(sent.first(length), received.first(length), coefficients,
                        {setup_.orders, setup_.samples, Scratch(scratch)});
  if (report.is_refused()) std::copy(setup_.applied.begin(), setup_.applied.end(), coefficients.begin());
  report.has_coefficients = report.goes_on() || (report.is_refused() && setup_.told);
  return report;
}

Report Trainer::learn(std::span<const cf32> sent, std::span<const cf32> received, std::span<cf32> coefficients,
                      const Work& work) const noexcept {
  Report report;
  look(sent, received, report);
  if (!report.goes_on()) return report;
  judge_need(aclr_before(received, work), setup_.above, report);
  if (!report.goes_on()) return report;
  const Alignment found = aligner_.find(sent, received, work.rest);
  judge(found, report);
  if (!report.goes_on()) return report;
  const Trial best = choose(sent, received, found.delay, coefficients, work);
  judge(best.fit, report);
  if (!best.fit.found) return report;
  report.before = residual(best.z, best.u, setup_.applied.data());
  report.aclr_after_db = aclr_after(sent, best, coefficients.data(), work);
  return report;
}

void Trainer::look(std::span<const cf32> sent, std::span<const cf32> received, Report& report) const noexcept {
  Seen seen;
  for (std::size_t n = 0; n < sent.size(); ++n) seen.add(sent[n], received[n]);
  const auto at_rail = std::ranges::count_if(received, [&](cf32 s) { return is_at_rail(s, seen.largest); });
  judge(seen, at_rail, std::ssize(sent), setup_.orders.coefficients(), report);
}

Trainer::Trial Trainer::choose(std::span<const cf32> sent, std::span<const cf32> received, double delay,
                               std::span<cf32> coefficients, const Work& work) const noexcept {
  if (is_nearly_whole(delay)) {
    const Fit between = fit(sent, received, delay, work.other, work).fit;
    const Trial whole = fit(sent, received, std::round(delay), coefficients.data(), work);
    if (is_whole(whole.fit, between)) return whole;
  }
  return fit(sent, received, delay, coefficients.data(), work);  // fits again, since the other trial overwrote u
}

Trainer::Trial Trainer::fit(std::span<const cf32> sent, std::span<const cf32> received, double delay,
                            cf32* coefficients, const Work& work) const noexcept {
  const Range range = within(std::ssize(sent), delay);
  const auto length = static_cast<std::size_t>(range.length());
  const std::span u(work.u, length);
  const std::span h(work.h, static_cast<std::size_t>(setup_.orders.coefficients()));
  Trial trial{.fit = {}, .range = range, .u = u, .z = sent.subspan(static_cast<std::size_t>(range.begin), length)};
  advance(received, delay, range, u.data());
  Cross cross;
  for (std::size_t n = 0; n < length; ++n) cross.add(trial.z[n], u[n]);
  Fit& fit = trial.fit;
  fit.gain = cross.gain(setup_.gain);
  const Complex64 factor = inverse(fit.gain);
  for (Complex64& v : u) v = product(v, factor);
  const double power = cross.u_energy * power_of(factor) / static_cast<double>(length);
  const Solution solution = equations_.solve(u, trial.z, kSkipped, power, h, work.rest);
  fit.condition = solution.condition;
  if (!solution.found) return trial;
  fold_to_monomial(setup_.orders, h, power);
  std::ranges::transform(h, coefficients, [](Complex64 c) { return cf32(c); });
  fit.after = residual(trial.z, u, coefficients);
  fit.found = std::isfinite(fit.after);
  return trial;
}

/// Over the rows that count.
double Trainer::residual(std::span<const cf32> z, std::span<const Complex64> u, const cf32* h,
                         cf32* errors) const noexcept {
  Residual sum;
  for (auto n = static_cast<std::size_t>(kSkipped); n < z.size(); ++n) {
    const Complex64 wrong = unexplained(setup_.orders, z[n], &u[n], h);
    if (errors != nullptr) errors[n] = cf32(wrong);
    sum.add(z[n], wrong);
  }
  return sum.ratio();
}

double Trainer::aclr_before(std::span<const cf32> received, const Work& work) const noexcept {
  Levels heard;
  return meter_ && meter_->run(received, heard, {}, work.rest) > 0 ? aclr_of(heard.data()) : Report::kNan;
}

double Trainer::aclr_after(std::span<const cf32> sent, const Trial& trial, const cf32* coefficients,
                           const Work& work) const noexcept {
  Levels clean, wrong;
  if (!meter_ || meter_->run(sent, clean, {}, work.rest) == 0) return Report::kNan;
  const std::span errors(work.errors, sent.size());
  std::ranges::fill(errors, cf32());
  residual(trial.z, trial.u, coefficients, errors.data() + trial.range.begin);
  meter_->run(errors, wrong, {}, work.rest);
  return aclr_expected(wrong.data(), clean.data(), trial.range.length() - kSkipped, std::ssize(sent));
}

}  // namespace iqd::aph_estimator
