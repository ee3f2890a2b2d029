// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/bell.hpp"
#include "base/outlet.hpp"
#include "base/spsc_queue.hpp"

namespace iqd {

/// A sink with a thread of its own, since a disk or a transmitter may take its time. Holds a few results; when they are
/// too many, a stream that cannot wait loses the newest.
class SinkOutlet final : public Outlet {
 public:
  SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, std::size_t most_held);
  ~SinkOutlet() override;

  bool send(const Message& message, Lease lease, bool scarce) override;
  std::int64_t lost_after_all() override;
  SinkCounts counts() const noexcept override { return sink_->counts(); }
  void finish() override;
  void interrupt() noexcept override;

 private:
  struct Item {
    Message message;
    Lease lease;
  };
  void run(const std::string& name);
  bool deliver(Message message);

  std::unique_ptr<Sink> sink_;
  bool lossless_;
  SpscQueue<Item> queue_;
  Bell bell_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> failed_{false};
  std::atomic<std::int64_t> refused_{0};  // by the sink, after the engine was told that it was taken
  std::optional<SampleIndex> hole_;       // where what the sink refused last began
  std::thread thread_;
};

}  // namespace iqd
