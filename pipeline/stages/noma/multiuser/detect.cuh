// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "gpu/runtime.hpp"
#include "pipeline/stages/noma/multiuser/detect_rows.cuh"
#include "pipeline/stages/noma/multiuser/published.cuh"
#include "pipeline/stages/noma/multiuser/scheme.hpp"

/// Detection on the GPU: the launches for a frame whose model exists.
namespace iqd::noma {

/// A kernel and its launch parameters.
struct DetectKernel {
  void (*run)(DetectShape, ModelView, FrameJob);
  unsigned threads;
  std::size_t shared;
};

/// As many warps as the registers allow.
template <int kChunks, int kUserTiles> DetectKernel detect_kernel() {
  constexpr int kWarps = kChunks <= 2 && kUserTiles == 1 ? 16 : 8;
  return {detect_rows<kChunks, kUserTiles, kWarps>, 32 * kWarps, sizeof(DetectMemory<kChunks, kWarps>)};
}
template <int kChunks> DetectKernel detect_kernel(int users) {
  return users <= 8    ? detect_kernel<kChunks, 1>()
         : users <= 16 ? detect_kernel<kChunks, 2>()
                       : detect_kernel<kChunks, 4>();
}
inline DetectKernel detect_kernel(int antennas, int users) {
  return antennas <= 8    ? detect_kernel<1>(users)
         : antennas <= 16 ? detect_kernel<2>(users)
         : antennas <= 32 ? detect_kernel<4>(users)
                          : detect_kernel<8>(users);
}

/// Detects frames, one per call. Shared by all lanes of a GPU.
class Detect {
 public:
  /// Throws SetupError.
  explicit Detect(const Method& method, Scheme scheme = Scheme::own)
      : shape_(method), kernel_(detect_kernel(method.antennas, method.users)) {
    gpu::allow_shared(kernel_.run, kernel_.shared, "shared memory for this number of antennas");
    if (scheme != Scheme::own && shape_.dictionary > 0) published_.emplace(shape_, scheme);
  }

  std::size_t scratch_bytes() const noexcept { return published_ ? published_->scratch_bytes() : 0; }

  /// Does nothing if `frame` does not exist. Symbols are erased if the model's scale is 0 or an estimate of their
  /// vector is not finite; `erased`, which may be null, is increased by their number.
  void enqueue(const Model& model, const Job& job, int frame, std::int64_t* erased, std::byte* scratch,
               cudaStream_t stream) const noexcept {
    if (shape_.data == 0 || shape_.users == 0) return;
    const FrameJob frame_job(shape_, job, frame, erased);
    if (published_) return published_->enqueue(ModelView(model), frame_job, scratch, stream);
    kernel_.run<<<gpu::groups_of(shape_.data, kRows), kernel_.threads, kernel_.shared, stream>>>(
        shape_, ModelView(model), frame_job);
  }

 private:
  DetectShape shape_;
  DetectKernel kernel_;
  std::optional<Published> published_;
};

}  // namespace iqd::noma
