// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd {

/// A discrete Fourier transform of one size, unscaled: y(k) = sum x(n) exp(-+j 2 pi n k / size). Built once, during
/// set-up; then many threads may call `run` at once.
class FftPlan {
 public:
  enum class Direction : std::uint8_t { forward, inverse };

  /// `fastest` tries algorithms for up to 0.2 s, once: the process and the cache folder keep the winner, so later plans
  /// of the same size and batch give the same bits on this machine. Another machine's winner may round differently.
  /// `repeatable` uses FFTW's estimate, so all plans of a size give the same bits on the same kind of CPU, every time.
  /// That costs nothing up to 129 samples, 15 % at 1024, 40 % at 4096 and 50 % at 8192 (FFTW 3.3.10, AVX-512).
  enum class Algorithm : std::uint8_t { fastest, repeatable };

  /// One `run` does `batch` consecutive transforms. Throws SetupError if there is not enough memory.
  explicit FftPlan(std::int64_t size, Direction direction = Direction::forward, std::int64_t batch = 1,
                   Algorithm algorithm = Algorithm::fastest);

  /// From `in` to `out`, which must differ and be `aligned`. A plan for any address would be three to five times slower
  /// (FFTW 3.3.10, AVX-512 CPU, 64 to 4096 samples), so callers copy unaligned data.
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

/// Scratch memory for a plan's input and output.
struct FftRoom {
  std::int64_t size;
  Scratch scratch;
  cf32* time = scratch.take<cf32>(size);
  cf32* bins = scratch.take<cf32>(size);
};

}  // namespace iqd
