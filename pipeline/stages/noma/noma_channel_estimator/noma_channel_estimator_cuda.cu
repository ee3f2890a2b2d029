// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU. A thread block takes a frame for the channels,
// a carrier for the filters, a user for the symbols; with `soft` twice.
#include <algorithm>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/detect_users.cuh"
#include "pipeline/stages/noma/noma_channel_estimator/estimate_users.cuh"
#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/separate_users.cuh"

namespace iqd::noma_channel_estimator {
namespace {

std::vector<float2> float2_of(const std::vector<cf32>& values) {
  std::vector<float2> pairs;
  for (const cf32 v : values) pairs.push_back({v.real(), v.imag()});
  return pairs;
}
std::vector<float2> float2_of(const std::vector<float>& re, const std::vector<float>& im) {
  std::vector<float2> pairs;
  for (std::size_t i = 0; i < re.size(); ++i) pairs.push_back({re[i], im[i]});
  return pairs;
}
template <class T> gpu::DeviceArray<T> to_device(const std::vector<T>& values) {
  return gpu::DeviceArray<T>(std::span<const T>(values));
}

class Run final : public StageRun {
 public:
  Run(const Design& design, std::int64_t most)
      : e_(design.extents),
        most_(std::max<std::int64_t>(most, 1)),
        sent_(to_device(float2_of(design.sent))),
        turn_(to_device(float2_of(design.turn_re, design.turn_im))),
        step_turn_(to_device(float2_of(design.step_turn))),
        unused_(to_device(float2_of(design.unused))),
        filler_(to_device(design.filler)),
        odd_(to_device(design.odd)),
        known_(to_device(design.known)),
        soft_(to_device(design.soft)),
        maps_(to_device(design.maps)) {
    const PilotTimes times(design);
    tables_ = {.sent = sent_.data(),
               .turn = turn_.data(),
               .step_turn = step_turn_.data(),
               .unused = unused_.data(),
               .filler = filler_.data(),
               .odd = odd_.data(),
               .known = known_.data(),
               .soft = soft_.data(),
               .maps = maps_.data(),
               .odd_carriers = static_cast<std::int32_t>(design.odd.size()),
               .functions = times.spread > 0 ? 2 : 1,
               .symbol_seconds = design.symbol_seconds,
               .step = design.step,
               .early = design.early,
               .spread = times.spread,
               .slope = {}};
    std::copy(std::begin(times.slope), std::end(times.slope), std::begin(tables_.slope));
    std::byte* end = nullptr;
    desk_at(e_, tables_.functions, nullptr, end);
    stride_ = gpu::round_256(static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(end)));
    panel_bytes_ = sizeof(float2) * kPanel * static_cast<std::size_t>(pitch_of(e_, tables_.functions));
    filter_bytes_ = sizeof(double2) * static_cast<std::size_t>(filter_numbers(e_));
    const auto allow = [](auto kernel, std::size_t bytes) {
      gpu::allow_shared(kernel, static_cast<std::int64_t>(bytes),
                        "noma_channel_estimator: too many users and delays: set a larger `step`");
    };
    allow(estimate_users, panel_bytes_);
    allow(refine_users, panel_bytes_);
    allow(separate_users, filter_bytes_);
    gpu::load_kernels("loading noma_channel_estimator", detect_users, expect_users, count_users);
  }

  std::size_t device_scratch_bytes() const noexcept override { return static_cast<std::size_t>(most_) * stride_; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const Outputs out = outputs_of(io);
    UserJob job{.e = e_,
                .t = tables_,
                .memory = io.device_scratch,
                .stride = stride_,
                .carriers = io.in[0].row<const float2>(),
                .soft = e_.words > 0 ? io.in[1].row<const float>() : nullptr,
                .found_at = io.in[0].count,
                .counts = {},
                .symbols = reinterpret_cast<float2*>(out.symbols),
                .llr = out.llr,
                .bits = out.bits,
                .model = out.model,
                .h = reinterpret_cast<float2*>(out.h),
                .modulation = out.modulation,
                .events = reinterpret_cast<std::int64_t*>(io.out[kTally].data)};
    for (std::size_t port = 0; port < kPorts; ++port) job.counts[port] = io.out[port].count;
    const cudaStream_t stream = gpu::stream_of(view);
    const auto frames = static_cast<unsigned>(std::min<std::int64_t>(io.in[0].length, most_));
    if (frames > 0) {
      const dim3 filters(static_cast<unsigned>(e_.carriers), frames), users(static_cast<unsigned>(e_.users), frames);
      estimate_users<<<frames, kFrameThreads, panel_bytes_, stream>>>(job);
      separate_users<<<filters, kFilterThreads, filter_bytes_, stream>>>(job, false);
      detect_users<<<users, kFrameThreads, 0, stream>>>(job, false);
      if (job.soft != nullptr) {
        expect_users<<<users, kFrameThreads, 0, stream>>>(job);
        refine_users<<<frames, kFrameThreads, panel_bytes_, stream>>>(job);
        separate_users<<<filters, kFilterThreads, filter_bytes_, stream>>>(job, true);
        detect_users<<<users, kFrameThreads, 0, stream>>>(job, true);
      }
    }
    count_users<<<1, 1, 0, stream>>>(job);
  }

 private:
  Extents e_;
  std::int64_t most_;
  std::size_t stride_ = 0;
  std::size_t panel_bytes_ = 0;
  std::size_t filter_bytes_ = 0;
  UserTables tables_{};
  gpu::DeviceArray<float2> sent_, turn_, step_turn_, unused_;
  gpu::DeviceArray<float> filler_;
  gpu::DeviceArray<std::int32_t> odd_, known_;
  gpu::DeviceArray<WordsOfUser> soft_;
  gpu::DeviceArray<SymbolMap> maps_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::noma_channel_estimator
