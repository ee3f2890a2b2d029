// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Two kernels: channels of the pilot symbols; and delay, drift and the slots themselves.
#include <algorithm>
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/noma/noma_slots/noma_slots.hpp"

namespace iqd::noma_slots {
namespace {

struct Job {
  Layout layout;
  const Complex* carriers;
  const Complex* signs;
  const float2* points;
  const Complex* rows;
  Complex* channels;  // [frame][symbol][user][rx]
  Output out;
  const std::int32_t* found;
  std::int32_t* counts[kPorts];
};

/// Sum of make(antenna, part) over the parts of each antenna; threads 0 … rx - 1 get their antenna's.
template <class T, class F> __device__ T sum_parts(const Layout& l, F make) {
  __shared__ T sums[kSums];  // [part][antenna]
  const int t = static_cast<int>(threadIdx.x), rx = static_cast<int>(l.rx);
  __syncthreads();
  if (t < l.parts() * rx) sums[t] = make(t % rx, t / rx);
  __syncthreads();
  T sum;
  if (t < rx)
    for (int part = 0; part < l.parts(); ++part) add(sum, sums[part * rx + t]);
  return sum;
}

/// Sum over all antennas, from threads 0 … rx - 1, for all threads. A `sum_parts` has to be between two calls.
__device__ Complex sum_antennas(const Layout& l, Complex own) {
  __shared__ Complex antennas[kMostAntennas];
  if (threadIdx.x < l.rx) antennas[threadIdx.x] = own;
  __syncthreads();
  Complex sum;
  for (int r = 0; r < l.rx; ++r) add(sum, antennas[r]);
  return sum;
}

/// Estimates from the training symbol: each antenna's, for threads 0 … rx - 1, and the delay, for all threads.
struct Heard {
  Pairs own;
  float delay = 0;
};
__device__ Heard hear(const Job& job, const Complex* symbol) {
  const Layout& l = job.layout;
  Heard heard;
  heard.own = sum_parts<Pairs>(l, [&](int r, int part) { return l.halves_of(symbol, job.signs, r, part); });
  const Complex halves = sum_antennas(l, heard.own.weighted());
  if (l.timing) heard.delay = l.delay_of(halves);
  return heard;
}
__device__ Complex find_turn(const Job& job, const Complex* symbol, const Heard& heard) {
  const Layout& l = job.layout;
  const auto ramp = [&](std::int64_t c) { return l.ramp_of(c, heard.delay); };
  const Complex own =
      sum_parts<Complex>(l, [&](int r, int part) { return l.channel_of(symbol, job.signs, r, part, ramp); });
  return turn_back(sum_antennas(l, heard.own.weighted(own)));
}
__device__ float find_drift(const Job& job, const Complex* channels) {
  const Layout& l = job.layout;
  if (!l.drift) return 0;
  const Pairs own = sum_parts<Pairs>(l, [&](int r, int part) { return l.neighbours_of(channels, r, part); });
  return Layout::drift_of(sum_antennas(l, own.weighted()));
}

/// One thread block for each pilot symbol and user.
__global__ void __launch_bounds__(kSums) find_channels(const Job job) {
  const Layout& l = job.layout;
  const std::int64_t rows = l.training * l.users, i = blockIdx.x % rows, f = blockIdx.x / rows;
  if (f >= dsp::read_once(job.found)) return;
  const Complex* const frame = job.carriers + f * l.frame_size();
  const Complex* const symbol = frame + (kBefore + i / l.users) * l.symbol_size();
  const Complex* const row = job.rows + i * l.carriers;
  const float delay = hear(job, frame + l.symbol_size()).delay;
  const auto ramp = [&](std::int64_t c) { return l.ramp_of(c, delay); };
  const Complex channel =
      sum_parts<Complex>(l, [&](int r, int part) { return l.channel_of(symbol, row, r, part, ramp); });
  if (threadIdx.x < l.rx) job.channels[blockIdx.x * l.rx + threadIdx.x] = channel;
}

/// One thread block for each pilot or data symbol. Each computes delay, drift and phase itself: that reads about as
/// much as it writes, and saves another kernel.
__global__ void __launch_bounds__(kSums) place_slots(const Job job) {
  const Layout& l = job.layout;
  const int t = static_cast<int>(threadIdx.x), rx = static_cast<int>(l.rx);
  const std::int64_t symbols = l.symbols - kBefore, s = blockIdx.x % symbols, f = blockIdx.x / symbols;
  const std::int32_t found = dsp::read_once(job.found);
  if (blockIdx.x == 0 && t < kPorts) *job.counts[t] = found;
  if (f >= found) return;
  const Complex* const frame = job.carriers + f * l.frame_size();
  const Heard heard = hear(job, frame + l.symbol_size());
  const Complex turn = find_turn(job, frame + l.symbol_size(), heard);
  const float drift = find_drift(job, job.channels + f * l.channels_size());
  if (s == 0 && t == 0) job.out.delay[f] = heard.delay, job.out.drift[f] = drift;
  const Complex spin = product(Layout::spin_of(s + 1, drift), turn);
  const Complex* const symbol = frame + (s + kBefore) * l.symbol_size();
  for (std::int64_t c = t / rx; t < l.parts() * rx && c < l.carriers; c += l.parts()) {
    Complex* const to = job.out.row_of(l, f, s, c);
    if (to == nullptr) break;  // the later ones are not used either
    to[t % rx] = product(symbol[c * rx + t % rx], product(l.ramp_of(c, heard.delay), spin));
  }
  if (job.out.train_tx == nullptr) return;
  auto* const to = reinterpret_cast<float2*>(job.out.train_tx) + f * l.pilots * l.users;
  const std::int64_t first = s * l.carriers, end = min(first + l.carriers, l.pilots);
  for (std::int64_t i = first * l.users + t; i < end * l.users; i += kSums) to[i] = job.points[i];
}

class Run final : public StageRun {
 public:
  Run(const Layout& layout, const Known& known, std::int64_t most)
      : layout_(layout),
        most_(most),
        signs_(std::span(known.signs)),
        points_(std::span(known.points)),
        rows_(std::span(known.channels)) {
    gpu::load_kernels("loading noma_slots", find_channels, place_slots);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return static_cast<std::size_t>(most_ * layout_.channels_size()) * sizeof(Complex);
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    Job job{.layout = layout_,
            .carriers = reinterpret_cast<const Complex*>(io.in[0].data),
            .signs = reinterpret_cast<const Complex*>(signs_.data()),
            .points = reinterpret_cast<const float2*>(points_.data()),
            .rows = reinterpret_cast<const Complex*>(rows_.data()),
            .channels = reinterpret_cast<Complex*>(io.device_scratch),
            .out = output_of(io),
            .found = io.in[0].count,
            .counts = {}};
    for (int port = 0; port < kPorts; ++port) job.counts[port] = io.out[static_cast<std::size_t>(port)].count;
    const std::int64_t frames = std::max<std::int64_t>(io.in[0].length, 1);
    const auto rows = static_cast<unsigned>(frames * layout_.training * layout_.users);
    const auto symbols = static_cast<unsigned>(frames * (layout_.symbols - kBefore));
    if (layout_.drift) find_channels<<<rows, kSums, 0, gpu::stream_of(stream)>>>(job);
    place_slots<<<symbols, kSums, 0, gpu::stream_of(stream)>>>(job);
  }

 private:
  Layout layout_;
  std::int64_t most_;
  gpu::DeviceArray<cf32> signs_;
  gpu::DeviceArray<cf32> points_;
  gpu::DeviceArray<cf32> rows_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::noma_slots
