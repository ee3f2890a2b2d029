// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/outlet.hpp"
#include "base/spsc_queue.hpp"

namespace iqd {

/// How much may wait while a sink is busy with a message.
struct SinkHold {
  std::size_t messages;          // these keep their slots
  std::size_t copied_bytes = 0;  // further messages, copied to free their slots
};

struct HeldMessage {
  Message message;
  Lease lease;
  // Or copies that replace the slot and the engine, since both may be gone:
  std::unique_ptr<std::byte[]> copy{};  // of the payload and the facts
  std::size_t copied_bytes = 0;
  std::shared_ptr<const PortFormat> format{};
};

/// Messages that wait for a sink, in order: a few in their slots, more as copies if that is allowed. One thread puts
/// them in, another takes them out; nothing here waits. Logs when copies pile up.
class HeldMessages {
 public:
  HeldMessages(std::string name, const SinkHold& most);
  /// The size of its memory, without copies.
  static std::size_t bytes(std::size_t copied_bytes) noexcept;
  std::size_t capacity() const noexcept { return queue_.capacity(); }

  // The thread that puts messages in.
  bool may_keep_slot() const noexcept { return leased_ < most_leased_; }
  /// False if there is no room.
  bool put(const Message& message, Lease lease);

  /// The other thread: takes the oldest message; false if there is none.
  bool take(HeldMessage& held) noexcept;

  /// Any thread.
  void hold_at_most(std::size_t messages) noexcept { most_leased_ = messages; }

 private:
  bool copy(HeldMessage& held);

  const std::string name_;
  SpscQueue<HeldMessage> queue_;
  std::atomic<std::size_t> most_leased_;
  std::atomic<std::size_t> leased_{0};  // messages in the queue that keep their slots
  const std::size_t most_copied_;
  std::atomic<std::size_t> copied_{0};               // bytes in the queue
  std::shared_ptr<const PortFormat> copied_format_;  // of the last copied message
  bool is_behind_ = false;                           // was more than half full and not empty since
  log::RateLimit behind_lines_;
};

}  // namespace iqd
