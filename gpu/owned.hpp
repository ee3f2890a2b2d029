// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "gpu/runtime.hpp"

namespace iqd::gpu {

/// A handle of the CUDA runtime that is destroyed with its owner.
template <class Handle, cudaError_t (*destroy)(Handle)> class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Owned& operator=(Owned&& o) noexcept {
    std::swap(handle_, o.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) destroy(handle_);
  }
  Handle get() const noexcept { return handle_; }
  /// Never destroys it.
  void abandon() noexcept { handle_ = nullptr; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Throws SetupError.
inline Stream make_stream(int priority) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), "cudaStreamCreateWithPriority");
  return Stream(stream);
}
inline Event make_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return Event(event);
}

}  // namespace iqd::gpu
