// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels themselves are in device_adapter.inc, compiled with the user's text.
#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "gpu/kernel_cache.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"

namespace iqd::kernel {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kElements = 4 * kThreads;  // per thread block
constexpr std::int64_t kTile = 512;               // per thread block with a halo
constexpr const char* kAnyArchitecture = "sm_90";

/// The text declares the same struct as IqdJob.
struct Job {
  const std::byte* x[2];
  std::int64_t x_pitch[2];
  std::int64_t x_length[2];
  std::int64_t before[2];
  std::byte* y;
  std::int64_t y_pitch;
  std::int64_t length;
  std::int64_t item;
  const std::int32_t* count[2];
  std::int32_t* count_out;
  Parameter p[kMostParameters];
};

std::vector<char> machine_code(const DeviceProgram& program, const std::string& architecture) {
  // 940: a function that ends without a `return`.
  const std::vector<std::string> options{"-fmad=false",
                                         "-DIQD_JOB_BYTES=" + std::to_string(sizeof(Job)),
                                         "--include-path=" + program.folder,
                                         "--device-as-default-execution-space",
                                         "--disable-warnings",
                                         "--diag-error=940"};
  return gpu::compile_cached(program.text, program.name, options, architecture);
}

class Run final : public StageRun {
 public:
  explicit Run(const DeviceProgram& program)
      : program_(program),
        module_(machine_code(program, gpu::current_architecture())),
        kernel_(module_.kernel(program.element_wise ? "iqd_elements" : "iqd_windows")) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& y = io.out[0];
    Job job{};
    for (std::size_t i = 0; i < program_.in.size(); ++i) {
      const PortIo& x = io.in[i];
      job.x[i] = x.data;
      job.x_pitch[i] = x.pitch;
      job.x_length[i] = x.length * x.item;
      job.before[i] = (y.first - x.first) * x.item;
      job.count[i] = program_.varies ? x.count : nullptr;
    }
    job.y = y.data;
    job.y_pitch = y.pitch;
    job.length = y.length * y.item;
    job.item = y.item;
    job.count_out = y.count;
    std::copy(program_.values.begin(), program_.values.end(), job.p);
    // A count is passed on even if there is no room for any position.
    const unsigned tiles = gpu::groups_of(job.length, program_.element_wise ? kElements : kTile);
    const dim3 grid(program_.varies ? std::max(tiles, 1u) : tiles, static_cast<unsigned>(y.rows));
    kernel_.launch(grid, kThreads, 0, stream, job);
  }

 private:
  DeviceProgram program_;
  gpu::CompiledModule module_;
  gpu::Kernel kernel_;
};

std::string check(const DeviceProgram& program) {
  try {
    gpu::compiler_version();
  } catch (const SetupError&) {
    return {};
  }
  try {
    machine_code(program, kAnyArchitecture);
  } catch (const SetupError& e) {
    return e.what();
  }
  return {};
}

}  // namespace

IQD_CUDA_HALF(construct<Run>, check)

}  // namespace iqd::kernel
