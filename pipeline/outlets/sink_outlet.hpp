// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/outlet.hpp"
#include "base/spsc_queue.hpp"

namespace iqd {

/// What may wait while a sink is busy, beside what it is at.
struct SinkHold {
  std::size_t messages;          // that keep their slots
  std::size_t copied_bytes = 0;  // of more, whose slots go back, of a stream that cannot wait
};

/// A sink with a thread of its own, since a disk or a transmitter may take its time. Holds a few results in their
/// slots, and copies of more where it may; when they are too many, a stream that cannot wait loses the newest. A sink
/// that throws is closed, and takes nothing more until it is open again, where it can be.
class SinkOutlet final : public Outlet {
 public:
  using Open = std::function<std::unique_ptr<Sink>()>;
  /// `reopen` opens a sink that threw; null: it is not opened again. `backoff_ns` before the first try, doubled up to
  /// eight-fold.
  SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, SinkHold hold, Open reopen = {},
             std::int64_t backoff_ns = 1'000'000'000);
  ~SinkOutlet() override;
  /// What it takes itself, where so many bytes may be copied.
  static std::size_t queue_bytes(bool lossless, std::size_t copied_bytes) noexcept;

  bool send(const Message& message, Lease lease, bool scarce) override;
  std::optional<LostMessage> lost_after_all() override;
  SinkCounts counts() const noexcept override;
  /// Nanoseconds that the call into a radio's sink at work, opening and closing included, has taken so far; 0 of what
  /// is no radio: a disk may take its time. Any thread.
  std::int64_t in_radio_ns() const noexcept;
  /// Another plan has fewer slots, or more.
  void hold_at_most(std::size_t messages) noexcept { most_leased_ = messages; }
  bool lossless() const noexcept { return lossless_; }
  void finish() override;
  void interrupt() noexcept override;

 private:
  struct Watch {
    explicit Watch(std::atomic<std::int64_t>& began) : began_ns(began) { began_ns.store(steady_ns()); }
    ~Watch() { began_ns.store(0); }
    std::atomic<std::int64_t>& began_ns;
  };
  struct Item {
    Message message;
    Lease lease;
    // Or what takes the place of the slot and the engine, which both may be gone:
    std::unique_ptr<std::byte[]> payload{};
    std::shared_ptr<const PortFormat> format{};
  };
  bool copy(Item& item);
  bool take(Item& item) noexcept;
  void run();
  bool deliver(Message message);
  void lose(const Message& message);
  void reopen();
  bool pause(std::int64_t ns);
  void refuse_held();
  void close_sink() noexcept;

  std::atomic<std::int64_t> call_began_ns_{0};
  mutable std::mutex sink_mutex_;  // of the pointer, between the sink's thread, which closes it, and others
  std::unique_ptr<Sink> sink_;
  SinkCounts before_;  // counts of sinks that are closed
  bool lossless_;
  std::string name_;
  SpscQueue<Item> queue_;
  std::atomic<std::size_t> most_leased_;
  std::atomic<std::size_t> leased_{0};  // of the queue
  const std::size_t most_copied_;
  std::atomic<std::size_t> copied_{0};               // bytes of the queue
  std::shared_ptr<const PortFormat> copied_format_;  // of what was copied last
  bool is_behind_ = false;                           // more than half, and not nothing since; the publisher's
  log::RateLimit behind_lines_;
  const Open reopen_;
  const std::int64_t backoff_ns_;
  Bell bell_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> failed_{false};  // it takes nothing
  SpscQueue<LostMessage> lost_;      // by the sink, after `send` took it; not fetched yet
  std::int64_t lost_samples_ = 0;    // so far
  std::optional<SampleIndex> hole_;  // where what was lost last began
  std::thread thread_;
};

}  // namespace iqd
