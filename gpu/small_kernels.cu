// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/small_kernels.hpp"

namespace iqd::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostGroups = 264;  // two per multiprocessor saturate the link to the host, seen on an H200

__global__ void raise(volatile std::uint32_t* flag) {
  __threadfence_system();
  *flag = 1;
}

template <class Word> __global__ void copy(Rows rows, std::size_t words) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t r = blockIdx.y; r < rows.rows; r += gridDim.y) {
    const auto* const from = reinterpret_cast<const Word*>(rows.from + r * rows.from_pitch);
    auto* const to = reinterpret_cast<Word*>(rows.to + r * rows.to_pitch);
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += stride) to[i] = from[i];
  }
}

template <class Word> void launch(const Rows& rows, cudaStream_t stream) {
  const std::size_t words = rows.row_bytes / sizeof(Word);
  const dim3 grid(std::min(kMostGroups, groups_of(static_cast<std::int64_t>(words), kThreads)),
                  static_cast<unsigned>(std::min<std::size_t>(rows.rows, 64)));
  copy<Word><<<grid, kThreads, 0, stream>>>(rows, words);
}

}  // namespace

void raise_flag(std::uint32_t* flag, cudaStream_t stream) noexcept {
  raise<<<1, 1, 0, stream>>>(flag);
}

void copy_rows(const Rows& rows, cudaStream_t stream) noexcept {
  if (rows.row_bytes == 0 || rows.rows == 0) return;
  auto bits = reinterpret_cast<std::uintptr_t>(rows.to) | reinterpret_cast<std::uintptr_t>(rows.from) | rows.row_bytes;
  if (rows.rows > 1) bits |= rows.to_pitch | rows.from_pitch;
  if (bits % sizeof(uint4) == 0) return launch<uint4>(rows, stream);
  if (bits % sizeof(uint2) == 0) return launch<uint2>(rows, stream);
  if (bits % sizeof(std::uint32_t) == 0) return launch<std::uint32_t>(rows, stream);
  launch<std::byte>(rows, stream);
}

}  // namespace iqd::gpu
