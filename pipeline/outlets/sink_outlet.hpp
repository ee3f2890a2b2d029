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
#include "pipeline/outlets/held_messages.hpp"
#include "pipeline/outlets/sink_link.hpp"
#include "pipeline/outlets/sink_losses.hpp"

namespace iqd {

/// A sink with its own thread, since a disk or a transmitter may be slow. Holds a few results in their slots, and
/// copies of more if allowed; when there is no more room, a stream that cannot wait loses the newest. A sink that
/// throws is closed and takes nothing until it has been reopened, if it can be.
class SinkOutlet final : public Outlet {
 public:
  using Open = SinkLink::Open;
  /// `lossless`: `send` waits for room, and nothing is copied. `reopen` reopens a sink that threw; null: it stays
  /// closed. Waits `backoff_ns` before the first try, then twice as long each time, up to eight-fold.
  SinkOutlet(std::unique_ptr<Sink> sink, std::string name, bool lossless, SinkHold hold, Open reopen = {},
             std::int64_t backoff_ns = 1'000'000'000);
  ~SinkOutlet() override;
  /// The size of its queue if this many bytes may be copied.
  static std::size_t queue_bytes(bool lossless, std::size_t copied_bytes) noexcept;

  bool send(const Message& message, Lease lease, bool scarce) override;
  std::optional<LostMessage> lost_after_all() override;
  SinkCounts counts() const noexcept override;
  /// Nanoseconds that the current call into a radio's sink, opening and closing included, has taken so far; 0 if the
  /// sink is not a radio: a disk may be slow. Any thread.
  std::int64_t in_radio_ns() const noexcept;
  /// The settings of its device, while it is open. Any thread.
  DeviceKeys device_keys() const { return sink_.device_keys(); }
  /// Another plan may have fewer or more slots.
  void hold_at_most(std::size_t messages) noexcept { held_.hold_at_most(messages); }
  bool lossless() const noexcept { return lossless_; }
  void finish() override;
  void interrupt() noexcept override;

 private:
  bool is_ending() const noexcept { return closing_ || interrupted_; }
  void run();
  void pass_on(HeldMessage& held);
  bool deliver(Message message);
  void reopen();
  bool pause(std::int64_t ns);
  void lose_held();

  SinkLink sink_;
  const bool lossless_;
  HeldMessages held_;
  SinkLosses losses_;
  const Open reopen_;
  const std::int64_t backoff_ns_;
  Bell bell_;
  std::atomic<bool> closing_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> failed_{false};  // the sink takes nothing
  std::thread thread_;
};

}  // namespace iqd
