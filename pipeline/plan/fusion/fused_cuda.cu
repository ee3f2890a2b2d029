// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs generated kernels. Compiled without fused multiply-adds, as the operations' own kernels are.
#include <algorithm>

#include "base/error.hpp"
#include "gpu/kernel_cache.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/plan/fusion/device_headers.hpp"
#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/fusion/fused_job.hpp"

namespace iqd::fusion {

static_assert(kJobPorts >= kMostInputs && kJobPorts >= kMostOutputs);

namespace {

std::vector<char> compile(const KernelText& text) {
  const std::vector<std::string> options{"--fmad=false", "--device-as-default-execution-space"};
  try {
    return gpu::compile_cached(text.source, "iqd_fused.cu", options, gpu::current_architecture(), device_headers());
  } catch (const SetupError& e) {
    throw SetupError(std::string("neighbouring stages cannot be fused; `fuse: off` runs them one by one. ") + e.what());
  }
}

class Run final : public StageRun {
 public:
  Run(const ElementProgram& program, const KernelText& text)
      : program_(program),
        parameters_(text.parameters),
        width_(text.width),
        accesses_(text.accesses),
        multiprocessors_(gpu::count_multiprocessors()),
        module_(compile(text)),
        kernel_(module_.kernel("iqd_fused")) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    Job job = job_of(io);
    const std::int64_t rows = io.out[0].rows;
    const std::int64_t elements = job.positions * job.item;
    job.tile = tile_for(elements, rows);
    const unsigned tiles = gpu::groups_of(elements, job.tile);
    // The count is passed on even if there is no room for any position.
    const dim3 grid(program_.varies ? std::max(tiles, 1u) : tiles, static_cast<unsigned>(rows));
    void* arguments[] = {const_cast<std::byte*>(parameters_.data()), &job};
    kernel_.launch_with(grid, kJobThreads, 0, stream, arguments);
  }

 private:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& lead = io.out[0];
    Job job{};
    for (std::size_t i = 0; i < io.in.size(); ++i) {
      const PortIo& in = io.in[i];
      const auto element = static_cast<std::int64_t>(size_of(program_.values[i]));
      job.count_in[i] = in.count;
      job.in[i] = {reinterpret_cast<char*>(in.data) + (lead.first - in.first) * in.item * element, in.pitch};
    }
    for (std::size_t o = 0; o < io.out.size(); ++o) {
      job.out[o] = {reinterpret_cast<char*>(io.out[o].data), io.out[o].pitch};
      job.count_out[o] = io.out[o].count;
    }
    job.inputs = static_cast<int>(io.in.size());
    job.outputs = static_cast<int>(io.out.size());
    job.varies = program_.varies ? 1 : 0;
    job.positions = lead.length;
    job.item = lead.item;
    job.first_at = reinterpret_cast<const long long*>(lead.first_at);
    return job;
  }
  /// As many accesses per thread as leave work for every multiprocessor; one per thread for a small block.
  int tile_for(std::int64_t elements, std::int64_t rows) const noexcept {
    int accesses = accesses_;
    const auto groups = [&] { return rows * gpu::groups_of(elements, std::int64_t{kJobThreads} * accesses * width_); };
    while (accesses > 1 && groups() < multiprocessors_) accesses /= 2;
    return kJobThreads * accesses * width_;
  }

  ElementProgram program_;
  std::vector<std::byte> parameters_;
  int width_;
  int accesses_;
  std::int64_t multiprocessors_;
  gpu::CompiledModule module_;
  gpu::Kernel kernel_;
};

std::string why_not() {
  try {
    gpu::compiler_version();
    return {};
  } catch (const SetupError& e) {
    return e.what();
  }
}

}  // namespace

IQD_CUDA_HALF(why_not, construct<Run>)

}  // namespace iqd::fusion
