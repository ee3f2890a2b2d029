// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <cufft.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/element.hpp"
#include "gpu/runtime.hpp"

namespace iqd::gpu {

/// cuFFT's transforms of one size, unscaled, for any number of consecutive frames. A cuFFT plan is for one number of
/// frames and slow to make, so there is one for each power of two up to `most`, and a count is composed of them. The
/// rounding of a frame may depend on its plan.
///
/// May be used by many threads at once, each with its own working memory. A plan has one stream and one working memory,
/// so a mutex guards putting it on a stream.
class FftPlans {
 public:
  /// Throws SetupError. Runs each plan once, so that nothing is loaded later. A transform of size 1 is a copy.
  explicit FftPlans(std::int64_t size);

  std::int64_t size() const noexcept { return size_; }
  /// Most frames per plan: 2^20 samples or one frame, whichever is more. Callers with intermediate buffers need room
  /// for that many.
  std::int64_t most() const noexcept { return most_; }
  /// Working memory of a run, a multiple of 256.
  std::size_t work_bytes() const noexcept { return work_bytes_; }
  /// Memory of such a buffer for `most` frames, a multiple of 256.
  std::size_t held_bytes() const noexcept { return round_256(static_cast<std::size_t>(most_ * size_) * sizeof(cf32)); }

  /// Both on the device and aligned to 16 bytes; `in` may be `out`, otherwise it does not change. If cuFFT refuses,
  /// cudaGetLastError shows it.
  void run(const cf32* in, cf32* out, std::int64_t frames, bool inverse, std::byte* work,
           cudaStream_t stream) const noexcept;

 private:
  class Plan {
   public:
    Plan(std::int64_t size, std::int64_t frames);
    Plan(Plan&& o) noexcept;
    Plan& operator=(Plan&&) = delete;
    ~Plan();
    std::size_t work_bytes() const noexcept { return work_bytes_; }
    bool run(const cf32* in, cf32* out, bool inverse, std::byte* work, cudaStream_t stream) const noexcept;

   private:
    cufftHandle handle_ = 0;
    bool made_ = false;
    std::size_t work_bytes_ = 0;
  };

  void rehearse() const;

  std::int64_t size_;
  std::int64_t most_ = 1;
  std::size_t work_bytes_ = 0;
  std::vector<Plan> plans_;  // for 1, 2, 4, … frames
  std::unique_ptr<std::mutex> mutex_;
};

}  // namespace iqd::gpu
