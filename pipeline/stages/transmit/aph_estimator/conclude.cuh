// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/transmit/aph_estimator/job.cuh"

/// Judging the coefficients, and writing the results.
namespace iqd::aph_estimator {
namespace {

/// blockIdx.y is the fit.
__global__ void __launch_bounds__(kThreads) try_coefficients(const __grid_constant__ Job job) {
  const auto fit = static_cast<int>(blockIdx.y);
  const Trying& now = job.record->tries[fit];
  if (!now.goes_on || !now.fit.found) return;
  const cf32* const h = job.trained + fit * job.orders.coefficients();
  Residual sum;
  const Complex64* const u = job.u + fit * job.n;
  for_each(now.range.length() - kSkipped, [&](std::int64_t i) {
    const std::int64_t n = now.range.begin + kSkipped + i;
    sum.add(job.z[n], unexplained(job.orders, job.z[n], u + n, h));
  });
  leave(job, fit, sum);
}

__global__ void __launch_bounds__(kThreads) choose_fit(const __grid_constant__ Job job) {
  Record& record = *job.record;
  if (!record.report.goes_on()) return;
  for (int fit = 0; fit < kFits; ++fit) {
    Trying& now = record.tries[fit];
    if (!now.goes_on || !now.fit.found) continue;
    const double after = gather<Residual>(job, fit).ratio();
    __syncthreads();  // all threads have read whether it was found
    if (threadIdx.x > 0) continue;
    now.fit.after = after;
    now.fit.found = std::isfinite(after);
  }
  if (threadIdx.x > 0) return;
  const Fit& whole = record.tries[1].fit;
  record.best = record.tries[1].goes_on && is_whole(whole, record.tries[0].fit) ? 1 : 0;
  judge(record.tries[record.best].fit, record.report);
}

/// The residual of the coefficients applied now, and the errors of the new ones if they are measured.
__global__ void __launch_bounds__(kThreads) compare_coefficients(const __grid_constant__ Job job) {
  const Record& record = *job.record;
  const Trying& best = record.tries[record.best];
  if (!best.fit.found) return;
  const Range range = best.range;
  const Complex64* const u = job.u + record.best * job.n;
  const cf32* const h = job.trained + record.best * job.orders.coefficients();
  Residual before;
  for_each(job.n, [&](std::int64_t n) {
    const bool counts = n >= range.begin + kSkipped && n < range.end;
    if (counts) before.add(job.z[n], unexplained(job.orders, job.z[n], u + n, job.applied));
    if (!job.is_metered) return;
    const Complex64 wrong = counts ? unexplained(job.orders, job.z[n], u + n, h) : Complex64();
    job.errors[n] = cf32(wrong);
  });
  leave(job, 0, before);
}

__global__ void __launch_bounds__(kThreads) conclude(const __grid_constant__ Job job) {
  Record& record = *job.record;
  const Trying& best = record.tries[record.best];
  Report& report = record.report;
  const double before = best.fit.found ? gather<Residual>(job, 0).ratio() : Report::kNan;
  const cf32* const from = report.goes_on() ? job.trained + record.best * job.orders.coefficients() : job.applied;
  const bool given = report.goes_on() || (report.is_refused() && job.told);
  if (given && threadIdx.x < job.orders.coefficients()) job.coefficients[threadIdx.x] = from[threadIdx.x];
  if (threadIdx.x < kOutcomes.size()) job.events[threadIdx.x] = threadIdx.x == static_cast<unsigned>(report.outcome);
  if (threadIdx.x > 0) return;
  report.before = before;
  if (best.fit.found && job.is_metered)
    report.aclr_after_db =
        aclr_expected(job.levels + 2 * kLevels, job.levels + kLevels, best.range.length() - kSkipped, job.n);
  report.write(job.values.data);
  *job.coefficients.count = given ? 1 : 0;
  *job.values.count = *job.events.count = 1;
}

}  // namespace
}  // namespace iqd::aph_estimator
