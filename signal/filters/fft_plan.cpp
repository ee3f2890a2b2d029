// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/fft_plan.hpp"

#include <fftw3.h>
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.hpp"

namespace iqd {
namespace {

constexpr double kPlanSeconds = 0.2;

/// The process has one FFTW planner, which is not thread-safe; executing is.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

fftwf_complex* fftw(cf32* x) {
  return reinterpret_cast<fftwf_complex*>(x);
}

struct FftwFree {
  void operator()(cf32* memory) const noexcept { fftwf_free(memory); }
};
using FftwMemory = std::unique_ptr<cf32, FftwFree>;

/// FFTW prefers an algorithm that anything in this process has measured to its estimate. While this object lives, it
/// remembers none.
class WithoutWisdom {
 public:
  WithoutWisdom() : wisdom_(fftwf_export_wisdom_to_string()) { fftwf_forget_wisdom(); }
  ~WithoutWisdom() {
    if (wisdom_) fftwf_import_wisdom_from_string(wisdom_.get());
  }
  WithoutWisdom(const WithoutWisdom&) = delete;
  WithoutWisdom& operator=(const WithoutWisdom&) = delete;

 private:
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }  // NOLINT(*-no-malloc): FFTW's
  };
  std::unique_ptr<char, Free> wisdom_;
};

}  // namespace

FftPlan::FftPlan(std::int64_t size, Direction direction, std::int64_t batch, Algorithm algorithm) : size_(size) {
  const std::lock_guard lock(planner());
  std::optional<WithoutWisdom> as_theory_says;
  if (algorithm == Algorithm::repeatable) as_theory_says.emplace();
  const auto bytes = static_cast<std::size_t>(size * batch) * sizeof(cf32);
  const FftwMemory in(static_cast<cf32*>(fftwf_malloc(bytes)));
  const FftwMemory out(static_cast<cf32*>(fftwf_malloc(bytes)));
  const int n = static_cast<int>(size);
  const int sign = direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD;
  fftwf_set_timelimit(kPlanSeconds);
  if (in && out)
    plan_.reset(fftwf_plan_many_dft(1, &n, static_cast<int>(batch), fftw(in.get()), nullptr, 1, n, fftw(out.get()),
                                    nullptr, 1, n, sign,
                                    algorithm == Algorithm::fastest ? FFTW_MEASURE : FFTW_ESTIMATE));
  if (!plan_) throw SetupError(fmt::format("no memory for a transform of {} samples; use a smaller size", size));
}

void FftPlan::run(const cf32* in, cf32* out) const noexcept {
  // An out-of-place complex transform does not change its input.
  fftwf_execute_dft(static_cast<fftwf_plan>(plan_.get()), fftw(const_cast<cf32*>(in)), fftw(out));
}

void FftPlan::Free::operator()(void* plan) const noexcept {
  const std::lock_guard lock(planner());
  fftwf_destroy_plan(static_cast<fftwf_plan>(plan));
}

}  // namespace iqd
