// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "gpu/runtime.hpp"
#include "pipeline/stages/noma/multiuser/outputs.cuh"
#include "pipeline/stages/noma/multiuser/scheme.hpp"

/// The published schemes of detection, for comparison: real rows, f(v1) and f(v2) from their distances to all rows of
/// the dictionary, one launch per user. They leave the kernels' sums over slices of the dictionary in scratch,
/// [user][slice][t]; a last kernel adds these and the linear part, and decides.
namespace iqd::noma {

inline constexpr int kRowThreads = 128;    // of a thread block whose threads share the dictionary's rows
inline constexpr int kVectorThreads = 64;  // of a thread block whose threads have vectors of their own
inline constexpr int kSeveral = 8;
inline constexpr int kMostSlicePlaces = 64;

/// How the work is divided.
struct Slices {
  int count = 0;
  int places = 0;  // per slice
};

/// Row v1 or v2 of a complex vector, two of its values at a time.
__device__ inline float2 row_of(float2 v, int row) {
  return row == 0 ? v : float2{v.y, -v.x};
}
__device__ inline float add_distance(float2 v, float2 x, float distance) {
  return fmaf(v.x - x.x, v.x - x.x, fmaf(v.y - x.y, v.y - x.y, distance));
}

/// f[k][row] += gamma exp(-distance exponent) for both rows of each vector k and one row x of the dictionary. Vector k
/// is at v + k stride.
template <int kVectors> __device__ void add_row(const DetectShape& shape, const float2* v, int stride, const float2* x,
                                                int x_row, float gamma, float (&f)[kVectors][2]) {
  float distance[kVectors][2]{};
  for (int m = 0; m < shape.antennas; ++m) {
    const float2 here = row_of(x[m], x_row);
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int row = 0; row < 2; ++row)
        distance[k][row] = add_distance(row_of(v[k * stride + m], row), here, distance[k][row]);
  }
#pragma unroll
  for (int k = 0; k < kVectors; ++k)
#pragma unroll
    for (int row = 0; row < 2; ++row) f[k][row] = fmaf(gamma, __expf(-distance[k][row] * shape.exponent), f[k][row]);
}

/// Loads data vectors first … first + count into shared memory, at v + i pitch.
__device__ inline void fetch_vectors(const DetectShape& shape, const FrameJob& job, float scale, int first, int count,
                                     int pitch, float2* v) {
  for (int i = static_cast<int>(threadIdx.x); i < count * shape.antennas; i += static_cast<int>(blockDim.x)) {
    const int t = first + i / shape.antennas, m = i % shape.antennas;
    v[i / shape.antennas * pitch + m] =
        t < shape.data ? scaled_sample(shape, job.rx + std::int64_t{t} * shape.antennas, m, scale) : float2{0, 0};
  }
}

/// A thread block takes one or several vectors, its threads the dictionary's rows in turn; their sums are added in a
/// tree.
template <int kVectors> __global__ void __launch_bounds__(kRowThreads)
    share_rows(const DetectShape shape, const ModelView model, const FrameJob job, int user, float2* sums) {
  extern __shared__ __align__(16) std::byte bytes[];
  auto* const tree = reinterpret_cast<float2*>(bytes);
  auto* const v = tree + kRowThreads;
  const int tid = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * kVectors;
  if (job.idle()) return;
  fetch_vectors(shape, job, *model.scale, first, kVectors, shape.antennas, v);
  __syncthreads();
  float f[kVectors][2]{};
  const float2* const gamma = model.gamma + std::int64_t{user} * shape.dictionary;
  for (int row = tid; row < 2 * shape.dictionary; row += kRowThreads) {
    const float2 factors = gamma[row / 2];
    add_row(shape, v, shape.antennas, model.x + std::int64_t{row / 2} * shape.antennas, row % 2,
            row % 2 == 0 ? factors.x : factors.y, f);
  }
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    tree[tid] = {f[k][0], f[k][1]};
    for (int half = kRowThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (tid < half) tree[tid] = {tree[tid].x + tree[tid + half].x, tree[tid].y + tree[tid + half].y};
    }
    if (tid == 0 && first + k < shape.data) sums[first + k] = tree[0];
    __syncthreads();
  }
}

/// A thread block keeps a slice of the dictionary in shared memory; each thread runs its own vectors through it.
template <int kVectors> __global__ void __launch_bounds__(kVectorThreads)
    share_slice(const DetectShape shape, const ModelView model, const FrameJob job, int user, int slice_places,
                float2* sums) {
  extern __shared__ __align__(16) std::byte bytes[];
  auto* const gamma = reinterpret_cast<float2*>(bytes);
  auto* const x = gamma + kMostSlicePlaces;
  auto* const v = x + kMostSlicePlaces * shape.antennas;
  const int pitch = shape.antennas | 1, tid = static_cast<int>(threadIdx.x);  // odd: neighbours in different banks
  const int first = static_cast<int>(blockIdx.x) * kVectorThreads * kVectors;
  const int first_place = static_cast<int>(blockIdx.y) * slice_places;
  const int places = max(0, min(slice_places, shape.dictionary - first_place));
  if (job.idle()) return;
  for (int i = tid; i < places; i += kVectorThreads)
    gamma[i] = model.gamma[std::int64_t{user} * shape.dictionary + first_place + i];
  for (int i = tid; i < places * shape.antennas; i += kVectorThreads)
    x[i] = model.x[std::int64_t{first_place} * shape.antennas + i];
  fetch_vectors(shape, job, *model.scale, first, kVectorThreads * kVectors, pitch, v);
  __syncthreads();
  float f[kVectors][2]{};
  for (int row = 0; row < 2 * places; ++row)
    add_row(shape, v + tid * pitch, kVectorThreads * pitch, x + row / 2 * shape.antennas, row % 2,
            row % 2 == 0 ? gamma[row / 2].x : gamma[row / 2].y, f);
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int t = first + k * kVectorThreads + tid;
    if (t < shape.data) sums[std::int64_t{blockIdx.y} * shape.data + t] = {f[k][0], f[k][1]};
  }
}

/// One thread per vector: adds the slices and the linear part, and decides for all users.
__global__ void __launch_bounds__(kVectorThreads)
    add_slices(const DetectShape shape, const ModelView model, const FrameJob job, int slices, float2* sums) {
  const int t = static_cast<int>(blockIdx.x) * kVectorThreads + static_cast<int>(threadIdx.x);
  if (job.idle() || t >= shape.data) return;
  const float scale = *model.scale;
  bool erased = scale == 0;
  for (int user = 0; user < shape.users; ++user) {
    float2 z{0, 0}, kernels{0, 0};
    for (int m = 0; m < shape.antennas; ++m)
      z = add_filtered(model.c[user * shape.antennas + m],
                       scaled_sample(shape, job.rx + std::int64_t{t} * shape.antennas, m, scale), z);
    float2* const own = sums + std::int64_t{user} * slices * shape.data + t;
    for (int s = 0; s < slices; ++s) {
      const float2 part = own[std::int64_t{s} * shape.data];
      kernels = {kernels.x + part.x, kernels.y + part.y};
    }
    own[0] = {shape.linear * z.x + shape.gaussian * kernels.x, shape.linear * z.y + shape.gaussian * kernels.y};
    erased |= !is_finite(own[0]);
  }
  for (int user = 0; user < shape.users; ++user)
    put_symbol(shape, job, model.noise[user], user, t, sums[std::int64_t{user} * slices * shape.data + t], erased);
  if (erased && job.erased != nullptr) atomicAdd(job.erased, 1ull);
}

/// One of the schemes, ready to run.
class Published {
 public:
  /// Throws SetupError.
  Published(const DetectShape& shape, Scheme scheme) : shape_(shape), scheme_(scheme), slices_{1, shape.dictionary} {
    const int full = (shape.dictionary + kMostSlicePlaces - 1) / kMostSlicePlaces;
    if (scheme == Scheme::shared_slices) cut(full);
    if (scheme == Scheme::balanced) {
      const int fitting = 4 * static_cast<int>(gpu::count_multiprocessors()) / static_cast<int>(groups_of_pairs());
      cut(std::clamp(fitting, full, std::max(full, shape.dictionary)));
    }
    gpu::allow_shared(share_slice<1>, slice_bytes(1), "shared memory for a slice of the dictionary");
    gpu::allow_shared(share_slice<2>, slice_bytes(2), "shared memory for a slice of the dictionary");
  }

  std::size_t scratch_bytes() const noexcept {
    return sizeof(float2) * static_cast<std::size_t>(shape_.users) * static_cast<std::size_t>(slices_.count) *
           static_cast<std::size_t>(shape_.data);
  }

  void enqueue(const ModelView& model, const FrameJob& job, std::byte* scratch, cudaStream_t stream) const noexcept {
    auto* const sums = reinterpret_cast<float2*>(scratch);
    for (int user = 0; user < shape_.users; ++user)
      enqueue_user(model, job, user, sums + std::int64_t{user} * slices_.count * shape_.data, stream);
    add_slices<<<gpu::groups_of(shape_.data, kVectorThreads), kVectorThreads, 0, stream>>>(shape_, model, job,
                                                                                           slices_.count, sums);
  }

 private:
  void cut(int slices) {
    slices_.places = (shape_.dictionary + slices - 1) / slices;
    slices_.count = (shape_.dictionary + slices_.places - 1) / slices_.places;
  }
  unsigned groups_of_pairs() const noexcept { return gpu::groups_of(shape_.data, 2 * kVectorThreads); }
  std::size_t slice_bytes(int vectors) const noexcept {
    const auto antennas = static_cast<std::size_t>(shape_.antennas);
    return sizeof(float2) *
           (kMostSlicePlaces * (antennas + 1) + static_cast<std::size_t>(vectors) * kVectorThreads * (antennas | 1));
  }
  /// Whole accesses of 16 bytes: the compiler reads an odd last value together with the bytes after it.
  std::size_t row_bytes(int vectors) const noexcept {
    return sizeof(float2) * static_cast<std::size_t>(kRowThreads + (vectors * shape_.antennas + 1) / 2 * 2);
  }

  void enqueue_user(const ModelView& model, const FrameJob& job, int user, float2* sums,
                    cudaStream_t stream) const noexcept {
    const dim3 cut(1, static_cast<unsigned>(slices_.count));
    if (scheme_ == Scheme::one_vector)
      share_rows<1>
          <<<gpu::groups_of(shape_.data, 1), kRowThreads, row_bytes(1), stream>>>(shape_, model, job, user, sums);
    else if (scheme_ == Scheme::several_vectors)
      share_rows<kSeveral><<<gpu::groups_of(shape_.data, kSeveral), kRowThreads, row_bytes(kSeveral), stream>>>(
          shape_, model, job, user, sums);
    else if (scheme_ == Scheme::shared_slices)
      share_slice<1>
          <<<dim3(gpu::groups_of(shape_.data, kVectorThreads), cut.y), kVectorThreads, slice_bytes(1), stream>>>(
              shape_, model, job, user, slices_.places, sums);
    else
      share_slice<2><<<dim3(groups_of_pairs(), cut.y), kVectorThreads, slice_bytes(2), stream>>>(
          shape_, model, job, user, slices_.places, sums);
  }

  DetectShape shape_;
  Scheme scheme_;
  Slices slices_;
};

}  // namespace iqd::noma
