// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/queue.hpp"

#include <atomic>
#include <utility>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "gpu/part.hpp"
#include "gpu/small_kernels.hpp"

namespace iqd::gpu {
namespace {

/// How often a spinning thread checks the device for errors.
constexpr std::int64_t kAskNs = 1'000'000;
/// A device that takes longer for one block is considered hung.
constexpr std::int64_t kHangNs = 10'000'000'000;

}  // namespace

EventClock::EventClock(Device& device, std::size_t most_steps) : device_(device), steps_ns_(most_steps) {
  for (std::size_t i = 0; i <= most_steps; ++i) events_.push_back(make_event(cudaEventDefault));
}

void EventClock::mark(std::size_t step, StreamView stream) noexcept {
  if (step < events_.size()) device_.good(cudaEventRecord(events_[step].get(), stream_of(stream)), "cudaEventRecord");
}

std::span<const std::int64_t> EventClock::steps_ns(std::size_t steps) noexcept {
  // The word in memory may become visible before the runtime sees the last event.
  device_.good(cudaEventSynchronize(events_[steps].get()), "cudaEventSynchronize");
  for (std::size_t s = 0; s < steps; ++s) {
    float ms = 0;
    device_.good(cudaEventElapsedTime(&ms, events_[s].get(), events_[s + 1].get()), "cudaEventElapsedTime");
    steps_ns_[s] = static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
  }
  return {steps_ns_.data(), steps};
}

CudaQueue::CudaQueue(Device& device, QueueOptions options) : device_(device), options_(std::move(options)) {
  device_.use();
  check(cudaHostAlloc(reinterpret_cast<void**>(&flag_), 128, cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
  // The most urgent number is the lowest; the driver limits it to what the device has (0 … -5 on an H200).
  stream_ = options_.part ? make_stream(*options_.part, -options_.urgency) : make_stream(-options_.urgency);
  done_ = make_event(cudaEventDisableTiming | cudaEventBlockingSync);
  if (options_.time_every > 0) clock_ = std::make_unique<EventClock>(device_, options_.timed_steps);
}

CudaQueue::~CudaQueue() {
  if (device_.failed()) return;  // it may hang, and then nothing can be freed
  cudaStreamSynchronize(stream_.get());
  cudaFreeHost(flag_);
}

/// Captures a graph for works that are laid out like this one.
void CudaQueue::rehearse(Work& work) {
  const std::uint64_t key = work.capture_key();
  if (key == 0 || graphs_.contains(key)) return;
  device_.use();
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  work.enqueue(view_of(stream_.get()));
  raise_flag(flag_, stream_.get());
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t ended = cudaStreamEndCapture(stream_.get(), &captured);
  const Graph graph(captured);
  check(launched, "capturing a stage");
  check(ended, "cudaStreamEndCapture");
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph.get(), 0), "cudaGraphInstantiate");
  GraphExec& kept = graphs_[key] = GraphExec(exec);
  check(cudaGraphUpload(kept.get(), stream_.get()), "cudaGraphUpload");
}

StreamView CudaQueue::begin() noexcept {
  if (device_.failed()) return {};
  device_.use();
  has_begun_ = true;
  timed_ = times_next();
  if (timed_) clock_->mark(0, view_of(stream_.get()));
  return view_of(stream_.get());
}

bool CudaQueue::times_next() noexcept {
  return clock_ && ++works_ % options_.time_every == 0;
}

void CudaQueue::submit(Work& work) noexcept {
  if (device_.failed()) return;
  device_.use();
  reinterpret_cast<std::atomic<std::uint32_t>*>(flag_)->store(0, std::memory_order_seq_cst);
  launch(work);
  if (options_.wait == Wait::block) device_.good(cudaEventRecord(done_.get(), stream_.get()), "cudaEventRecord");
}

void CudaQueue::launch(Work& work) noexcept {
  if (!std::exchange(has_begun_, false)) timed_ = work.timed_steps() > 0 && times_next();
  if (!timed_) {
    if (const auto graph = graphs_.find(work.capture_key()); graph != graphs_.end()) {
      device_.good(cudaGraphLaunch(graph->second.get(), stream_.get()), "cudaGraphLaunch");
      return;
    }
  }
  work.enqueue(view_of(stream_.get()), timed_ ? clock_.get() : nullptr);
  raise_flag(flag_, stream_.get());
  device_.good(cudaGetLastError(), "launching a stage");
}

void CudaQueue::wait(Work& work) noexcept {
  device_.use();
  const bool good = !device_.failed() && (options_.wait == Wait::spin ? wait_spinning() : wait_blocked());
  if (good && timed_) work.timed(clock_->steps_ns(work.timed_steps()));
  work.finished(good && !device_.failed());
}

bool CudaQueue::wait_spinning() noexcept {
  const auto& flag = *reinterpret_cast<const std::atomic<std::uint32_t>*>(flag_);
  const auto raised = [&flag] { return flag.load(std::memory_order_acquire) != 0; };
  std::int64_t asked = steady_ns();
  const std::int64_t began = asked;
  bool done = false;
  spin_until([&] {
    if (raised()) return done = true;
    const std::int64_t now = steady_ns();
    if (now - asked < kAskNs) return device_.failed();
    asked = now;
    const cudaError_t state = cudaStreamQuery(stream_.get());
    if (state == cudaSuccess) return done = true;
    cudaGetLastError();  // clears `not ready`, which counts as an error
    if (state != cudaErrorNotReady) device_.fail(state, "while processing a block");
    if (now - began > kHangNs) device_.fail("it has not finished a block within 10 s");
    return device_.failed();
  });
  return done;
}

/// If the device hangs, this never returns; `realtime: hang` covers that.
bool CudaQueue::wait_blocked() noexcept {
  return device_.good(cudaEventSynchronize(done_.get()), "while processing a block");
}

}  // namespace iqd::gpu
