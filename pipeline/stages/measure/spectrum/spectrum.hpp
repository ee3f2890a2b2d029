// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/filters/windows.hpp"

/// The power spectrum of a block: 10 log10(mean over frames of |F{w x}(k)|^2 / (sum of w)^2), in dB, so that a tone of
/// amplitude 1 on a bin reads 0. Frames begin at multiples of `size` counted from the start of the stream. The mean is
/// over those that lie wholly in the block, or the first `average` of them.
///
/// x  [row][n]    cf32, from position x_first; the block is begin … end-1
/// y  [row][bin]  f32, bin size/2 (rounded down) is 0 Hz, the frequency to which the radio is tuned
///
/// Without a whole frame nothing is written. The floor is -200 dB (silence); NaN in a frame gives NaN. The mean is in
/// double precision. Depends on how the stream is cut into blocks. Keeps nothing between calls.
namespace iqd::spectrum {

inline constexpr float kFloorDb = -200;

struct Config {
  std::int64_t size = 1024;
  std::int64_t average = 0;
  Window window = Window::hann;
  double beta = kKaiserBeta;

  void fields(FieldVisitor& visitor);
};

/// A prepared spectrum. Many threads may use it at once, each with its own scratch.
class Spectrum {
 public:
  /// Throws SetupError if memory runs out.
  explicit Spectrum(const Config& config);
  std::int64_t size() const noexcept { return plan_.size(); }
  static std::size_t scratch_bytes(std::int64_t size) noexcept;
  /// Returns the number of averaged frames.
  std::int64_t run(View<const cf32, 2> x, std::int64_t x_first, std::int64_t begin, std::int64_t end, View<float, 2> y,
                   std::byte* scratch) const noexcept;

 private:
  void add(const cf32* x, cf32* time, cf32* bins, double* power) const noexcept;
  void write(const double* power, std::int64_t frames, float* y) const noexcept;

  std::int64_t average_;
  std::vector<float> window_;
  double reference_;  // (sum of w)^2
  FftPlan plan_;
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Config& config, std::int64_t rows);

}  // namespace iqd::spectrum
