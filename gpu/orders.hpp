// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"

namespace iqd::gpu {

/// What a host thread asks a scheduler on the device to do, in memory of the host that the device reads. Each word has
/// a turn's number in its upper 16 bits, so that the device knows a new one, and a graph's handle below; none: end.
struct Orders {
  static constexpr std::uint32_t kWords = 8;  // one cache line
  static constexpr int kHandleBits = 48;

  alignas(64) std::uint64_t words[kWords];
  alignas(64) std::uint32_t next;  // which order the scheduler waits for; written when it stops
  std::int32_t error;              // of a launch, which has ended the scheduler

  static constexpr std::uint64_t turn_of(std::uint32_t order) noexcept { return (order / kWords + 1) & 0xffff; }
};

/// Puts a scheduler on a stream that is being captured: one thread, which waits for orders and launches their graphs.
/// The graph must be made for launches from the device.
void enqueue_scheduler(Orders* orders, cudaStream_t stream) noexcept;

}  // namespace iqd::gpu
