// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

/// How a stage reaches its code for CUDA, which is in libiqd_cuda.so. The stage's header declares the half by the
/// signature of the function that makes its run:
///
///     using CudaHalf = std::unique_ptr<StageRun>(const Rotator& rotator);
///
/// or, where it takes several functions, by a struct of pointers to them. The `.cu` defines it in one line, and `make`
/// asks for it with `device_half`.
namespace iqd {

class Backend;
class StageRun;

/// What the shared object hands out: a pointer to the one function, or the struct.
template <class Half> using HalfTable = std::conditional_t<std::is_function_v<Half>, std::add_pointer_t<Half>, Half>;

/// The half that the backend's device has of this name; null on the CPU. Throws SetupError where the device has none.
const void* find_device_half(const Backend& backend, std::string_view stage);
/// The same without a device; null where there is no libiqd_cuda.so as well.
const void* find_cuda_half(std::string_view stage);
template <class Half> auto device_half(const Backend& backend, std::string_view stage) {
  const auto* const half = static_cast<const HalfTable<Half>*>(find_device_half(backend, stage));
  if constexpr (std::is_function_v<Half>)
    return half ? *half : nullptr;
  else
    return half;
}

/// The function of a half for which the constructor of `Run` does all.
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
