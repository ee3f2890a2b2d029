// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gpu/part.hpp"

namespace iqd::gpu {
namespace {

/// A thread that ends a scheduler by a Quiet often needs another one soon.
constexpr std::int64_t kCalmNs = 5'000'000;
/// A device that failed without a fault of its own ends its scheduler within this.
constexpr std::int64_t kObeyNs = 100'000'000;
/// The most urgent one, which a device limits to what it has: a thread that only waits delays nobody.
constexpr int kPriority = -99;

struct Schedulers {
  std::atomic<int> quiets{0};
  std::atomic<std::int64_t> last_end_ns{0};  // when a Quiet ended some, or the next one ended soon after
  std::mutex mutex;                          // guards the list, and lets one Quiet end them at a time
  std::vector<Scheduler*> list;

  bool is_calm() const noexcept { return steady_ns() - last_end_ns.load(std::memory_order_relaxed) > kCalmNs; }
  bool are_allowed() const noexcept { return quiets.load(std::memory_order_seq_cst) == 0 && is_calm(); }
  static Schedulers& all() {
    static Schedulers& schedulers = *new Schedulers;  // until the end: there is no last Quiet
    return schedulers;
  }
};

class Held {
 public:
  explicit Held(std::atomic_flag& flag) noexcept : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Held() { flag_.clear(std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::atomic_flag& flag_;
};

GraphExec make_scheduler(const Device& device, Orders* orders, cudaStream_t stream) {
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  enqueue_scheduler(orders, stream);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  const Graph graph(captured);
  cudaGraphExec_t exec = nullptr;
  cudaError_t error = launched != cudaSuccess ? launched : ended;
  if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph.get(), cudaGraphInstantiateFlagDeviceLaunch);
  GraphExec made(exec);
  if (error == cudaSuccess) error = cudaGraphUpload(exec, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess)
    raise(error, fmt::format("cuda:{} ({}) cannot launch graphs by itself, so use `wait: spin` instead of `resident`",
                             device.index(), device.properties().name));
  return made;
}

}  // namespace

Quiet::Quiet() noexcept {
  Schedulers& all = Schedulers::all();
  all.quiets.fetch_add(1, std::memory_order_seq_cst);
  const std::lock_guard lock(all.mutex);
  for (Scheduler* const s : all.list) s->end();
}

Quiet::~Quiet() {
  Schedulers& all = Schedulers::all();
  if (!all.is_calm()) all.last_end_ns.store(steady_ns(), std::memory_order_relaxed);
  all.quiets.fetch_sub(1, std::memory_order_seq_cst);
}

Scheduler::Scheduler(Device& device, const DevicePart* part) : device_(device) {
  const Quiet quiet;
  device_.use();
  stream_ = part ? make_stream(*part, kPriority) : make_stream(kPriority);
  graph_ = make_scheduler(device_, orders_.get(), stream_.get());
  Schedulers& all = Schedulers::all();
  const std::lock_guard lock(all.mutex);
  all.list.push_back(this);
}

Scheduler::~Scheduler() {
  const Quiet quiet;
  {
    Schedulers& all = Schedulers::all();
    const std::lock_guard lock(all.mutex);
    std::erase(all.list, this);
  }
  // On a device that hangs it is still resident, and nothing can be freed.
  if (state() == cudaErrorNotReady) {
    graph_.abandon();
    stream_.abandon();
    orders_.abandon();
  }
  graph_ = {};
}

bool Scheduler::takes(cudaGraphExec_t graph) noexcept {
  return reinterpret_cast<std::uintptr_t>(graph) >> Orders::kHandleBits == 0;
}

bool Scheduler::try_launch(cudaGraphExec_t graph) noexcept {
  const Held held(busy_);
  if (!Schedulers::all().are_allowed()) {
    // A Quiet that has begun may not have come to this one yet, and the host must not launch a graph beside it.
    end_held();
    return false;
  }
  if (!resident_) {
    if (!device_.good(cudaGraphLaunch(graph_.get(), stream_.get()), "cudaGraphLaunch")) return false;
    resident_ = true;
  }
  order(reinterpret_cast<std::uintptr_t>(graph));
  return true;
}

void Scheduler::order(std::uint64_t graph) noexcept {
  const std::uint64_t word = Orders::turn_of(ordered_) << Orders::kHandleBits | graph;
  reinterpret_cast<std::atomic<std::uint64_t>&>(orders_->words[ordered_ % Orders::kWords])
      .store(word, std::memory_order_release);
  ++ordered_;
}

cudaError_t Scheduler::state() noexcept {
  const cudaError_t state = cudaStreamQuery(stream_.get());
  if (state == cudaErrorNotReady) cudaGetLastError();  // it counts as an error
  if (state != cudaSuccess) return state;
  return static_cast<cudaError_t>(reinterpret_cast<const std::atomic<std::int32_t>&>(orders_->error).load());
}

void Scheduler::end() noexcept {
  const Held held(busy_);
  end_held();
}

void Scheduler::end_held() noexcept {
  if (!resident_) return;
  order(0);
  resident_ = false;
  // A device that hangs is declared failed by the thread that waits for its work. One that failed may still obey.
  std::int64_t failed_ns = 0;
  while (state() == cudaErrorNotReady) {
    if (failed_ns == 0 && device_.failed()) failed_ns = steady_ns();
    if (failed_ns != 0 && steady_ns() - failed_ns > kObeyNs) break;
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
  Schedulers::all().last_end_ns.store(steady_ns(), std::memory_order_relaxed);
}

}  // namespace iqd::gpu
