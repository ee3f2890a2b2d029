// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

/// How a stage finds its CUDA code, which is in libiqd_cuda.so. The stage's header declares the half as the signature
/// of the function that makes its run:
///
///     using CudaHalf = std::unique_ptr<StageRun>(const Rotator& rotator);
///
/// or, if it needs several functions, as a struct of pointers to them. The `.cu` defines the half in one line, and
/// `make` gets it with `device_half`.
namespace iqd {

class Backend;
class StageRun;

/// What the shared object provides: a pointer to the function, or the struct.
template <class Half> using HalfTable = std::conditional_t<std::is_function_v<Half>, std::add_pointer_t<Half>, Half>;

/// The half of this name for the backend's device; null on the CPU. Throws SetupError if the device has none.
const void* find_device_half(const Backend& backend, std::string_view stage);
/// The same without a device; null also if there is no libiqd_cuda.so.
const void* find_cuda_half(std::string_view stage);
template <class Half> auto device_half(const Backend& backend, std::string_view stage) {
  const auto* const half = static_cast<const HalfTable<Half>*>(find_device_half(backend, stage));
  if constexpr (std::is_function_v<Half>)
    return half ? *half : nullptr;
  else
    return half;
}

/// The function of a half that only needs the constructor of `Run`.
template <class Run, class... Arguments> std::unique_ptr<StageRun> construct(Arguments... arguments) {
  return std::make_unique<Run>(std::forward<Arguments>(arguments)...);
}

}  // namespace iqd

/// In the stage's namespace, at the end of its `.cu`: the function, or the members of the struct.
#define IQD_CUDA_HALF(...)                                       \
  const void* cuda_half();                                       \
  const void* cuda_half() {                                      \
    static constexpr iqd::HalfTable<CudaHalf> half{__VA_ARGS__}; \
    return &half;                                                \
  }
