// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/late_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "base/error.hpp"

namespace iqd::gpu {
namespace {

constexpr const char* kInstalled = "/usr/local/cuda/lib64/";

std::string reason() {
  const char* text = ::dlerror();
  return text ? text : "no reason given";
}

}  // namespace

LateLibrary::LateLibrary(const char* file, const char* part) : file_(file), handle_(::dlopen(file, RTLD_NOW)) {
  if (handle_) return;
  const std::string why = reason();
  handle_ = ::dlopen((kInstalled + std::string(file)).c_str(), RTLD_NOW);
  if (!handle_)
    throw SetupError(
        fmt::format("this needs {} from CUDA 13 ({}): install it, or add its folder to LD_LIBRARY_PATH", part, why));
}

void* LateLibrary::symbol(const char* name) const {
  void* found = ::dlsym(handle_, name);
  if (!found) throw SetupError(fmt::format("{} has the wrong version: {}", file_, reason()));
  return found;
}

}  // namespace iqd::gpu
