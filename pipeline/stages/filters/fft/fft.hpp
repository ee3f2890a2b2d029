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

/// Discrete Fourier transforms of the frames x(i size) … x((i + 1) size - 1), i counted from the start of the stream:
/// y(i, k) = sum over n of w(n) x(i size + n) exp(-j 2 pi n k / size), with + if `inverse`. No scaling either way.
///
/// x  [row][n]           cf32, from position x_first; has to hold every requested frame
/// y  [row][frame][bin]  cf32, from frame y_first
///
/// shift: forward, bin size/2 (rounded down) is 0 Hz; inverse, the input is in that order, and is windowed in it.
/// Error below 1e-6 of the result's rms. A NaN or infinity spoils its frame. Within one run of the program the same
/// frame gives the same bits however the stream is cut; in the next FFTW may choose another algorithm. Keeps nothing.
namespace iqd::fft {

struct Config {
  std::int64_t size = 1024;
  bool inverse = false;
  Window window = Window::rectangular;
  double beta = kKaiserBeta;
  bool shift = false;

  void fields(FieldVisitor& visitor);
};

/// A prepared transform. Many threads may use it at once, each with its own scratch.
class Transform {
 public:
  /// Throws SetupError if memory runs out.
  explicit Transform(const Config& config);
  std::int64_t size() const noexcept { return size_; }
  static std::size_t scratch_bytes(std::int64_t size) noexcept;
  void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 3> y, std::int64_t y_first,
           std::byte* scratch) const noexcept;

 private:
  struct Frames {
    std::int64_t first;
    std::int64_t count;
    std::int64_t skipped;  // places of the batch before the first frame
  };
  void run_batch(const cf32* x, cf32* y, const Frames& frames, cf32* time, cf32* bins) const noexcept;
  void load(const cf32* x, cf32* time) const noexcept;

  std::int64_t size_;
  std::int64_t batch_;
  bool shift_before_;
  bool shift_after_;
  std::vector<float> window_;  // empty if rectangular
  FftPlan plan_;
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Config& config);

}  // namespace iqd::fft
