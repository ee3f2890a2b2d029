// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/transmit/aph_estimator/job.cuh"

/// The first look, and the alignment.
namespace iqd::aph_estimator {
namespace {

struct Count {
  std::int64_t n = 0;
  __device__ Count& operator+=(const Count& o) {
    n += o.n;
    return *this;
  }
};
constexpr int kCountRow = sizeof(Seen) / sizeof(Count);  // row of partial sums for counts, behind the rows of Seen

__global__ void __launch_bounds__(kThreads) look(const __grid_constant__ Job job) {
  Seen seen;
  for_each(job.n, [&](std::int64_t n) { seen.add(job.z[n], job.s[n]); });
  leave(job, 0, seen);
}

__global__ void __launch_bounds__(kThreads) count_rail(const __grid_constant__ Job job) {
  const double largest = gather<Seen>(job, 0).largest;
  Count at_rail;
  for_each(job.n, [&](std::int64_t n) { at_rail.n += is_at_rail(job.s[n], largest); });
  leave(job, kCountRow, at_rail);
}

__global__ void __launch_bounds__(kThreads) judge_look(const __grid_constant__ Job job) {
  const Seen seen = gather<Seen>(job, 0);
  const Count at_rail = gather<Count>(job, kCountRow);
  if (threadIdx.x > 0) return;
  Record& record = *job.record;
  record = Record{};
  record.seen = seen;
  judge(seen, at_rail.n, job.n, job.orders.coefficients(), record.report);
  if (record.report.goes_on() && job.is_metered) judge_need(aclr_of(job.levels), job.above, record.report);
}

/// Both halves of z under their windows, and s, in units of their rms.
__global__ void __launch_bounds__(kThreads) load_signals(const __grid_constant__ Job job) {
  const Record& record = *job.record;
  if (!record.report.goes_on()) return;
  const Halves halves(job.n, job.search);
  const auto n = static_cast<double>(job.n);
  const double z_scale = sqrt(n / record.seen.z_energy), s_scale = sqrt(n / record.seen.s_energy);
  for_each(job.size, [&](std::int64_t i) {
    const std::int64_t at = i - halves.reach;
    cf32 first, second, back;
    if (at >= 0 && at < 2 * halves.half) {
      const auto w = static_cast<float>(z_scale * halves.weight(at));
      (at < halves.half ? first : second) = {job.z[i].real() * w, job.z[i].imag() * w};
    }
    const auto w = static_cast<float>(s_scale);
    if (i < job.n) back = {job.s[i].real() * w, job.s[i].imag() * w};
    job.spectra[i] = first;
    job.spectra[job.size + i] = second;
    job.spectra[2 * job.size + i] = back;
  });
}

/// Products of the spectra; the sum of both halves replaces the spectrum of s.
__global__ void __launch_bounds__(kThreads) multiply_spectra(const __grid_constant__ Job job) {
  if (!job.record->report.goes_on()) return;
  for_each(job.size, [&](std::int64_t k) {
    cf32* const first = job.spectra + k;
    cf32* const second = first + job.size;
    cf32* const back = second + job.size;
    const Complex64 a = conjugate_product(*first, *back), b = conjugate_product(*second, *back);
    *first = cf32(a);
    *second = cf32(b);
    *back = {first->real() + second->real(), first->imag() + second->imag()};
  });
}

__global__ void __launch_bounds__(kThreads) find_peak(const __grid_constant__ Job job) {
  if (!job.record->report.goes_on()) return;
  const std::int64_t reach = Halves(job.n, job.search).reach;
  const cf32* const r = job.spectra + 3 * job.size;
  Peak best;
  for_each(2 * reach, [&](std::int64_t i) {
    const std::int64_t d = i - reach;
    best += {power_of(r[d < 0 ? d + job.size : d]), d};
  });
  leave(job, 0, best);
}

__global__ void __launch_bounds__(kThreads) take_peak(const __grid_constant__ Job job) {
  Record& record = *job.record;
  if (!record.report.goes_on()) return;
  const Peak best = gather<Peak>(job, 0);
  if (threadIdx.x > 0) return;
  const std::int64_t reach = Halves(job.n, job.search).reach;
  record.whole = best.at;
  record.found.inside = best.at < reach - 1 && -best.at < reach - 1;
  for (double& at : record.at) at = static_cast<double>(best.at);
  if (!record.found.inside) judge(record.found, record.report);
}

/// The correlation at the current delays, for the spectra from `first` on.
__global__ void __launch_bounds__(kThreads) add_points(const __grid_constant__ Job job, int first) {
  const Record& record = *job.record;
  if (!record.report.goes_on()) return;
  const int which = first + static_cast<int>(blockIdx.y);
  const cf32* const cross = job.spectra + which * job.size;
  const double step = 2 * std::numbers::pi / static_cast<double>(job.size), delay = record.at[which];
  Point sum;
  for_each(job.size, [&](std::int64_t i) {
    const double w = step * static_cast<double>(i < job.size / 2 ? i : i - job.size);
    sum.add(cross[i], w, {cos(w * delay), sin(w * delay)});
  });
  leave(job, static_cast<int>(blockIdx.y), sum);
}

constexpr int kBoth = 2;

__global__ void __launch_bounds__(kThreads) climb(const __grid_constant__ Job job, int first, bool is_first) {
  Record& record = *job.record;
  if (!record.report.goes_on()) return;
  const int which = first + static_cast<int>(blockIdx.x);
  const Point point = gather<Point>(job, static_cast<int>(blockIdx.x));
  if (threadIdx.x > 0) return;
  record.at[which] += point.step();
  if (which == kBoth)
    record.at[0] = record.at[1] = record.at[kBoth];
  else if (is_first)
    record.r[which] = point.r;
}

__global__ void __launch_bounds__(kThreads) compare_energies(const __grid_constant__ Job job) {
  const Record& record = *job.record;
  if (!record.report.goes_on()) return;
  const Halves halves(job.n, job.search);
  Compared sum;
  for_each(2 * halves.half, [&](std::int64_t i) {
    const double weight = halves.weight(i);
    sum.z += weight * power_of(job.z[halves.reach + i]);
    sum.s += weight * power_of(job.s[halves.reach + record.whole + i]);
  });
  leave(job, 0, sum);
}

__global__ void __launch_bounds__(kThreads) judge_alignment(const __grid_constant__ Job job) {
  Record& record = *job.record;
  if (!record.report.goes_on()) return;
  Compared compared = gather<Compared>(job, 0);
  if (threadIdx.x > 0) return;
  const double scale = static_cast<double>(job.size) * static_cast<double>(job.n);
  compared.z *= scale / record.seen.z_energy;
  compared.s *= scale / record.seen.s_energy;
  Alignment& found = record.found;
  found.delay = record.at[kBoth];
  found.drift = record.at[1] - record.at[0];
  compare(record.r[0], record.r[1], compared, found);
  judge(found, record.report);
  if (!record.report.goes_on()) return;
  const double delays[kFits] = {found.delay, round(found.delay)};
  for (int fit = 0; fit < kFits; ++fit) {
    record.tries[fit].delay = delays[fit];
    record.tries[fit].range = within(job.n, delays[fit]);
    record.tries[fit].goes_on = fit == 0 || is_nearly_whole(found.delay);
  }
}

}  // namespace
}  // namespace iqd::aph_estimator
