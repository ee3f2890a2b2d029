// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/backend_name.hpp"
#include "base/error.hpp"
#include "gpu/convolution.hpp"
#include "gpu/device_facts.hpp"
#include "gpu/part.hpp"
#include "gpu/queue.hpp"
#include "gpu/small_kernels.hpp"

namespace iqd {

/// The table of the stages' halves, generated from stages.def.
const void* cuda_half_of(std::string_view stage);

namespace gpu {
namespace {

/// Below this size a kernel has finished copying before a copy engine starts: 8 against 24 us for 64 kB both ways, 42
/// against 63 for 1 MB (H200, PCIe 5).
constexpr std::size_t kKernelCopies = std::size_t{1} << 20;
/// As `iqd tune` finds them on an H200; a file for this machine takes precedence.
constexpr MappedLimits kMapped{.in = std::size_t{1} << 20, .out = std::size_t{1} << 20};

double megabytes(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

/// A failed device may hang, and then freeing memory never returns.
template <cudaError_t (*free)(void*)> void free_memory(void* device, std::span<std::byte> memory) noexcept {
  if (static_cast<const Device*>(device)->failed()) return;
  const Quiet quiet;
  free(memory.data());
}

class EventFence final : public Fence {
 public:
  explicit EventFence(Device& device) : device_(device), event_(make_event(cudaEventDisableTiming)) {}
  void signal(StreamView stream) noexcept override {
    device_.good(cudaEventRecord(event_.get(), stream_of(stream)), "cudaEventRecord");
  }
  void wait(StreamView stream) noexcept override {
    device_.good(cudaStreamWaitEvent(stream_of(stream), event_.get(), cudaEventWaitDefault), "cudaStreamWaitEvent");
  }

 private:
  Device& device_;
  Event event_;
};

class DeviceTurns final : public Turns {
 public:
  explicit DeviceTurns(Buffer passed) : passed_(std::move(passed)) {}
  void wait(const std::int64_t* turn, StreamView stream) noexcept override {
    await_turn(turn, passed(), stream_of(stream));
  }
  void pass(const std::int64_t* turn, StreamView stream) noexcept override {
    pass_turn(turn, passed(), stream_of(stream));
  }

 private:
  std::int64_t* passed() const noexcept { return reinterpret_cast<std::int64_t*>(passed_.data()); }
  Buffer passed_;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device) : device_(device) {}

  BackendKind kind() const noexcept override { return BackendKind::cuda; }
  std::string name() const override { return fmt::format("cuda:{}", device_.index()); }
  std::string device() const override { return device_.properties().name; }
  MemoryBudget memory() const override;
  std::vector<std::string> details() const override;
  std::string failure() const override { return device_.failure(); }
  void use() override { check(cudaSetDevice(device_.index()), "cudaSetDevice"); }
  MappedLimits mapped_limits() const override { return kMapped; }

  Buffer allocate(std::size_t bytes) override;
  Buffer allocate_shared(std::size_t bytes) override;
  void share(std::span<std::byte> memory) override;
  void unshare(std::span<std::byte> memory) noexcept override;
  void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
            std::size_t rows, StreamView stream) noexcept override;

  bool reaches(const Backend& other) override;

  void upload(std::byte* to, std::span<const std::byte> from) override {
    const Quiet quiet;
    use();
    check(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyDefault), "cudaMemcpy");
    settle();
  }
  void wait_for(StreamView stream) override {
    use();
    if (stream.handle == nullptr) {
      const Quiet quiet;
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    } else {
      check(cudaStreamSynchronize(stream_of(stream)), "cudaStreamSynchronize");
    }
  }
  std::shared_ptr<const DevicePart> take_part(const DeviceShare& share) override {
    return gpu::take_part(device_, share);
  }
  std::unique_ptr<Queue> make_queue(const QueueOptions& options) override {
    return std::make_unique<CudaQueue>(device_, options);
  }
  std::unique_ptr<Fence> make_fence() override {
    device_.use();
    return std::make_unique<EventFence>(device_);
  }
  std::unique_ptr<Turns> make_turns() override { return std::make_unique<DeviceTurns>(allocate(sizeof(std::int64_t))); }
  const void* stage_half(std::string_view stage) const override { return cuda_half_of(stage); }
  const ConvolutionTable* convolution() const override { return &convolution_table(); }
  const DeviceFactsTable* device_facts() const override { return &device_facts_table(); }

 private:
  Device device_;
};

MemoryBudget CudaBackend::memory() const {
  MemoryBudget budget;
  device_.use();
  check(cudaMemGetInfo(&budget.free, &budget.total), "cudaMemGetInfo");
  return budget;
}

std::vector<std::string> CudaBackend::details() const {
  const cudaDeviceProp& p = device_.properties();
  int driver = 0, runtime = 0, clock_khz = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device_.index());
  const auto version = [](int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); };
  return {fmt::format("driver for CUDA {}, runtime {}", version(driver), version(runtime)),
          fmt::format("compute capability {}.{}, {} multiprocessors up to {:.2f} GHz", p.major, p.minor,
                      p.multiProcessorCount, clock_khz / 1e6),
          fmt::format("{:.0f} MB of L2 cache, {} copy engines, PCI {:04x}:{:02x}:{:02x}", p.l2CacheSize / 1e6,
                      p.asyncEngineCount, p.pciDomainID, p.pciBusID, p.pciDeviceID)};
}

Buffer CudaBackend::allocate(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 128);
  const Quiet quiet;
  device_.use();
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, size); error != cudaSuccess) {
    std::size_t free = 0, total = 0;
    cudaGetLastError();
    cudaMemGetInfo(&free, &total);
    raise(error,
          fmt::format("cudaMalloc of {:.1f} MB on {} ({:.0f} MB are free)", megabytes(size), name(), megabytes(free)));
  }
  Buffer buffer({static_cast<std::byte*>(memory), size}, free_memory<cudaFree>, &device_);
  check(cudaMemset(memory, 0, size), "cudaMemset");
  settle();
  return buffer;
}

Buffer CudaBackend::allocate_shared(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 128);
  const Quiet quiet;
  device_.use();
  void* memory = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&memory, size, cudaHostAllocPortable | cudaHostAllocMapped);
      error != cudaSuccess)
    raise(error, fmt::format("cudaHostAlloc of {:.1f} MB of pinned memory", megabytes(size)));
  std::memset(memory, 0, size);
  return Buffer({static_cast<std::byte*>(memory), size}, free_memory<cudaFreeHost>, &device_);
}

void CudaBackend::share(std::span<std::byte> memory) {
  const Quiet quiet;
  device_.use();
  if (const cudaError_t error =
          cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped);
      error != cudaSuccess)
    raise(error, fmt::format("cudaHostRegister of {:.1f} MB of the ring (is the limit of locked memory, `ulimit -l`, "
                             "too small?)",
                             megabytes(memory.size())));
}

void CudaBackend::unshare(std::span<std::byte> memory) noexcept {
  if (device_.failed()) return;
  const Quiet quiet;
  cudaHostUnregister(memory.data());
}

bool CudaBackend::reaches(const Backend& other) {
  const std::optional<int> peer = other.kind() == BackendKind::cuda ? device_number(other.name()) : std::nullopt;
  if (!peer) return false;
  if (*peer == device_.index()) return true;
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, device_.index(), *peer) != cudaSuccess || can == 0) return false;
  const Quiet quiet;
  device_.use();
  const cudaError_t opened = cudaDeviceEnablePeerAccess(*peer, 0);
  cudaGetLastError();  // `already enabled` counts as an error
  return opened == cudaSuccess || opened == cudaErrorPeerAccessAlreadyEnabled;
}

void CudaBackend::copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
                       std::size_t rows, StreamView stream) noexcept {
  if (row_bytes == 0 || rows == 0) return;
  const auto on_host = [](const void* p) {
    cudaPointerAttributes a{};
    return cudaPointerGetAttributes(&a, p) == cudaSuccess && a.type == cudaMemoryTypeHost;
  };
  if (row_bytes * rows <= kKernelCopies || (on_host(to) && on_host(from))) {
    copy_rows({static_cast<std::byte*>(to), to_pitch, static_cast<const std::byte*>(from), from_pitch, row_bytes, rows},
              stream_of(stream));
    device_.good(cudaGetLastError(), "copying samples");
  } else if (rows == 1)
    device_.good(cudaMemcpyAsync(to, from, row_bytes, cudaMemcpyDefault, stream_of(stream)), "cudaMemcpyAsync");
  else
    device_.good(
        cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault, stream_of(stream)),
        "cudaMemcpy2DAsync");
}

}  // namespace

std::unique_ptr<Backend> make_backend(int device) {
  return std::make_unique<CudaBackend>(device);
}

}  // namespace gpu
}  // namespace iqd
