// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/fft_plan.hpp"

#include <fftw3.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "base/files/file_cache.hpp"

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

struct FftwText {
  void operator()(char* text) const noexcept { std::free(text); }  // NOLINT(*-no-malloc): FFTW's
};
using Text = std::unique_ptr<char, FftwText>;

/// The process may have other users of FFTW, whose wisdom and limit come back when this ends.
class Alone {
 public:
  Alone() : others_(fftwf_export_wisdom_to_string()) {
    fftwf_forget_wisdom();
    fftwf_set_timelimit(kPlanSeconds);
  }
  ~Alone() {
    fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
    fftwf_forget_wisdom();
    if (others_) fftwf_import_wisdom_from_string(others_.get());
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Text others_;
};

/// What FFTW found out by measuring, for each kind of plan: in this process and, for the next ones, in files. So all
/// plans of a kind are the same algorithm on a machine, and a start measures nothing that an earlier one has measured.
/// Holds the planner's mutex.
class Wisdom {
 public:
  /// Makes FFTW know what was found out for this kind.
  void recall(const std::string& kind) {
    known_ = texts_[kind];
    if (known_.empty())
      if (const auto kept = files_.find(content_key({kind, fftwf_version}))) known_.assign(kept->begin(), kept->end());
    if (!known_.empty() && fftwf_import_wisdom_from_string(known_.c_str()) == 0) known_.clear();
  }
  /// After a plan of the kind was made.
  void remember(const std::string& kind) {
    if (known_.empty()) {
      const Text text(fftwf_export_wisdom_to_string());
      if (!text) return;
      known_ = text.get();
      files_.keep(content_key({kind, fftwf_version}), {known_.begin(), known_.end()});
    }
    texts_[kind] = known_;
  }

 private:
  static std::filesystem::path folder() {
    const std::filesystem::path folder = cache_folder();
    return folder.empty() ? folder : folder / "transforms";
  }

  FileCache files_{folder()};
  std::map<std::string, std::string> texts_;
  std::string known_;  // of the kind that was recalled; empty: nothing
};

Wisdom& wisdom() {
  static Wisdom one;
  return one;
}

}  // namespace

FftPlan::FftPlan(std::int64_t size, Direction direction, std::int64_t batch, Algorithm algorithm) : size_(size) {
  const std::lock_guard lock(planner());
  // FFTW prefers an algorithm that anything has measured to its estimate.
  const std::string kind = fmt::format("{} x {}, {}", size, batch, direction == Direction::forward);
  const Alone alone;
  if (algorithm == Algorithm::fastest) wisdom().recall(kind);
  const auto bytes = static_cast<std::size_t>(size * batch) * sizeof(cf32);
  const FftwMemory in(static_cast<cf32*>(fftwf_malloc(bytes)));
  const FftwMemory out(static_cast<cf32*>(fftwf_malloc(bytes)));
  const int n = static_cast<int>(size);
  const int sign = direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD;
  if (in && out)
    plan_.reset(fftwf_plan_many_dft(1, &n, static_cast<int>(batch), fftw(in.get()), nullptr, 1, n, fftw(out.get()),
                                    nullptr, 1, n, sign,
                                    algorithm == Algorithm::fastest ? FFTW_MEASURE : FFTW_ESTIMATE));
  if (!plan_) throw SetupError(fmt::format("no memory for a transform of {} samples; use a smaller size", size));
  if (algorithm == Algorithm::fastest) wisdom().remember(kind);
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
