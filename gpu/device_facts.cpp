// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_facts.hpp"

#include <fmt/format.h>
#include <nvrtc.h>

#include "base/error.hpp"
#include "gpu/device.hpp"
#include "gpu/late_library.hpp"

namespace iqd::gpu {
namespace {

std::string cuda_version(int v) {
  return fmt::format("{}.{}", v / 1000, v % 1000 / 10);
}

/// The run-time compiler's version, or why there is none.
DeviceFact nvrtc_fact() {
  try {
    const LateLibrary library("libnvrtc.so.13", "the run-time compiler NVRTC");
    int major = 0, minor = 0;
    library.find<decltype(&::nvrtcVersion)>("nvrtcVersion")(&major, &minor);
    return {"nvrtc", fmt::format("{}.{}", major, minor)};
  } catch (const SetupError& e) {
    return {"nvrtc_missing", std::string(e.what())};
  }
}

class Attributes {
 public:
  explicit Attributes(int device) : device_(device) {}
  /// 0 if the driver does not know it.
  std::int64_t operator()(cudaDeviceAttr which) const {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, device_) != cudaSuccess) cudaGetLastError();
    return value;
  }

 private:
  int device_;
};

void add_memory(std::vector<DeviceFact>& facts, const cudaDeviceProp& p, const Attributes& of) {
  const auto memory_hz = static_cast<double>(of(cudaDevAttrMemoryClockRate)) * 1e3;
  const std::int64_t bus_bits = of(cudaDevAttrGlobalMemoryBusWidth);
  facts.insert(facts.end(),
               {{"memory_clock_hz", memory_hz},
                {"memory_bus_bits", bus_bits},
                // Two transfers per cycle.
                {"memory_bandwidth_bytes_per_s", 2 * memory_hz * static_cast<double>(bus_bits) / 8},
                {"l2_cache_bytes", of(cudaDevAttrL2CacheSize)},
                {"l2_persisting_bytes", of(cudaDevAttrMaxPersistingL2CacheSize)},
                {"constant_memory_bytes", static_cast<std::int64_t>(p.totalConstMem)},
                {"shared_memory_per_multiprocessor_bytes", of(cudaDevAttrMaxSharedMemoryPerMultiprocessor)},
                {"shared_memory_per_block_bytes", of(cudaDevAttrMaxSharedMemoryPerBlock)},
                {"shared_memory_per_block_opt_in_bytes", of(cudaDevAttrMaxSharedMemoryPerBlockOptin)},
                {"shared_memory_reserved_per_block_bytes", of(cudaDevAttrReservedSharedMemoryPerBlock)}});
}

void add_threads(std::vector<DeviceFact>& facts, const Attributes& of) {
  facts.insert(facts.end(), {{"multiprocessors", of(cudaDevAttrMultiProcessorCount)},
                             {"clock_hz", static_cast<double>(of(cudaDevAttrClockRate)) * 1e3},
                             {"warp_size", of(cudaDevAttrWarpSize)},
                             {"registers_per_multiprocessor", of(cudaDevAttrMaxRegistersPerMultiprocessor)},
                             {"registers_per_block", of(cudaDevAttrMaxRegistersPerBlock)},
                             {"threads_per_multiprocessor", of(cudaDevAttrMaxThreadsPerMultiProcessor)},
                             {"threads_per_block", of(cudaDevAttrMaxThreadsPerBlock)},
                             {"blocks_per_multiprocessor", of(cudaDevAttrMaxBlocksPerMultiprocessor)}});
}

std::vector<DeviceFact> facts_of_current() {
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp p{};
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const Attributes of(device);
  std::vector<DeviceFact> facts{{"compute_capability", fmt::format("{}.{}", p.major, p.minor)}};
  add_threads(facts, of);
  add_memory(facts, p, of);
  facts.insert(facts.end(), {{"copy_engines", of(cudaDevAttrAsyncEngineCount)},
                             {"concurrent_kernels", of(cudaDevAttrConcurrentKernels) != 0},
                             {"maps_host_memory", of(cudaDevAttrCanMapHostMemory) != 0},
                             {"unified_addressing", of(cudaDevAttrUnifiedAddressing) != 0},
                             {"error_correction", of(cudaDevAttrEccEnabled) != 0},
                             {"pci", fmt::format("{:04x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID)},
                             {"driver_for_cuda", cuda_version(driver)},
                             {"cuda_runtime", cuda_version(runtime)},
                             nvrtc_fact()});
  return facts;
}

}  // namespace

const DeviceFactsTable& device_facts_table() {
  static constexpr DeviceFactsTable table{facts_of_current};
  return table;
}

}  // namespace iqd::gpu
