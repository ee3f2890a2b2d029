// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"

namespace iqd::gpu {

/// Sets a word in host memory when all previous work on the stream is done and visible there.
/// `early`: where devices can do that (compute capability 9.0), it starts while the last kernel is still ending, and
/// waits for it: 0.3 to 0.5 us sooner (H200).
void raise_flag(std::uint32_t* flag, cudaStream_t stream, bool early = false) noexcept;
/// Loads their code before samples flow. Throws SetupError.
void load_small_kernels();

/// As Turns: `passed` is on the device.
void await_turn(const std::int64_t* turn, const std::int64_t* passed, cudaStream_t stream) noexcept;
void pass_turn(const std::int64_t* turn, std::int64_t* passed, cudaStream_t stream) noexcept;

struct Rows {
  std::byte* to;
  std::size_t to_pitch;
  const std::byte* from;
  std::size_t from_pitch;
  std::size_t row_bytes;
  std::size_t rows;
};
/// Copies with the multiprocessors, which start sooner than a copy engine.
void copy_rows(const Rows& rows, cudaStream_t stream) noexcept;

}  // namespace iqd::gpu
