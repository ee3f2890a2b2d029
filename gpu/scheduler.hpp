// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

#include "base/backend.hpp"
#include "gpu/device.hpp"
#include "gpu/orders.hpp"
#include "gpu/owned.hpp"

namespace iqd::gpu {

/// Memory of the host that the device reads and writes in place.
template <class T> class Pinned {
 public:
  /// Throws SetupError.
  Pinned() {
    const Quiet quiet;
    check(cudaHostAlloc(reinterpret_cast<void**>(&data_), sizeof(T), cudaHostAllocPortable | cudaHostAllocMapped),
          "cudaHostAlloc");
    *data_ = T{};
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() {
    if (!data_) return;
    const Quiet quiet;
    cudaFreeHost(data_);
  }
  T* get() const noexcept { return data_; }
  T* operator->() const noexcept { return data_; }
  /// Never frees it.
  void abandon() noexcept { data_ = nullptr; }

 private:
  T* data_ = nullptr;
};

/// One thread of a device that launches graphs that a word in the host's memory names. It becomes resident with
/// the first launch, and again with the first one after a Quiet. One thread launches.
class Scheduler {
 public:
  /// It, and all graphs that it launches, are in this part of the device; null: in all of it. Throws SetupError.
  Scheduler(Device& device, const DevicePart* part);
  /// Ends it, unless the device hangs.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Whether the device can launch this graph, which was made for that.
  static bool takes(cudaGraphExec_t graph) noexcept;
  /// False if there must be no resident kernel now; then it is none. The graph's previous run has raised its flag.
  bool try_launch(cudaGraphExec_t graph) noexcept;
  /// cudaErrorNotReady while it is resident. Else everything that it launched has ended, with this result.
  cudaError_t state() noexcept;

 private:
  friend class Quiet;
  void order(std::uint64_t graph) noexcept;
  /// Any thread. Returns when it, and what it launched, have ended.
  void end() noexcept;
  /// For who holds `busy_`.
  void end_held() noexcept;

  Device& device_;
  Pinned<Orders> orders_;
  Stream stream_;
  GraphExec graph_;
  std::atomic_flag busy_;  // guards the members below
  bool resident_ = false;
  std::uint32_t ordered_ = 0;
};

}  // namespace iqd::gpu
