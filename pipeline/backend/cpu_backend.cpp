// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/backend/cpu_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host_limits.hpp"
#include "base/integer.hpp"
#include "pipeline/backend/prepare_thread.hpp"

namespace iqd {
namespace {

constexpr std::size_t kAlignment = 128;

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

/// A thread that runs one work after the other.
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
    // When it frees its own lane, the thread submits to itself: it checks again before it sleeps.
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
    return "unknown CPU";
  }
  MemoryBudget memory() const override;

  Buffer allocate(std::size_t bytes) override {
    const std::size_t size = bounded_sum(std::max<std::size_t>(bytes, 1), kAlignment - 1) / kAlignment * kAlignment;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (!memory)
      throw SetupError(fmt::format("out of memory: cannot allocate {:.1f} MB", static_cast<double>(size) / 1e6));
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

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

}  // namespace iqd
