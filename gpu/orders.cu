// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The only kernel that launches others; so its code is linked with the device's runtime.
#include "gpu/orders.hpp"

namespace iqd::gpu {
namespace {

/// A graph may launch 120 others. Then it launches itself, when the last of them has ended. The more it launches before,
/// the fewer blocks wait for that: less than one in 100.
constexpr int kMostLaunches = 118;
/// Between attempts to launch a graph again whose last run has raised its flag, but has not quite ended.
constexpr long long kAgainCycles = 1000;

/// What the host wrote before is visible to the graph: a launch contains a fence. Another one here takes 0.5 us.
__device__ std::uint64_t read(const std::uint64_t* word) {
  std::uint64_t value = 0;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ void pause() {
  const long long began = clock64();
  while (clock64() - began < kAgainCycles) {
  }
}

/// Refused although nothing runs, so it always will be.
__device__ void give_up(Orders* orders, cudaError_t error) {
  orders->error = static_cast<std::int32_t>(error);
}

__global__ void launch_orders(Orders* orders) {
  std::uint32_t order = orders->next;
  for (int launches = 0; launches < kMostLaunches; ++launches) {
    std::uint64_t word = 0;
    do word = read(&orders->words[order % Orders::kWords]);
    while (word >> Orders::kHandleBits != Orders::turn_of(order));
    const auto graph = reinterpret_cast<cudaGraphExec_t>(word & ((std::uint64_t{1} << Orders::kHandleBits) - 1));
    if (graph == nullptr) {
      orders->next = order + 1;
      return;
    }
    const cudaError_t error = cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
    if (error == cudaSuccess)
      ++order;
    else if (launches == 0)
      return give_up(orders, error);
    else
      pause();
  }
  orders->next = order;
  // Begins when all graphs have ended.
  if (const cudaError_t error = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
      error != cudaSuccess)
    give_up(orders, error);
}

}  // namespace

void enqueue_scheduler(Orders* orders, cudaStream_t stream) noexcept {
  launch_orders<<<1, 1, 0, stream>>>(orders);
}

}  // namespace iqd::gpu
