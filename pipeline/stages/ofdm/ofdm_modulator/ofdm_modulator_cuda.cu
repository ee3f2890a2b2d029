// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "gpu/device_array.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_modulator/make_bits.cuh"
#include "pipeline/stages/ofdm/ofdm_modulator/ofdm_modulator.hpp"

namespace iqd::ofdm_modulator {
namespace {

using gpu::Complex32;
using gpu::FftGroup;

constexpr std::int64_t kPassBits = 1 << 24;  // data bits between the kernels; at least one frame
constexpr std::int64_t kPassFrames = 65535;  // thread blocks that a grid may have in y

/// All properties of the format that samples depend on.
struct Grid {
  const Complex32* known;       // [symbol][tx][bin]
  const Complex32* points;      // of all alphabets
  const std::int32_t* data_at;  // [bin]: index of its data carrier, or -1
  const Complex32* factors;
  int symbols;
  int data_symbols;
  Midambles comb;
  int tx;
  int bits;  // of the points of all antennas on a carrier
  struct {
    int bits;         // of a point
    int before;       // of the antennas before this one on a carrier
    int first_point;  // of its alphabet
  } of[OfdmFormat::kMostTx];
  int prefix;
  int first_prefix;
  std::int64_t frame_bits;
};

struct Output {
  std::byte* y;
  std::int64_t pitch;  // bytes
};

__device__ Complex32 fetch(const Complex32* value) {
  const float2 v = __ldg(reinterpret_cast<const float2*>(value));
  return {v.x, v.y};
}

/// What antenna `a` sends at bin n of a symbol; `bits` are those of the frame.
template <int N> __device__ Complex32 value_of(const Grid& grid, const std::uint8_t* bits, int symbol, int a, int n) {
  const int behind = symbol - 1 - grid.tx;
  const int i = behind < 0 || grid.comb.in(behind) >= 0 ? -1 : __ldg(grid.data_at + n);
  if (i < 0) return fetch(grid.known + (symbol * grid.tx + a) * N + n);
  const int d = grid.comb.data_before(behind);
  const int count = grid.of[a].bits;
  const std::uint8_t* const its =
      bits + static_cast<std::int64_t>(i * grid.data_symbols + d) * grid.bits + grid.of[a].before;
  int number = 0;
  for (int b = 0; b < count; ++b) number = number << 1 | its[b];
  return fetch(grid.points + grid.of[a].first_point + number);
}

/// Antenna blockIdx.y; transforms are counted over the symbols of all frames of the pass. An inverse transform is a
/// forward one with real and imaginary parts swapped at input and output.
template <int N> __global__ void __launch_bounds__(FftGroup<N>::kThreads, FftGroup<N>::kAtOnce)
    transform_symbols(const Pass pass, const Grid grid, const std::uint8_t* bits, const Output out) {
  extern __shared__ Complex32 shared[];
  __shared__ std::int64_t offset;
  if (threadIdx.x == 0) offset = *pass.first_at % pass.frame;
  __syncthreads();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * FftGroup<N>::kFrames;
  const std::int64_t left = pass.count(offset) * grid.symbols - first;
  if (left <= 0) return;
  const int a = static_cast<int>(blockIdx.y);
  auto* const y = reinterpret_cast<float2*>(out.y + a * out.pitch);

  const auto load = [&](const gpu::FftPlace& place) {
    const std::int64_t transform = first + place.at / N;
    const std::int64_t frame = transform / grid.symbols;
    const auto symbol = static_cast<int>(transform % grid.symbols);
    const Complex32 v = value_of<N>(grid, bits + frame * grid.frame_bits, symbol, a, place.n);
    return Complex32{v.im, v.re};
  };
  const auto store = [&](const gpu::FftPlace& place, Complex32 z) {
    const std::int64_t transform = first + place.at / N;
    const auto symbol = static_cast<int>(transform % grid.symbols);
    const std::int64_t begin = (pass.begin + transform / grid.symbols) * pass.frame - offset + grid.first_prefix +
                               static_cast<std::int64_t>(symbol) * (grid.prefix + N);
    for (int n = place.n; n >= -(symbol == 0 ? grid.first_prefix : grid.prefix); n -= N)
      if (begin + n >= 0 && begin + n < pass.length) y[begin + n] = {z.im, z.re};
  };
  const auto transforms = static_cast<int>(min(left, static_cast<std::int64_t>(FftGroup<N>::kFrames)));
  gpu::fft_frames<N>(transforms, grid.factors, shared, load, store);
}

using Kernel = gpu::FftKernel<Pass, Grid, const std::uint8_t*, Output>;

Kernel kernel_for(std::int64_t fft) {
  if (gpu::fft_shared_bytes(fft) > gpu::most_shared_bytes())
    throw SetupError(
        "ofdm_modulator: the GPU has too little shared memory for this fft; use a smaller one, or "
        "set `backend: cpu`");
  const Kernel kernel = gpu::with_fft_size(
      fft, [](auto n) -> Kernel { return gpu::fft_kernel<n()>(transform_symbols<n()>); }, gpu::FromSixtyFour());
  kernel.allow("shared memory of a transform");
  return kernel;
}

std::span<const Complex32> parts_of(std::span<const cf32> values) {
  return {reinterpret_cast<const Complex32*>(values.data()), values.size()};
}

gpu::DeviceArray<std::int32_t> data_places(const OfdmFrameMaker& maker) {
  std::vector<std::int32_t> at(static_cast<std::size_t>(maker.format().fft), -1);
  std::int32_t i = 0;
  for (const std::int32_t bin : maker.data_bins()) at[static_cast<std::size_t>(bin)] = i++;
  return gpu::DeviceArray<std::int32_t>(std::span<const std::int32_t>(at));
}

gpu::DeviceArray<std::uint32_t> bits_of(const PnSequence& pn) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(pn.period() / 32 + 1));
  std::uint32_t state = pn.state_at(0);
  for (std::int64_t n = 0; n < pn.period(); ++n, state = pn.next(state))
    bits[static_cast<std::size_t>(n / 32)] |= pn.bit(state) << (n % 32);
  return gpu::DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(bits));
}

class Run final : public StageRun {
 public:
  Run(const Frames& frames, const WordSums& words, bool of_bits)
      : format_(frames.maker().format()),
        kernel_(kernel_for(format_.fft)),
        known_(parts_of(frames.maker().known())),
        points_(parts_of(frames.maker().points())),
        data_at_(data_places(frames.maker())),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(format_.fft)))),
        sources_(std::span(words.bits)),
        masks_(std::span(words.masks)),
        filler_(frames.bits().filler()),
        grid_(grid_of(frames.maker())),
        information_(frames.bits().information()) {
    if (const WordEncoder* const encoder = frames.bits().encoder()) {
      const int k = encoder->code().information();
      coding_ = {.sources = sources_.data(),
                 .masks = masks_.data(),
                 .filler = filler_.data(),
                 .n = encoder->code().n(),
                 .k = k,
                 .sums = words.sums,
                 .packed = (k + 31) / 32,
                 .words = static_cast<int>(frames.bits().words()),
                 .bits = grid_.frame_bits};
    }
    if (of_bits) return;
    sequence_ = bits_of(frames.bits().sequence());
    period_ = static_cast<std::uint32_t>(frames.bits().sequence().period());
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return static_cast<std::size_t>(most_frames() * grid_.frame_bits);
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& out = io.out[0];
    if (out.length == 0) return;
    const Source source = source_of(io.in[0]);
    const std::int64_t touched = (out.length + 2 * format_.frame - 2) / format_.frame;  // at most
    for (std::int64_t begin = 0; begin < touched; begin += most_frames()) {
      const Pass pass{begin, std::min(most_frames(), touched - begin), format_.frame, out.length, out.first_at};
      make_frames(pass, source, out, reinterpret_cast<std::uint8_t*>(io.device_scratch), gpu::stream_of(stream));
    }
  }

 private:
  std::int64_t most_frames() const noexcept {
    return std::clamp<std::int64_t>(kPassBits / grid_.frame_bits, 1, kPassFrames);
  }
  Source source_of(const PortIo& in) const noexcept {
    const bool sequence = !sequence_.empty();
    return {sequence ? nullptr : reinterpret_cast<const std::uint8_t*>(in.data), in.first_at, sequence_.data(), period_,
            information_};
  }
  Grid grid_of(const OfdmFrameMaker& maker) const noexcept {
    Grid grid{.known = known_.data(),
              .points = points_.data(),
              .data_at = data_at_.data(),
              .factors = factors_.data(),
              .symbols = static_cast<int>(format_.symbols()),
              .data_symbols = static_cast<int>(format_.data_symbols()),
              .comb = format_.comb(),
              .tx = static_cast<int>(format_.tx),
              .bits = maker.modulation().sum(),
              .of = {},
              .prefix = static_cast<int>(format_.prefix),
              .first_prefix = static_cast<int>(format_.first_prefix()),
              .frame_bits = format_.bits(maker.modulation())};
    for (std::int64_t a = 0; a < format_.tx; ++a) {
      const int bits = maker.modulation().of(a);
      grid.of[a] = {bits, maker.modulation().before(a), OfdmFrameMaker::first_point(bits)};
    }
    return grid;
  }

  void make_frames(const Pass& pass, const Source& source, const PortIo& out, std::uint8_t* bits,
                   cudaStream_t stream) const noexcept {
    const auto frames = static_cast<unsigned>(pass.most);
    if (coding_.words > 0)
      encode_words<<<dim3(static_cast<unsigned>(coding_.words) + 1, frames), kThreads,
                     static_cast<unsigned>(coding_.packed) * sizeof(std::uint32_t), stream>>>(pass, source, coding_,
                                                                                              bits);
    else
      copy_bits<<<dim3(gpu::groups_of(information_, kThreads), frames), kThreads, 0, stream>>>(pass, source, bits);
    const dim3 groups(gpu::groups_of(pass.most * grid_.symbols, kernel_.frames), static_cast<unsigned>(format_.tx));
    kernel_.launch(groups, stream, pass, grid_, bits, Output{out.data, out.pitch});
  }

  OfdmFormat format_;
  Kernel kernel_;
  gpu::DeviceArray<Complex32> known_;
  gpu::DeviceArray<Complex32> points_;
  gpu::DeviceArray<std::int32_t> data_at_;
  gpu::DeviceArray<Complex32> factors_;
  gpu::DeviceArray<std::int32_t> sources_;
  gpu::DeviceArray<std::uint32_t> masks_;
  gpu::DeviceArray<std::uint8_t> filler_;
  gpu::DeviceArray<std::uint32_t> sequence_;
  std::uint32_t period_ = 1;
  Grid grid_;
  Coding coding_{};
  std::int64_t information_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ofdm_modulator
