// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/queue.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "gpu/part.hpp"
#include "gpu/small_kernels.hpp"

namespace iqd::gpu {
namespace {

/// How often a spinning thread checks the device for errors.
constexpr std::int64_t kAskNs = 1'000'000;
/// A device that takes longer for one block is considered hung.
constexpr std::int64_t kHangNs = 10'000'000'000;
/// A work that was not rehearsed may need code that is not loaded, which waits for resident kernels. Of works that never
/// are, so many are taken for such; of others, the first with each key, as long as there is room to remember keys.
constexpr std::int64_t kMayLoad = 64;
constexpr std::size_t kMostSeen = 4096;

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
  const Quiet quiet;
  device_.use();
  // The most urgent number is the lowest; the driver limits it to what the device has (0 … -5 on an H200).
  stream_ = options_.part ? make_stream(*options_.part, -options_.urgency) : make_stream(-options_.urgency);
  done_ = make_event(cudaEventDisableTiming | cudaEventBlockingSync);
  seen_.reserve(kMostSeen);
  if (options_.time_every > 0) clock_ = std::make_unique<EventClock>(device_, options_.timed_steps);
  if (options_.wait != Wait::resident) return;
  load_small_kernels();
  scheduler_ = std::make_unique<Scheduler>(device_, options_.part.get());
}

CudaQueue::~CudaQueue() {
  const Quiet quiet;
  if (!device_.failed()) {
    cudaStreamSynchronize(stream_.get());
  } else {  // it may hang, and then nothing can be freed
    flag_.abandon();
    for (auto& [key, graph] : graphs_) graph.exec.abandon();
  }
  scheduler_.reset();
  graphs_.clear();
}

/// Captures a graph for works that are laid out like this one.
void CudaQueue::rehearse(Work& work) {
  const std::uint64_t key = work.capture_key();
  if (key == 0 || graphs_.contains(key)) return;
  const Quiet quiet;
  device_.use();
  std::optional<Rehearsed> made;
  if (scheduler_)
    for (const Launch launch : {Launch::from_device_early, Launch::from_device})
      if (!made) made = try_capture(work, launch);
  if (!made) made = capture(work, Launch::from_host);
  resident_ += made->from_device ? 1 : 0;
  Rehearsed& kept = graphs_[key] = std::move(*made);
  check(cudaGraphUpload(kept.exec.get(), stream_.get()), "cudaGraphUpload");
  if (kept.from_device) check(cudaStreamSynchronize(stream_.get()), "cudaGraphUpload");
}

/// Nothing if the device cannot launch such a graph: one that needs the host, or another device.
std::optional<CudaQueue::Rehearsed> CudaQueue::try_capture(Work& work, Launch launch) {
  try {
    Rehearsed made = capture(work, launch);
    if (Scheduler::takes(made.exec.get())) return made;
  } catch (const SetupError&) {
  }
  return {};
}

CudaQueue::Rehearsed CudaQueue::capture(Work& work, Launch launch) {
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  work.enqueue(view_of(stream_.get()));
  raise_flag(&flag_->raised, stream_.get(), launch == Launch::from_device_early);
  const cudaError_t launched = cudaGetLastError();
  const cudaError_t ended = cudaStreamEndCapture(stream_.get(), &captured);
  const Graph graph(captured);
  check(launched, "capturing a stage");
  check(ended, "cudaStreamEndCapture");
  const bool from_device = launch != Launch::from_host;
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph.get(), from_device ? cudaGraphInstantiateFlagDeviceLaunch : 0),
        "cudaGraphInstantiate");
  return {GraphExec(exec), from_device};
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
  reinterpret_cast<std::atomic<std::uint32_t>&>(flag_->raised).store(0, std::memory_order_seq_cst);
  launch(work);
  if (options_.wait == Wait::block) device_.good(cudaEventRecord(done_.get(), stream_.get()), "cudaEventRecord");
}

void CudaQueue::launch(Work& work) noexcept {
  const bool has_begun = std::exchange(has_begun_, false);
  if (!has_begun) timed_ = work.timed_steps() > 0 && times_next();
  scheduled_ = false;
  const std::uint64_t key = work.capture_key();
  const auto graph = graphs_.find(key);
  const bool is_known = graph != graphs_.end();
  if (timed_ || !is_known) {
    std::optional<Quiet> quiet;
    if (!is_known && may_load(key)) quiet.emplace();
    return enqueue(work);
  }
  // What has begun is on the stream, and the scheduler's graphs are not.
  if (graph->second.from_device && !has_begun) scheduled_ = scheduler_->try_launch(graph->second.exec.get());
  if (!scheduled_) device_.good(cudaGraphLaunch(graph->second.exec.get(), stream_.get()), "cudaGraphLaunch");
}

/// Whether a work with this key may need code that none before it has needed.
bool CudaQueue::may_load(std::uint64_t key) noexcept {
  if (key == 0) return unkeyed_++ < kMayLoad;
  const auto at = std::ranges::lower_bound(seen_, key);
  if (at != seen_.end() && *at == key) return false;
  if (seen_.size() < seen_.capacity()) seen_.insert(at, key);
  return true;
}

void CudaQueue::enqueue(Work& work) noexcept {
  work.enqueue(view_of(stream_.get()), timed_ ? clock_.get() : nullptr);
  raise_flag(&flag_->raised, stream_.get());
  device_.good(cudaGetLastError(), "launching a stage");
}

void CudaQueue::wait(Work& work) noexcept {
  device_.use();
  const bool good = !device_.failed() && (options_.wait == Wait::block ? wait_blocked() : wait_spinning());
  if (good && timed_) work.timed(clock_->steps_ns(work.timed_steps()));
  work.finished(good && !device_.failed());
}

cudaError_t CudaQueue::state() noexcept {
  if (scheduled_) return scheduler_->state();
  const cudaError_t state = cudaStreamQuery(stream_.get());
  if (state == cudaErrorNotReady) cudaGetLastError();  // it counts as an error
  return state;
}

bool CudaQueue::wait_spinning() noexcept {
  const auto& flag = reinterpret_cast<const std::atomic<std::uint32_t>&>(flag_->raised);
  const auto raised = [&flag] { return flag.load(std::memory_order_acquire) != 0; };
  std::int64_t asked = steady_ns();
  const std::int64_t began = asked;
  bool done = false;
  spin_until([&] {
    if (raised()) return done = true;
    const std::int64_t now = steady_ns();
    if (now - asked < kAskNs) return device_.failed();
    asked = now;
    const cudaError_t now_is = state();
    if (now_is == cudaSuccess) return done = true;
    if (now_is != cudaErrorNotReady) device_.fail(now_is, "while processing a block");
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
