// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/outlet.hpp"
#include "base/slot_mask.hpp"
#include "net/binding.hpp"
#include "net/door.hpp"
#include "publish/publish_options.hpp"

namespace iqd::publish {

/// A bound or connected socket with its own context, so that closing it releases every message it still holds. For one
/// thread at a time, except for `shared`, `add_topic`, `peers` and `interrupt`.
class ZmqSocket {
 public:
  /// Throws SetupError. `lossless`: `send` waits for readers. `most_bytes`: size limit of a message; with `hwm_bytes`
  /// it determines how many messages are queued for a reader.
  ZmqSocket(const Config& config, bool lossless, std::int64_t most_bytes);
  ~ZmqSocket();
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;

  /// Returns the socket for this endpoint in this pipeline: a new one, or that of an earlier entry, which may be in
  /// use. Throws SetupError, also if that one was opened with other options.
  static std::shared_ptr<ZmqSocket> shared(const std::string& pipeline, const Config& config, bool lossless,
                                           std::int64_t most_bytes);

  void add_topic(const std::string& topic);
  /// Sends two frames, or three with a `key` before them. The payload is sent without a copy, and the lease kept until
  /// it has been sent; or it is copied.
  bool send(std::string_view key, std::string_view head, std::span<const std::byte> payload, Lease lease, bool copy);
  std::int64_t subscriptions();
  PeerCounts peers() const;
  /// Returns when every payload has been sent, or after `interrupt`, or when readers of a PUB socket make no progress.
  void drain();
  void interrupt() noexcept;

 private:
  /// The context that libzmq returns with a payload. Their number is fixed, so that sending allocates no memory of
  /// ours; -1 marks one that was allocated for a copy.
  struct Payload {
    ZmqSocket* socket = nullptr;
    Lease::Raw lease{};
    int slot = -1;
  };
  static void release_payload(void* data, void* hint);
  void expect(std::int64_t budget, std::int64_t most_bytes);
  bool send_frame(void* message, int flags);
  /// Sends a frame that others follow.
  bool send_text(std::string_view text);
  void read_subscriptions();

  std::string endpoint_;
  bool pub_;
  bool lossless_;
  const int mark_;  // messages queued for a reader
  std::mutex topics_mutex_;
  std::set<std::string> topics_;
  std::int64_t subscriptions_ = 0;
  std::atomic<bool> interrupted_{false};
  std::atomic<std::int64_t> outstanding_{0};
  SlotMask free_payloads_{SlotMask::kMost};
  std::array<Payload, SlotMask::kMost> payloads_;
  // Closed in reverse order, before the payloads that they release.
  net::Binding binding_;
  net::Context context_;
  net::SocketHandle socket_;
  std::unique_ptr<net::Door> door_;
};

}  // namespace iqd::publish
