// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/compiler.hpp"

#include <fmt/format.h>
#include <nvrtc.h>

#include <utility>

#include "base/error.hpp"
#include "gpu/late_library.hpp"
#include "gpu/runtime.hpp"

namespace iqd::gpu {
namespace {

struct Nvrtc {
  LateLibrary library{"libnvrtc.so.13", "the run-time compiler NVRTC"};
  IQD_LATE_FUNCTION(nvrtcVersion);
  IQD_LATE_FUNCTION(nvrtcCreateProgram);
  IQD_LATE_FUNCTION(nvrtcDestroyProgram);
  IQD_LATE_FUNCTION(nvrtcCompileProgram);
  IQD_LATE_FUNCTION(nvrtcGetProgramLogSize);
  IQD_LATE_FUNCTION(nvrtcGetProgramLog);
  IQD_LATE_FUNCTION(nvrtcGetCUBINSize);
  IQD_LATE_FUNCTION(nvrtcGetCUBIN);
  IQD_LATE_FUNCTION(nvrtcGetErrorString);
};

const Nvrtc& nvrtc() {
  static const Nvrtc table;
  return table;
}

void check(nvrtcResult result, const std::string& what) {
  if (result != NVRTC_SUCCESS) throw SetupError(fmt::format("{}: {}", what, nvrtc().nvrtcGetErrorString(result)));
}

class Program {
 public:
  Program(const std::string& source, const std::string& name, std::span<const Header> headers) {
    std::vector<const char*> texts, paths;
    for (const Header& h : headers) texts.push_back(h.text), paths.push_back(h.path);
    check(nvrtc().nvrtcCreateProgram(&program_, source.c_str(), name.c_str(), static_cast<int>(headers.size()),
                                     texts.data(), paths.data()),
          name);
  }
  ~Program() { nvrtc().nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<const char*>& options) {
    return nvrtc().nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
  }
  /// The compiler's messages, without the last newline.
  std::string log() const {
    std::size_t size = 0;
    if (nvrtc().nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size <= 1) return {};
    std::string text(size, '\0');
    if (nvrtc().nvrtcGetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return {};
    text.erase(text.find_last_not_of(std::string_view("\0\n", 2)) + 1);
    return text;
  }
  std::vector<char> code(const std::string& name) const {
    std::size_t size = 0;
    check(nvrtc().nvrtcGetCUBINSize(program_, &size), name);
    std::vector<char> code(size);
    check(nvrtc().nvrtcGetCUBIN(program_, code.data()), name);
    return code;
  }

 private:
  nvrtcProgram program_ = nullptr;
};

}  // namespace

std::string current_architecture() {
  int device = 0, major = 0, minor = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  return fmt::format("sm_{}{}", major, minor);
}

std::string compiler_version() {
  int major = 0, minor = 0;
  check(nvrtc().nvrtcVersion(&major, &minor), "nvrtcVersion");
  return fmt::format("{}.{}", major, minor);
}

std::vector<char> compile(const std::string& source, const std::string& name, std::span<const std::string> options,
                          const std::string& architecture, std::span<const Header> headers) {
  Program program(source, name, headers);
  const std::string target = "--gpu-architecture=" + architecture;
  std::vector<const char*> all{target.c_str(), "--std=c++20"};
  for (const std::string& option : options) all.push_back(option.c_str());
  if (const nvrtcResult result = program.compile(all); result != NVRTC_SUCCESS)
    throw SetupError(
        fmt::format("{} cannot be compiled: {}\n{}", name, nvrtc().nvrtcGetErrorString(result), program.log()));
  return program.code(name);
}

cudaError_t Kernel::launch_with(dim3 groups, dim3 threads, std::size_t shared_bytes, StreamView stream,
                                void** arguments) const noexcept {
  if (groups.x == 0 || groups.y == 0 || groups.z == 0) return cudaSuccess;
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel_), groups, threads, arguments, shared_bytes,
                          stream_of(stream));
}

CompiledModule::CompiledModule(std::span<const char> code) {
  const Quiet quiet;
  check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
}
CompiledModule::CompiledModule(CompiledModule&& o) noexcept : library_(std::exchange(o.library_, nullptr)) {}
CompiledModule& CompiledModule::operator=(CompiledModule&& o) noexcept {
  std::swap(library_, o.library_);
  return *this;
}
CompiledModule::~CompiledModule() {
  if (!library_) return;
  const Quiet quiet;
  cudaLibraryUnload(library_);
}

Kernel CompiledModule::kernel(const std::string& name) const {
  const Quiet quiet;
  cudaKernel_t found = nullptr;
  if (const cudaError_t error = cudaLibraryGetKernel(&found, library_, name.c_str()); error != cudaSuccess)
    raise(error, fmt::format("the compiled code has no kernel extern \"C\" {}", name));
  // The driver loads code when it is first queried; a captured launch would be too late.
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(found)), "cudaFuncGetAttributes");
  return Kernel(found);
}

}  // namespace iqd::gpu
