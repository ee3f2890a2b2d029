// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/equalizer/descend.cuh"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "pipeline/stages/telemetry/equalizer/fit_channels.cuh"
#include "pipeline/stages/telemetry/equalizer/follow_drafts.cuh"
#include "pipeline/stages/telemetry/equalizer/make_symbols.cuh"
#include "pipeline/stages/telemetry/equalizer/solve_systems.cuh"
#include "pipeline/stages/telemetry/equalizer/track_packets.cuh"
#include "pipeline/stages/telemetry/roots.cuh"
#include "signal/filters/scratch.hpp"

namespace iqd::equalizer {
namespace {

constexpr std::int64_t kSize = 2 * kHalf;
constexpr std::int64_t kSolverGroups = 4;  // per multiprocessor; a thread block has 476 KB of factors in scratch

gpu::DeviceArray<Complex32> factors(int size) {
  return gpu::DeviceArray<Complex32>(std::span<const Complex32>(gpu::fft_factors(size)));
}

/// A kernel with one thread block per packet, and the packet's spectrum in shared memory if there is room for it.
struct Kernel {
  void (*run)(Job);
  unsigned threads;
  std::int64_t bytes;     // of shared memory
  std::int64_t spectrum;  // bytes of it in scratch, per thread block; 0: it is in shared memory
};

Kernel make_kernel(void (*run)(Job), unsigned threads, std::int64_t bytes, std::int64_t spectrum) {
  const std::int64_t there = gpu::allow_shared(run, "loading equalizer");
  if (bytes > there)
    throw SetupError("equalizer needs " + std::to_string(bytes) + " bytes of shared memory, but the GPU has " +
                     std::to_string(there) + "; set `backend: cpu`");
  if (bytes + spectrum > there) return {run, threads, bytes, spectrum};
  return {run, threads, bytes + spectrum, 0};
}

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup)
      : most_(std::max<std::int64_t>(setup.most, 1)),
        groups_(std::min(most_, gpu::count_multiprocessors())),
        block_factors_(factors(kBlock)),
        block_roots_(telemetry::roots(kBlock, kBlock)),
        half_factors_(factors(kHalf)),
        half_roots_(telemetry::roots(static_cast<int>(kSize), kSymbolThreads)),
        detection_(std::span<const float>(setup.window.detection)),
        psi_(std::span<const float>(setup.window.psi)),
        pilot_(std::span<const float>(setup.pilot)),
        waveform_(setup.modulator ? setup.modulator->table() : std::span<const cf32>()),
        track_(setup.track),
        segment_factors_(factors(static_cast<int>(setup.segment.size))),
        segment_detection_(std::span<const float>(setup.segment.detection)),
        segment_psi_(std::span<const float>(setup.segment.psi)),
        descend_(make_kernel(
            descend, kDescendThreads, sizeof(DescendMemory),
            count_blocks(static_cast<int>(setup.format.samples())) * kBlock * std::int64_t{sizeof(Complex32)})),
        symbols_(
            make_kernel(make_symbols, kSymbolThreads, sizeof(SymbolMemory), kHalf * std::int64_t{sizeof(BinPair)})) {
    fix(setup);
    if (track_ == Track::on) setup.segment.size > 1024 ? load_passes<2048>() : load_passes<1024>();
    gpu::load_kernels("loading equalizer", solve_systems, follow_drafts, fit_channels);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    const std::int64_t factor = solver_groups_ * kSolvers * kSystem * kColumn * std::int64_t{sizeof(Complex64)};
    const std::int64_t spectra = groups_ * std::max(descend_.spectrum, symbols_.spectrum);
    return taps_bytes() + hold_refined(nullptr).bytes + static_cast<std::size_t>(std::max(factor, spectra));
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    Job job = job_of(io);
    const cudaStream_t stream = gpu::stream_of(view);
    const Refined refined = hold_refined(io.device_scratch + taps_bytes());
    std::byte* const behind = io.device_scratch + taps_bytes() + refined.bytes;
    if (track_ == Track::refine) refine(job, refined, behind, stream);
    if (track_ == Track::on) follow(job, refined, stream);
    if (job.solve_zf || job.solve_mmse) {
      job.factor = reinterpret_cast<Complex64*>(behind);
      const unsigned groups = gpu::groups_of(job.most * systems(), kSolvers);
      solve_systems<<<std::clamp(groups, 1u, solver_groups_), kSolverThreads, 0, stream>>>(job);
    }
    if (wants_cma_) put(descend_, job, behind, stream);
    put(symbols_, job, behind, stream);
  }

 private:
  /// What refining leaves for the kernels behind it, in scratch.
  struct Refined {
    Complex32* phasors;
    Complex32* channel;
    unsigned* decided;
    std::int32_t* usable;
    std::size_t bytes;  // of all

    void give(Job& job) const noexcept {
      job.held_phasors = phasors;
      job.fitted = channel;
      job.decided = decided;
      job.usable = usable;
    }
  };

  void fix(const Setup& setup);
  Job job_of(const StageIo& io) const noexcept;
  Refined hold_refined(std::byte* memory) const noexcept;
  void refine(Job& job, const Refined& refined, std::byte* scratch, cudaStream_t stream) const noexcept;
  template <int N> void load_passes();
  void follow(Job& job, const Refined& refined, cudaStream_t stream) const noexcept;

  std::int64_t systems() const noexcept { return fixed_.solve_zf + fixed_.solve_mmse; }
  std::size_t taps_bytes() const noexcept {
    return systems() == 0 ? 0 : gpu::round_256(static_cast<std::size_t>(most_ * 3 * kTaps) * sizeof(Complex32));
  }
  void put(const Kernel& kernel, Job& job, std::byte* scratch, cudaStream_t stream) const noexcept {
    job.spectra = kernel.spectrum > 0 ? reinterpret_cast<Complex32*>(scratch) : nullptr;
    const auto groups = static_cast<unsigned>(std::clamp<std::int64_t>(job.most, 1, groups_));
    kernel.run<<<groups, kernel.threads, static_cast<std::size_t>(kernel.bytes), stream>>>(job);
  }

  Job fixed_{};
  std::int64_t most_;
  std::int64_t groups_;
  unsigned solver_groups_ = 0;
  bool wants_cma_ = false;
  gpu::DeviceArray<Complex32> block_factors_;
  gpu::DeviceArray<Complex32> block_roots_;
  gpu::DeviceArray<Complex32> half_factors_;
  gpu::DeviceArray<Complex32> half_roots_;
  gpu::DeviceArray<float> detection_;
  gpu::DeviceArray<float> psi_;
  gpu::DeviceArray<float> pilot_;
  gpu::DeviceArray<cf32> waveform_;
  Track track_;
  gpu::DeviceArray<Complex32> segment_factors_;
  gpu::DeviceArray<float> segment_detection_;
  gpu::DeviceArray<float> segment_psi_;
  Kernel descend_;
  Kernel symbols_;
  Kernel track_packets_{};
  Kernel equalize_spans_{};
};

void Run::fix(const Setup& setup) {
  wants_cma_ = setup.wants(Kind::cma);
  fixed_.solve_zf = setup.wants(Kind::zf);
  fixed_.solve_mmse = setup.wants(Kind::mmse) || wants_cma_;
  const std::int64_t solver_groups = gpu::count_multiprocessors() * kSolverGroups;
  solver_groups_ = std::min(gpu::groups_of(most_ * systems(), kSolvers), static_cast<unsigned>(solver_groups));
  fixed_.block_factors = block_factors_.data();
  fixed_.block_roots = block_roots_.data();
  fixed_.half_factors = half_factors_.data();
  fixed_.half_roots = half_roots_.data();
  fixed_.detection = detection_.data();
  fixed_.psi = psi_.data();
  fixed_.window = static_cast<int>(setup.format.window());
  fixed_.samples = static_cast<int>(setup.format.samples());
  fixed_.bits = static_cast<int>(setup.format.bits());
  fixed_.log2_half_bit = std::countr_zero(static_cast<unsigned>(setup.format.samples_per_bit / 2));
  fixed_.zf_load = setup.zf_load;
  fixed_.step = setup.cma_step / static_cast<float>(setup.format.samples());
  fixed_.iterations = static_cast<int>(setup.cma_iterations);
  fixed_.kinds = fixed_.made = static_cast<int>(setup.outputs.size());
  fixed_.linear_kinds = static_cast<int>(setup.count_linear());
  std::copy(setup.outputs.begin(), setup.outputs.end(), fixed_.outputs);
  fixed_.pilot = pilot_.data();
  fixed_.waveform = reinterpret_cast<const Complex32*>(waveform_.data());
  fixed_.pilot_bits = static_cast<int>(setup.pilot.size());
  fixed_.period = static_cast<int>(setup.format.period_bits());
  fixed_.gains = setup.gains;
  fixed_.segment_factors = segment_factors_.data();
  fixed_.segment_detection = segment_detection_.data();
  fixed_.segment_psi = segment_psi_.data();
}

Run::Refined Run::hold_refined(std::byte* memory) const noexcept {
  if (track_ == Track::off) return {};
  Scratch scratch(memory);
  Refined held{};
  held.phasors = scratch.take<Complex32>(most_ * (fixed_.bits / 2));
  held.channel = scratch.take<Complex32>(most_ * kChannelTaps);
  held.decided = scratch.take<unsigned>(most_ * ((fixed_.bits + 31) / 32));
  held.usable = scratch.take<std::int32_t>(most_);
  held.bytes = gpu::round_256(scratch.bytes());
  return held;
}

/// Replaces the job's channels, and has its windows turned.
void Run::refine(Job& job, const Refined& refined, std::byte* scratch, cudaStream_t stream) const noexcept {
  refined.give(job);
  Job draft = job;
  draft.made = 1;
  draft.outputs[0] = {Kind::fde1, true};
  draft.taps = nullptr;
  put(symbols_, draft, scratch, stream);
  follow_drafts<<<std::max(gpu::groups_of(job.most, kFollowed), 1u), kFollowed, 0, stream>>>(job);
  fit_channels<<<std::max(static_cast<unsigned>(job.most), 1u), kFitThreads, 0, stream>>>(job);
  job.channel = refined.channel;
  job.turned = true;
}

template <int N> void Run::load_passes() {
  track_packets_ = make_kernel(track_packets<N>, kFitThreads, sizeof(TrackMemory<N>), 0);
  equalize_spans_ = make_kernel(equalize_spans<N>, kFitThreads, sizeof(TrackMemory<N>), 0);
}

/// Makes the symbols of all packets that can be followed; the job's kernels make the rest.
void Run::follow(Job& job, const Refined& refined, cudaStream_t stream) const noexcept {
  refined.give(job);
  job.rest = true;
  const auto packets = static_cast<unsigned>(std::max(job.most, 1));
  const dim3 spans(gpu::groups_of(job.bits, kSpan), packets);
  const auto bytes = [](const Kernel& kernel) { return static_cast<std::size_t>(kernel.bytes); };
  track_packets_.run<<<packets, kFitThreads, bytes(track_packets_), stream>>>(job);
  equalize_spans_.run<<<spans, kFitThreads, bytes(equalize_spans_), stream>>>(job);
}

Job Run::job_of(const StageIo& io) const noexcept {
  Job job = fixed_;
  job.windows = reinterpret_cast<const Complex32*>(io.in[0].data);
  job.channel = reinterpret_cast<const Complex32*>(io.in[1].data);
  job.noise = reinterpret_cast<const float*>(io.in[2].data);
  std::int64_t most = most_;
  for (std::size_t i = 0; i < 3; ++i) {
    job.given[i] = io.in[i].count;
    most = std::min(most, io.in[i].length);
  }
  job.most = static_cast<std::int32_t>(most);
  job.symbols = reinterpret_cast<Complex32*>(io.out[0].data);
  job.taps = fixed_.linear_kinds > 0 ? reinterpret_cast<Complex32*>(io.out[1].data) : nullptr;
  job.count[0] = io.out[0].count;
  job.count[1] = io.out[1].count;
  job.held_taps = reinterpret_cast<Complex32*>(io.device_scratch);
  return job;
}

std::unique_ptr<StageRun> make(const Setup& setup) {
  if (setup.window.size > kSize)
    throw SetupError("equalizer takes windows of up to " + std::to_string(kSize) +
                     " samples on a GPU; those of these packets have " + std::to_string(setup.format.window()) +
                     "; set `backend: cpu`, or a smaller `payload_bits`");
  return std::make_unique<Run>(setup);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::equalizer
