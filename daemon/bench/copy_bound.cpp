// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/copy_bound.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace iqd {
namespace {

/// Copies within a device's memory, for the bound of data that stays there.
class CopyWork final : public Work {
 public:
  CopyWork(Backend& backend, std::size_t bytes)
      : backend_(backend), bytes_(bytes), from_(backend.allocate(bytes)), to_(backend.allocate(bytes)) {}
  void enqueue(StreamView stream, StepClock* clock) noexcept override {
    if (clock) clock->mark(0, stream);
    backend_.copy(to_.data(), bytes_, from_.data(), bytes_, bytes_, 1, stream);
    if (clock) clock->mark(1, stream);
  }
  std::size_t timed_steps() const noexcept override { return 1; }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override { ns = std::min(ns, steps_ns.front()); }
  void finished(bool good) noexcept override { mark_done(good); }
  std::int64_t ns = std::numeric_limits<std::int64_t>::max();

 private:
  Backend& backend_;
  std::size_t bytes_;
  Buffer from_, to_;
};

/// Copies a block's inputs in and its outputs out: the most that a host and a device can exchange.
class ExchangeWork final : public Work {
 public:
  ExchangeWork(Backend& backend, std::size_t in, std::size_t out)
      : backend_(backend),
        in_(in),
        out_(out),
        host_in_(backend.allocate_shared(in)),
        host_out_(backend.allocate_shared(out)),
        device_(backend.allocate(std::max(in, out))) {}
  void enqueue(StreamView stream, StepClock*) noexcept override {
    backend_.copy(device_.data(), in_, host_in_.data(), in_, in_, 1, stream);
    backend_.copy(host_out_.data(), out_, device_.data(), out_, out_, 1, stream);
  }
  void finished(bool good) noexcept override { mark_done(good); }
  void pending() noexcept { mark_pending(); }

 private:
  Backend& backend_;
  std::size_t in_, out_;
  Buffer host_in_, host_out_, device_;
};

}  // namespace

double copy_bytes_per_second(std::size_t bytes) {
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t begin = steady_ns();
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
    best = std::max(
        best, static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, steady_ns() - begin)) * 1e9);
  }
  return best;
}

double device_copy_bytes_per_second(Backend& backend, std::size_t bytes) {
  QueueOptions options;
  options.wait = Wait::spin;
  options.time_every = 1;
  options.timed_steps = 1;
  const std::unique_ptr<Queue> queue = backend.make_queue(options);
  CopyWork work(backend, bytes);
  for (int i = 0; i < 20; ++i) {
    queue->submit(work);
    queue->wait(work);
  }
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, work.ns)) * 1e9;
}

double exchanges_per_second(Backend& backend, std::int64_t lanes, std::size_t in, std::size_t out) {
  std::vector<std::unique_ptr<ExchangeWork>> works;
  std::vector<std::unique_ptr<Queue>> queues;
  QueueOptions options;
  options.wait = Wait::spin;
  for (std::int64_t l = 0; l < lanes; ++l) {
    works.push_back(std::make_unique<ExchangeWork>(backend, in, out));
    queues.push_back(backend.make_queue(options));
  }
  const auto at = [](std::int64_t lane) { return static_cast<std::size_t>(lane); };
  return in_flight(
      lanes, 0.2, [&](std::int64_t l) { works[at(l)]->pending(), queues[at(l)]->submit(*works[at(l)]); },
      [&](std::int64_t l) { queues[at(l)]->wait(*works[at(l)]); });
}

}  // namespace iqd
