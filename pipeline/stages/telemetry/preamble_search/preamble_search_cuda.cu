// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Five kernels: find the largest U of each cell; decide which of these are candidates; choose the chain and its starts;
// check which windows may be sent; copy them. Everything is passed on in the order of the stream, so no result depends on
// which thread block runs first. Products and sums are in the CPU's order.
#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/preamble_search/choose_starts.cuh"
#include "pipeline/stages/telemetry/preamble_search/find_candidates.cuh"
#include "pipeline/stages/telemetry/preamble_search/place_windows.cuh"
#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"
#include "pipeline/stages/telemetry/preamble_search/search_cells.cuh"
#include "signal/filters/scratch.hpp"

namespace iqd::preamble_search {
namespace {

/// Starts within so many samples, and one before the first.
std::int64_t most_packets(const Pattern& p, std::int64_t fresh) {
  return fresh / p.spacing.closest + 2;
}

template <class Sample> class Run final : public StageRun {
 public:
  Run(const Pattern& pattern, std::int64_t most_new)
      : pattern_(pattern),
        most_new_(most_new),
        layout_(pattern),
        preamble_(constants(pattern.preamble)),
        sync_word_(constants(pattern.sync_word)) {
    const std::int64_t most = gpu::allow_shared(search_cells<Sample>, "shared memory for a search");
    if (static_cast<std::int64_t>(layout_.shared_bytes()) > most)
      throw SetupError("preamble_search: a preamble of " + std::to_string(pattern.span) +
                       " samples is too long for this device; set `backend: cpu`");
    gpu::load_kernels("loading preamble_search", find_candidates<Sample>, choose_starts, check_windows<Sample>,
                      place_windows<Sample>);
  }

  std::size_t device_scratch_bytes() const noexcept override { return room(nullptr).scratch.bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const auto stream = gpu::stream_of(view);
    Job job = job_of(io);
    const std::int64_t tiles = set_tiles(job);
    if (tiles > 0)
      search_cells<Sample><<<static_cast<unsigned>(tiles), kThreads, layout_.shared_bytes(), stream>>>(job);
    if (job.groups > 0) find_candidates<Sample><<<static_cast<unsigned>(job.groups), kThreads, 0, stream>>>(job);
    choose_starts<<<1, kThreads, 0, stream>>>(job);
    const auto packets = static_cast<unsigned>(most_packets(pattern_, job.fresh.length()));
    check_windows<Sample><<<packets, kThreads, 0, stream>>>(job);
    place_windows<Sample><<<packets * kParts, kThreads, 0, stream>>>(job);
  }

 private:
  static gpu::DeviceArray<float2> constants(const std::vector<cf32>& x) {
    return gpu::DeviceArray<float2>({reinterpret_cast<const float2*>(x.data()), x.size()});
  }

  Room room(std::byte* memory) const noexcept {
    return {ceil_div(most_new_ + 2 * (pattern_.spacing.samples + pattern_.near) + pattern_.before(), layout_.cell),
            most_packets(pattern_, most_new_), Scratch(memory)};
  }

  /// Sets the tiles that hold the searched range and the wanted T; returns how many there are.
  std::int64_t set_tiles(Job& job) const noexcept {
    const std::int64_t origin = job.searched.first;
    const Positions wanted = job.correlation ? job.correlated : Positions{origin, origin};
    job.first_tile = floor_div(std::min<std::int64_t>(0, wanted.first - origin), layout_.tile);
    const std::int64_t end = std::max(job.searched.length(), wanted.end - origin);
    return ceil_div(end, layout_.tile) - job.first_tile;
  }

  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    Job job{room(io.device_scratch)};
    job.x = in.data;
    job.length = in.length;
    job.valid = in.length - pattern_.span + 1;
    job.first_at = in.first_at;
    job.fresh = {io.first_new - in.first, io.end_new - in.first};
    job.searched = pattern_.searched(in.length, job.fresh);
    job.within = pattern_.candidates(job.fresh);
    job.layout = layout_;
    job.repeats = static_cast<int>(pattern_.repeats);
    job.near = pattern_.near;
    job.before = pattern_.before();
    job.span = pattern_.span;
    job.spacing = pattern_.spacing;
    job.threshold = pattern_.threshold;
    job.least_share = pattern_.least_share;
    job.carry = pattern_.carry;
    job.flywheel = pattern_.flywheel;
    job.track = reinterpret_cast<Track*>(io.carry);
    job.restart = io.fresh;
    job.preamble = preamble_.data();
    job.sync_word = sync_word_.data();
    job.sync_length = static_cast<int>(sync_word_.size());
    job.cell_count = ceil_div(job.searched.length(), layout_.cell);
    job.groups = static_cast<int>(gpu::groups_of(job.cell_count, kThreads));
    const PortIo& correlation = io.out[kCorrelation];
    job.correlation = correlation.row<float>();
    job.correlated = {correlation.first - in.first, correlation.end() - in.first};
    job.windows = io.out[kWindows];
    job.start = io.out[kStart];
    job.metric = io.out[kMetric];
    job.events = io.out[kTally];
    job.put = io.out[kPut];
    job.lock = io.out[kLock];
    return job;
  }

  Pattern pattern_;
  std::int64_t most_new_;
  Layout layout_;
  gpu::DeviceArray<float2> preamble_;
  gpu::DeviceArray<float2> sync_word_;
};

std::unique_ptr<StageRun> make(const Pattern& pattern, std::int64_t most_new, Element element) {
  if (element == Element::sc16) return std::make_unique<Run<short2>>(pattern, most_new);
  return std::make_unique<Run<float2>>(pattern, most_new);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::preamble_search
