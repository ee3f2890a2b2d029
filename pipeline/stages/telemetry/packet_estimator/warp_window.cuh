// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/packet_estimator/turn.cuh"

/// Removing the clock's error from a window, part by part.
namespace iqd::packet_estimator {
namespace {

constexpr int kWarpTile = 1024;  // samples of a part
/// A part takes so many samples more than it has: the taps, and one by which the error may move its end.
constexpr int kAround = kWarpTaps + 1;

struct WarpMemory {
  Turns<(kWarpTile + kAround) / kRun + 2> turns;
  float2 x[kWarpTile + kAround];
  float taps[(kPhases + 1) * kWarpTaps];
};

/// The value at a place: x is the sample at its floor.
__device__ float2 value_at(const float* taps, float part, const float2* x) {
  float2 here{0, 0}, next{0, 0};
#pragma unroll
  for (int q = 0; q < kWarpTaps; ++q) {
    const float2 sample = x[q - kWarpBefore];
    const float tap = taps[q], change = taps[kWarpTaps + q] - taps[q];
    here.x = fmaf(tap, sample.x, here.x);
    here.y = fmaf(tap, sample.y, here.y);
    next.x = fmaf(change, sample.x, next.x);
    next.y = fmaf(change, sample.y, next.y);
  }
  return {fmaf(part, next.x, here.x), fmaf(part, next.y, here.y)};
}

/// Derotates samples begin … end - 1 of the window, as the transmitter's clock would have taken them, and keeps those
/// of the pilot in `rows`. At most kWarpTile.
__device__ void warp_tile(const Job& job, WarpMemory& shared, double error, float2* rows, int begin, int end) {
  static_assert(kMostError * kWarpTile < 1);
  const auto floor_of = [&](int n) { return n + static_cast<int>(place_of(error, job.middle, n - kGuard).floor()); };
  const int from = floor_of(begin) - kWarpBefore;
  const int to = floor_of(end - 1) - kWarpBefore + kWarpTaps;
  load_turned(job, shared.turns, from, to - from, shared.x);
  for (int n = begin + static_cast<int>(threadIdx.x); n < end; n += kThreads) {
    const Place place = place_of(error, job.middle, n - kGuard);
    const int at = n + static_cast<int>(place.floor()) - from;
    const float2 y =
        error == 0 ? shared.x[at]
                   : value_at(shared.taps + place.phase() * kWarpTaps, static_cast<float>(place.part), shared.x + at);
    if (job.out_windows) job.out_windows[static_cast<std::int64_t>(blockIdx.x) * job.window + n] = y;
    const int row = n - (kGuard + kTapsBehind);
    if (row >= 0 && row < job.rows) rows[row] = y;
  }
}

/// The whole window, or only the pilot's samples if the windows are not wanted.
__device__ void warp_window(const Job& job, WarpMemory& shared, Correlation s, float2* rows) {
  const ClockError error = job.errors[blockIdx.x];
  set_turns(job, s, shared.turns);
  for (int i = static_cast<int>(threadIdx.x); i < (kPhases + 1) * kWarpTaps; i += kThreads)
    shared.taps[i] = job.warp[i];
  const int first_row = kGuard + kTapsBehind;
  const int end = job.out_windows ? job.window : first_row + job.rows;
  for (int begin = job.out_windows ? 0 : first_row; begin < end; begin += kWarpTile)
    warp_tile(job, shared, error.error, rows, begin, min(begin + kWarpTile, end));
  if (threadIdx.x == 0) {
    job.clock[blockIdx.x] = static_cast<float>(error.error * 1e6);
    job.clock_quality[blockIdx.x] = static_cast<float>(error.quality);
  }
  __syncthreads();
}

}  // namespace
}  // namespace iqd::packet_estimator
