// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/find_backend.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/backend_name.hpp"
#include "base/error.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/stage/cuda_half.hpp"

namespace iqd {
namespace {

constexpr const char* kCudaObject = "libiqd_cuda.so";

/// The module in the backend's shared object; null, with the reason in `why`, if there is none.
const BackendModule* load_cuda(std::string& why) {
  void* object = ::dlopen(kCudaObject, RTLD_NOW | RTLD_LOCAL);
  if (!object) {
    const std::string error = ::dlerror();
    const bool absent = error.find("No such file") != error.npos;
    why = absent ? fmt::format("{} is not installed", kCudaObject)
                 : fmt::format("{} cannot be loaded ({})", kCudaObject, error);
    return nullptr;
  }
  const auto* module = static_cast<const BackendModule*>(::dlsym(object, "iqd_backend_module"));
  if (!module || module->version != BackendModule::kVersion) {
    why = fmt::format("{} belongs to another version of iqd", kCudaObject);
    return nullptr;
  }
  return module;
}

BackendChoice choose_cuda(std::string_view name) {
  const std::optional<int> device = device_number(name);
  if (!device) throw SetupError(fmt::format("backend: '{}' is not one of auto, cpu, cuda, cuda:N", name));
  std::string why;
  const BackendModule* module = load_cuda(why);
  const int devices = module ? module->devices(why) : 0;
  if (devices == 0)
    throw SetupError(fmt::format("backend: {}: {}; use `backend: cpu`, or see `iqd doctor`", name, why));
  if (*device >= devices)
    throw SetupError(fmt::format("backend: {}: this machine has {} such device(s), counted from 0", name, devices));
  return {module->make(*device), "as configured"};
}

}  // namespace

BackendChoice choose_backend(std::string_view name) {
  if (name == "cpu") return {make_cpu_backend(), "as configured"};
  if (name != "auto") return choose_cuda(name);
  std::string why;
  const BackendModule* module = load_cuda(why);
  if (!module || module->devices(why) == 0) return {make_cpu_backend(), why};
  try {
    return {module->make(0), "a GPU is available"};
  } catch (const SetupError& e) {
    return {make_cpu_backend(), e.what()};  // e.g. another process has it
  }
}

const void* find_cuda_half(std::string_view stage) {
  std::string why;
  if (!load_cuda(why)) return nullptr;
  using Find = const void* (*)(const char*);
  void* const find = ::dlsym(::dlopen(kCudaObject, RTLD_NOW | RTLD_LOCAL), "iqd_stage_half");
  return find ? reinterpret_cast<Find>(find)(std::string(stage).c_str()) : nullptr;
}

int count_cuda_devices(std::string& why) {
  const BackendModule* module = load_cuda(why);
  return module ? module->devices(why) : 0;
}

}  // namespace iqd
