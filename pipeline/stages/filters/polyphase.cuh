// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "gpu/device_array.hpp"
#include "pipeline/stages/filters/products.cuh"
#include "pipeline/stages/rows.cuh"
#include "signal/filters/polyphase.hpp"

/// signal/filters/polyphase.hpp's filter on a GPU, one thread per output. Inputs and taps are read through the L1
/// cache, which adjacent threads share.
namespace iqd::dsp {

inline constexpr int kPolyphaseThreads = 256;

/// One block of rows. Taps are in the order in which adjacent outputs need them, that of the oldest input first:
/// [taps][m mod L], or, with fewer rows than phases, [taps][row], each with the difference to the next row's.
template <class Sample, class Tap> struct PolyphaseJob {
  View<const Sample, 2> x;
  View<Sample, 2> y;
  const std::int64_t* x_first_at;
  const std::int64_t* y_first_at;
  const Tap* h;
  Ratio ratio;
  std::int64_t past;
  int taps;
  int row_stride;
  int rows;
  int short_from;  // a phase
};

/// The first output's place, counted in x from the oldest input that it needs, and its number modulo L.
struct PolyphaseStart {
  PolyphasePlace place;
  std::uint32_t turn;
};

/// The place `steps` outputs later.
__device__ inline PolyphasePlace advance(PolyphasePlace place, const Ratio& ratio, std::int64_t steps) {
  const std::int64_t ahead = place.phase + steps * ratio.down;
  auto whole = static_cast<std::int64_t>(static_cast<double>(ahead) / static_cast<double>(ratio.up));
  std::int64_t phase = ahead - whole * ratio.up;
  if (phase < 0) --whole, phase += ratio.up;
  if (phase >= ratio.up) ++whole, phase -= ratio.up;
  return {place.at + whole, phase};
}

/// The sum of taps begin … end - 1 times x(begin) …, in runs: rounding errors grow with the length of a chain of sums.
template <class Sample, class Tap, class At>
__device__ Sample sum_of_products(const Sample* x, int begin, int end, const At& tap_at, Tap) {
  constexpr int kRun = 64;
  Sample sum{};
  for (int from = begin; from < end; from += kRun) {
    Sample run{};
    const int to = min(from + kRun, end);
#pragma unroll 8
    for (int j = from; j < to; ++j) run = multiply_add(Tap(tap_at(j)), x[j], run);
    add(run, sum);
  }
  return sum;
}

/// Reference: y[m] = sum over j of h[phase][j] * x[place(m).at + ahead - (taps - 1) + j]
template <class Sample, class Tap, bool Between> __global__ void __launch_bounds__(kPolyphaseThreads)
    filter_phases(const PolyphaseJob<Sample, Tap> job) {
  __shared__ PolyphaseStart start;
  if (threadIdx.x == 0) {
    const std::int64_t first = *job.y_first_at;
    start.place = place_of(job.ratio, first);
    start.place.at -= job.past + *job.x_first_at;
    start.turn = static_cast<std::uint32_t>(first % job.ratio.up);
  }
  __syncthreads();
  const std::int64_t m = static_cast<std::int64_t>(blockIdx.x) * kPolyphaseThreads + threadIdx.x;
  if (m >= job.y.extent(1)) return;
  const PolyphasePlace place = advance(start.place, job.ratio, m);
  const Sample* const x = job.x.row(blockIdx.y).data() + place.at;
  const auto within = [&](std::int64_t j) {
    return static_cast<int>(min(max(j, std::int64_t{0}), std::int64_t{job.taps}));
  };
  const int begin = max(within(-place.at), !Between && place.phase >= job.short_from ? 1 : 0);
  const int end = within(job.x.extent(1) - place.at);
  Sample& y = job.y(blockIdx.y, m);
  if constexpr (Between) {
    const double at =
        static_cast<double>(place.phase) * (static_cast<double>(job.rows) / static_cast<double>(job.ratio.up));
    const int row = static_cast<int>(at);
    const auto part = static_cast<float>(at - row);
    const auto tap = [&](int j) {
      const float2 h = __ldg(job.h + static_cast<std::int64_t>(j) * job.row_stride + row);
      return fmaf(part, h.y, h.x);
    };
    y = sum_of_products(x, begin, end, tap, float());
  } else {
    const std::uint32_t turn = (start.turn + static_cast<std::uint32_t>(m)) % static_cast<std::uint32_t>(job.ratio.up);
    const auto tap = [&](int j) { return __ldg(job.h + static_cast<std::int64_t>(j) * job.row_stride + turn); };
    y = sum_of_products(x, begin, end, tap, Tap());
  }
}

template <class Sample, class Tap, bool Between> class PolyphaseRun final : public StageRun {
 public:
  PolyphaseRun(const PolyphaseTaps& taps, const std::vector<Tap>& placed, std::int64_t row_stride)
      : shape_(taps), row_stride_(static_cast<int>(row_stride)), taps_(placed) {
    shape_.re.clear();
    shape_.im.clear();
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0];
    const PolyphaseJob<Sample, Tap> job{.x = in.as<const Sample>(),
                                        .y = out.as<Sample>(),
                                        .x_first_at = in.first_at,
                                        .y_first_at = out.first_at,
                                        .h = taps_.data(),
                                        .ratio = shape_.ratio,
                                        .past = shape_.past(),
                                        .taps = static_cast<int>(shape_.taps),
                                        .row_stride = row_stride_,
                                        .rows = static_cast<int>(shape_.rows),
                                        .short_from = static_cast<int>(shape_.short_from)};
    launch_rows(filter_phases<Sample, Tap, Between>, job, out, kPolyphaseThreads, kPolyphaseThreads, stream);
  }

 private:
  PolyphaseTaps shape_;  // without the taps
  int row_stride_;
  gpu::DeviceArray<Tap> taps_;
};

template <class Sample, class Tap, class Of>
std::unique_ptr<StageRun> make_exact_run(const PolyphaseTaps& taps, const Of& of) {
  std::vector<Tap> placed;
  for (std::int64_t j = 0; j < taps.taps; ++j)
    for (std::int64_t turn = 0; turn < taps.rows; ++turn)
      placed.push_back(of(static_cast<std::size_t>(place_of(taps.ratio, turn).phase * taps.taps + j)));
  return std::make_unique<PolyphaseRun<Sample, Tap, false>>(taps, placed, taps.rows);
}

template <class Sample> std::unique_ptr<StageRun> make_between_run(const PolyphaseTaps& taps) {
  std::vector<float2> placed;
  for (std::int64_t j = 0; j < taps.taps; ++j)
    for (std::int64_t row = 0; row < taps.rows; ++row) {
      const float h = taps.re[static_cast<std::size_t>(row * taps.taps + j)];
      placed.push_back({h, taps.re[static_cast<std::size_t>((row + 1) * taps.taps + j)] - h});
    }
  return std::make_unique<PolyphaseRun<Sample, float2, true>>(taps, placed, taps.rows);
}

/// Complex taps are for cf32 only, and need as many rows as phases. Throws SetupError.
inline std::unique_ptr<StageRun> make_polyphase_run(const PolyphaseTaps& taps, Element element) {
  if (taps.between) return element == Element::f32 ? make_between_run<float>(taps) : make_between_run<float2>(taps);
  const auto real = [&](std::size_t at) { return taps.re[at]; };
  if (element == Element::f32) return make_exact_run<float, float>(taps, real);
  if (taps.im.empty()) return make_exact_run<float2, float>(taps, real);
  return make_exact_run<float2, float2>(taps, [&](std::size_t at) { return float2{taps.re[at], taps.im[at]}; });
}

}  // namespace iqd::dsp
