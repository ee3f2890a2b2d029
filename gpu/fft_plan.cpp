// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/fft_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "gpu/runtime.hpp"

namespace iqd::gpu {
namespace {

constexpr std::int64_t kMostSamples = 1 << 20;
constexpr std::size_t kAlignment = 256;

cufftComplex* cufft(cf32* x) {
  return reinterpret_cast<cufftComplex*>(x);
}

void check_plan(cufftResult result, std::int64_t size, std::int64_t frames) {
  if (result == CUFFT_SUCCESS) return;
  throw SetupError(
      fmt::format("cuFFT: no plan for {} transforms of {} samples: error {}", frames, size, static_cast<int>(result)));
}

struct Free {
  void operator()(std::byte* memory) const noexcept { cudaFree(memory); }
};

}  // namespace

FftPlans::Plan::Plan(std::int64_t size, std::int64_t frames) {
  const Quiet quiet;
  check_plan(cufftCreate(&handle_), size, frames);
  made_ = true;
  try {
    check_plan(cufftSetAutoAllocation(handle_, 0), size, frames);
    long long n = size;
    check_plan(cufftMakePlanMany64(handle_, 1, &n, nullptr, 1, n, nullptr, 1, n, CUFFT_C2C, frames, &work_bytes_), size,
               frames);
  } catch (...) {
    cufftDestroy(handle_);
    throw;
  }
}

FftPlans::Plan::Plan(Plan&& o) noexcept
    : handle_(o.handle_), made_(std::exchange(o.made_, false)), work_bytes_(o.work_bytes_) {}

FftPlans::Plan::~Plan() {
  if (!made_) return;
  const Quiet quiet;
  cufftDestroy(handle_);
}

bool FftPlans::Plan::run(const cf32* in, cf32* out, bool inverse, std::byte* work, cudaStream_t stream) const noexcept {
  // An out-of-place complex transform does not change its input.
  return cufftSetStream(handle_, stream) == CUFFT_SUCCESS &&
         (work_bytes_ == 0 || cufftSetWorkArea(handle_, work) == CUFFT_SUCCESS) &&
         cufftExecC2C(handle_, cufft(const_cast<cf32*>(in)), cufft(out), inverse ? CUFFT_INVERSE : CUFFT_FORWARD) ==
             CUFFT_SUCCESS;
}

FftPlans::FftPlans(std::int64_t size) : size_(size), mutex_(std::make_unique<std::mutex>()) {
  while (2 * most_ * size <= kMostSamples) most_ *= 2;
  if (size == 1) return;
  const Quiet quiet;
  for (std::int64_t frames = 1; frames <= most_; frames *= 2) {
    plans_.emplace_back(size, frames);
    work_bytes_ = std::max(work_bytes_, plans_.back().work_bytes());
  }
  work_bytes_ = (work_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
  rehearse();
}

void FftPlans::rehearse() const {
  const Quiet quiet;
  std::byte* memory = nullptr;
  const std::size_t samples = static_cast<std::size_t>(most() * size_) * sizeof(cf32);
  check(cudaMalloc(reinterpret_cast<void**>(&memory), samples + work_bytes_ + kAlignment), "memory for trying cuFFT");
  const std::unique_ptr<std::byte, Free> owner(memory);
  check(cudaMemset(memory, 0, samples), "memory for trying cuFFT");
  std::byte* const work = memory + (samples + kAlignment - 1) / kAlignment * kAlignment;
  cf32* const x = reinterpret_cast<cf32*>(memory);
  for (const Plan& plan : plans_)
    for (const bool inverse : {false, true})
      if (!plan.run(x, x, inverse, work, nullptr))
        throw SetupError(fmt::format("cuFFT does not run transforms of {} samples", size_));
  check(cudaStreamSynchronize(nullptr), "trying cuFFT");
}

void FftPlans::run(const cf32* in, cf32* out, std::int64_t frames, bool inverse, std::byte* work,
                   cudaStream_t stream) const noexcept {
  if (size_ == 1) {
    const auto bytes = static_cast<std::size_t>(frames) * sizeof(cf32);
    if (in != out) static_cast<void>(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, stream));
    return;
  }
  bool good = true;
  const std::lock_guard lock(*mutex_);
  // The largest first: the rest begins at a multiple of two frames, so it is aligned as well.
  for (auto plan = plans_.rbegin(); plan != plans_.rend(); ++plan) {
    const std::int64_t step = std::int64_t{1} << (plans_.rend() - plan - 1);
    for (; frames >= step; frames -= step, in += step * size_, out += step * size_)
      good = plan->run(in, out, inverse, work, stream) && good;
  }
  // Raises an error that the queue notices.
  cudaFuncAttributes none;
  if (!good) static_cast<void>(cudaFuncGetAttributes(&none, nullptr));
}

}  // namespace iqd::gpu
