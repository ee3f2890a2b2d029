// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The interface of libiqd_cuda.so for programs that load it.
#include "gpu/cuda_backend.hpp"
#include "gpu/device.hpp"

extern "C" __attribute__((visibility("default"))) const iqd::BackendModule iqd_backend_module{
    iqd::BackendModule::kVersion, iqd::gpu::count_devices, iqd::gpu::make_backend};

namespace iqd {
const void* cuda_half_of(std::string_view stage);
}

/// A stage's half without a device: compiling needs none.
extern "C" __attribute__((visibility("default"))) const void* iqd_stage_half(const char* stage);
extern "C" const void* iqd_stage_half(const char* stage) {
  return iqd::cuda_half_of(stage);
}
