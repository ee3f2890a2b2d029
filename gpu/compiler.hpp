// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <vector>

#include "base/backend.hpp"

namespace iqd::gpu {

/// The architecture of the current device as NVRTC names it: `sm_90`. Throws SetupError.
std::string current_architecture();

/// Version of the compiler. Throws SetupError if there is none.
std::string compiler_version();

/// A header that a source may include, from memory: `path` is as in #include.
struct Header {
  const char* path;
  const char* text;
};

/// Compiles CUDA C++ source text to machine code, by NVRTC, as C++20. `name` is the file name in messages. Throws
/// SetupError with the compiler's messages, each with its line. Needs no device if the architecture is given.
std::vector<char> compile(const std::string& source, const std::string& name, std::span<const std::string> options = {},
                          const std::string& architecture = current_architecture(),
                          std::span<const Header> headers = {});

/// A kernel of a CompiledModule, which must outlive it.
class Kernel {
 public:
  explicit Kernel(cudaKernel_t kernel) : kernel_(kernel) {}

  /// The arguments must have exactly the types of the kernel's parameters; this is not checked. With an empty grid
  /// nothing is launched. May be captured.
  template <class... Arguments> cudaError_t launch(dim3 groups, dim3 threads, std::size_t shared_bytes,
                                                   StreamView stream, Arguments... arguments) const noexcept {
    void* addresses[sizeof...(Arguments) + 1] = {&arguments...};
    return launch_with(groups, threads, shared_bytes, stream, addresses);
  }
  /// The same with the arguments' addresses, for types known only to the source.
  cudaError_t launch_with(dim3 groups, dim3 threads, std::size_t shared_bytes, StreamView stream,
                          void** arguments) const noexcept;

 private:
  cudaKernel_t kernel_;
};

/// Compiled code on the current device.
class CompiledModule {
 public:
  /// Throws SetupError.
  explicit CompiledModule(std::span<const char> code);
  CompiledModule(CompiledModule&& o) noexcept;
  CompiledModule& operator=(CompiledModule&& o) noexcept;
  ~CompiledModule();

  /// A kernel that the source declares `extern "C"`, loaded before its first launch. Throws SetupError.
  Kernel kernel(const std::string& name) const;

 private:
  cudaLibrary_t library_ = nullptr;
};

}  // namespace iqd::gpu
