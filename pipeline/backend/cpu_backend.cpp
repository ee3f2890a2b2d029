// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/cpu_backend.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host_limits.hpp"
#include "base/integer.hpp"
#include "pipeline/stage/cuda_half.hpp"

namespace iqd {
namespace {

constexpr std::size_t kAlignment = 128;
constexpr const char* kCudaObject = "libiqd_cuda.so";

/// The host's clock between steps.
class CpuClock final : public StepClock {
 public:
  explicit CpuClock(std::size_t most_steps) : steps_ns_(most_steps) {}
  void mark(std::size_t step, StreamView) noexcept override {
    const std::int64_t now = steady_ns();
    if (step > 0) steps_ns_[step - 1] = now - last_ns_;
    last_ns_ = now;
  }
  std::span<const std::int64_t> steps_ns(std::size_t steps) const noexcept { return {steps_ns_.data(), steps}; }

 private:
  std::vector<std::int64_t> steps_ns_;
  std::int64_t last_ns_ = 0;
};

/// A thread that carries out one work after the other.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(const QueueOptions& options)
      : clock_(options.timed_steps), thread_([this, options] { run(options); }) {}
  ~CpuQueue() override {
    stop_.store(true, std::memory_order_release);
    bell_.ring();
    thread_.join();
  }

  void submit(Work& work) noexcept override {
    next_.store(&work, std::memory_order_release);
    // The thread submits to itself when it frees its own lane: it looks again before it sleeps.
    if (std::this_thread::get_id() != thread_.get_id()) bell_.ring();
  }
  void wait(Work& work) noexcept override { work.wait_done(); }
  bool announces() const noexcept override { return true; }

 private:
  void run(const QueueOptions& options) {
    prepare_thread(options);
    for (;;) {
      Work* work = nullptr;
      bell_.wait_until([&] {
        work = next_.exchange(nullptr, std::memory_order_acq_rel);
        return work || stop_.load(std::memory_order_acquire);
      });
      if (!work) return;
      const std::size_t steps = work->timed_steps();
      const bool timed = options.time_every > 0 && steps > 0 && ++works_ % options.time_every == 0;
      work->enqueue({}, timed ? &clock_ : nullptr);
      if (timed) work->timed(clock_.steps_ns(steps));
      work->finished(true);
    }
  }

  Bell bell_;
  std::atomic<Work*> next_{nullptr};
  std::atomic<bool> stop_{false};
  std::int64_t works_ = 0;
  CpuClock clock_;
  std::thread thread_;
};

class CpuBackend final : public Backend {
 public:
  BackendKind kind() const noexcept override { return BackendKind::cpu; }
  std::string name() const override { return "cpu"; }
  std::string device() const override {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
      if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown processor";
  }
  MemoryBudget memory() const override;

  Buffer allocate(std::size_t bytes) override {
    const std::size_t size = bounded_sum(std::max<std::size_t>(bytes, 1), kAlignment - 1) / kAlignment * kAlignment;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (!memory) throw SetupError(fmt::format("no memory: {:.1f} MB were asked for", static_cast<double>(size) / 1e6));
    std::memset(memory, 0, size);
    return Buffer(
        {memory, size}, [](void*, std::span<std::byte> m) noexcept { std::free(m.data()); }, nullptr);
  }
  Buffer allocate_shared(std::size_t bytes) override { return allocate(bytes); }
  void share(std::span<std::byte>) override {}
  void unshare(std::span<std::byte>) noexcept override {}
  void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row_bytes,
            std::size_t rows, StreamView) noexcept override {
    for (std::size_t r = 0; r < rows; ++r)
      std::memcpy(static_cast<std::byte*>(to) + r * to_pitch, static_cast<const std::byte*>(from) + r * from_pitch,
                  row_bytes);
  }
  void upload(std::byte* to, std::span<const std::byte> from) override { std::copy(from.begin(), from.end(), to); }
  std::unique_ptr<Queue> make_queue(const QueueOptions& options) override {
    return std::make_unique<CpuQueue>(options);
  }
};

MemoryBudget CpuBackend::memory() const {
  const HostLimits limits = host_limits();
  return {limits.memory, limits.all_memory};
}

/// The module in the backend's shared object, or why there is none.
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

/// `cuda` is the first.
int device_number(std::string_view name) {
  int number = 0;
  if (name == "cuda") return number;
  const std::string_view digits = name.starts_with("cuda:") ? name.substr(5) : "";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    throw SetupError(fmt::format("backend: '{}' is not one of auto, cpu, cuda, cuda:N", name));
  return number;
}

BackendChoice choose_cuda(std::string_view name) {
  const int device = device_number(name);
  std::string why;
  const BackendModule* module = load_cuda(why);
  const int devices = module ? module->devices(why) : 0;
  if (devices == 0)
    throw SetupError(fmt::format("backend: {}: {}; use `backend: cpu`, or `iqd doctor` to see more", name, why));
  if (device >= devices)
    throw SetupError(fmt::format("backend: {}: this machine has {} such device(s), counted from 0", name, devices));
  return {module->make(device), "asked for"};
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

BackendChoice choose_backend(std::string_view name) {
  if (name == "cpu") return {make_cpu_backend(), "asked for"};
  if (name != "auto") return choose_cuda(name);
  std::string why;
  const BackendModule* module = load_cuda(why);
  if (!module || module->devices(why) == 0) return {make_cpu_backend(), why};
  try {
    return {module->make(0), "a GPU is there"};
  } catch (const SetupError& e) {
    return {make_cpu_backend(), e.what()};  // it is somebody else's, say
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

void prepare_thread(const QueueOptions& options) {
  ::pthread_setname_np(::pthread_self(), options.name.substr(0, 15).c_str());
  if (options.priority > 0) {
    const sched_param parameter{options.priority};
    ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &parameter);
  }
  if (options.cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : options.cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof(set), &set);
}

}  // namespace iqd
