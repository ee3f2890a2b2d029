// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU, and added in the same order.
#include <cmath>
#include <limits>

#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/front_end.cuh"
#include "pipeline/stages/mimo/lmmse_detector/lmmse_detector.hpp"

namespace iqd::lmmse_detector {
namespace {

using mimo::kMostAntennas;
using Value = float;

IQD_HOST_DEVICE inline float number(float x) {
  return x;
}
IQD_HOST_DEVICE inline float root(float x) {
  return sqrtf(x);
}
IQD_HOST_DEVICE inline float least(float a, float b) {
  return fminf(a, b);
}
IQD_HOST_DEVICE inline float greatest(float a, float b) {
  return fmaxf(a, b);
}
IQD_HOST_DEVICE inline float sign(float x) {
  return x < 0 ? -1.0f : 1.0f;
}
IQD_HOST_DEVICE inline float exponential(float x) {
  return expf(x);
}

IQD_HOST_DEVICE inline float infinite_beyond(float top, int level) {
  return top < static_cast<float>(level < 0 ? -level : level) ? INFINITY : 0.0f;
}

#include "pipeline/stages/mimo/lmmse_detector/equalize_inl.hpp"

template <int kTx> __device__ System system_of(const mimo::Triangle<kTx>& r) {
  System s;
#pragma unroll
  for (int i = 0; i < kTx; ++i) {
    s.r[i][i] = {r.diagonal[i], 0};
    s.yh[i] = {r.y[i].x, r.y[i].y};
#pragma unroll
    for (int j = i + 1; j < kTx; ++j) s.r[i][j] = {r.above[i][j].x, r.above[i][j].y};
  }
  return s;
}

/// One thread per vector.
/// `kMixed`, with kPrior: antennas may have smaller alphabets.
template <int kTx, int kBits, bool kPrior, bool kMixed = false> __global__ void __launch_bounds__(mimo::kTileVectors)
    detect_vectors(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* tally) {
  extern __shared__ __align__(16) std::byte memory[];
  const mimo::Tile tile = mimo::find_tile(shape, job, *tally, blockIdx.x);
  const Alphabets alphabets = kMixed ? mimo::alphabets_of(shape, job, tile) : Alphabets{};
  const mimo::Triangle<kTx> r = mimo::triangulate_vector<kTx>(tile, shape, kMixed, alphabets);
  Decision prior[kTx], decision[kTx];
  float top[kTx];
  if constexpr (kMixed)
#pragma unroll
    for (int t = 0; t < kTx; ++t) {
      const Alphabet alphabet = alphabets.of(r.antenna[t]);
      top[t] = static_cast<float>(alphabet.top());
#pragma unroll
      for (int b = 0; b < kBits; ++b)
        prior[t].llr[b % 2][b / 2] = alphabet.own(b / 2) < 0
                                         ? known_llr(alphabet, b)
                                         : mimo::mixed_prior_of(shape, job, tile, alphabets, r.antenna[t], b);
    }
  if constexpr (kPrior && !kMixed)
#pragma unroll
    for (int t = 0; t < kTx; ++t)
#pragma unroll
      for (int b = 0; b < kBits; ++b) prior[t].llr[b % 2][b / 2] = mimo::prior_of(shape, job, tile, r.antenna[t], b);
  const float distance = detect<kPrior, kMixed>(kTx, kBits, r.noise, system_of(r), prior, top, decision) + r.residual;
  __syncthreads();
  mimo::Results results(shape, job, tile, r.erased, memory);
  results.put_distance(r.unscaled(distance));
#pragma unroll
  for (int t = 0; t < kTx; ++t) {
    float llr[kBits];
#pragma unroll
    for (int b = 0; b < kBits; ++b) llr[b] = decision[t].llr[b % 2][b / 2];
    if (r.antenna[t] >= shape.tx) continue;
    if constexpr (kMixed)
      results.put_mixed_antenna(alphabets.of(r.antenna[t]), r.antenna[t], llr);
    else
      results.put_antenna(r.antenna[t], llr);
  }
  results.flush();
  mimo::count_erased(job, tally, r.erased && tile.has_vector());
}

using Kernel = void (*)(mimo::DetectorShape, mimo::DetectorJob, mimo::Tally*);

template <int kTx, bool kPrior, bool kMixed = false> Kernel kernel_for(int bits) {
  constexpr Kernel kKernels[] = {detect_vectors<kTx, 2, kPrior, kMixed>, detect_vectors<kTx, 4, kPrior, kMixed>,
                                 detect_vectors<kTx, 6, kPrior, kMixed>, detect_vectors<kTx, 8, kPrior, kMixed>};
  return kKernels[bits / 2 - 1];
}
template <int kTx> Kernel kernel_of(const mimo::DetectorShape& shape) {
  if (shape.mixed) return kernel_for<kTx, true, true>(shape.bits);
  return shape.prior ? kernel_for<kTx, true>(shape.bits) : kernel_for<kTx, false>(shape.bits);
}
/// Antennas that do not exist are columns of zeros.
Kernel kernel_for(const mimo::DetectorShape& shape) {
  return shape.tx <= 2 ? kernel_of<2>(shape) : shape.tx <= 4 ? kernel_of<4>(shape) : kernel_of<8>(shape);
}

class Run final : public StageRun {
 public:
  explicit Run(const mimo::DetectorShape& shape) : shape_(shape), kernel_(kernel_for(shape)) {
    gpu::allow_shared(kernel_, mimo::output_bytes(shape), "loading lmmse_detector");
  }

  std::size_t device_scratch_bytes() const noexcept override { return mimo::kTallyBytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const mimo::DetectorJob job = mimo::job_of(io);
    mimo::Tally* const tally = mimo::begin_vectors(shape_, job, io.device_scratch, stream);
    kernel_<<<mimo::groups_for(shape_), mimo::kTileVectors, mimo::output_bytes(shape_), stream>>>(shape_, job, tally);
  }

 private:
  mimo::DetectorShape shape_;
  Kernel kernel_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::lmmse_detector
