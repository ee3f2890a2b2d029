// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/element.hpp"

namespace iqd {

/// A discrete Fourier transform of one size, unscaled: y(k) = sum x(n) exp(-+j 2 pi n k / size). Made once, at set-up;
/// then `run` may be called by many threads at once.
class FftPlan {
 public:
  enum class Direction : std::uint8_t { forward, inverse };

  /// `fastest` tries algorithms for up to 0.2 s, and which one wins depends on what else the machine does: results
  /// differ from those of another plan by rounding, so one stream needs one plan. `repeatable` takes what theory says,
  /// so all plans of a size give the same bits on one kind of processor, today and tomorrow. That costs nothing up to
  /// 129 samples, 15 % at 1024, 40 % at 4096 and 50 % at 8192 (FFTW 3.3.10, AVX-512).
  enum class Algorithm : std::uint8_t { fastest, repeatable };

  /// `batch` transforms that lie one behind the other are done by one `run`. Throws SetupError where there is no
  /// memory.
  explicit FftPlan(std::int64_t size, Direction direction = Direction::forward, std::int64_t batch = 1,
                   Algorithm algorithm = Algorithm::fastest);

  /// From `in` to `out`, which are two places, both `aligned`. A plan for any address would be three to five times
  /// slower (FFTW 3.3.10, AVX-512 processor, 64 to 4096 samples), so a caller copies what is not aligned.
  void run(const cf32* in, cf32* out) const noexcept;
  static bool aligned(const cf32* memory) noexcept { return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0; }
  std::int64_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(void* plan) const noexcept;
  };
  std::int64_t size_;
  std::unique_ptr<void, Free> plan_;
};

}  // namespace iqd
