// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/driver.hpp"

namespace iqd {

/// A hold on the memory of a message. While held, the memory does not change. It is given back once, by any thread.
class Lease {
 public:
  using GiveBack = void (*)(void* owner, int slot) noexcept;
  Lease() = default;
  Lease(GiveBack give_back, void* owner, int slot) : give_back_(give_back), owner_(owner), slot_(slot) {}
  Lease(Lease&& o) noexcept : give_back_(std::exchange(o.give_back_, nullptr)), owner_(o.owner_), slot_(o.slot_) {}
  Lease& operator=(Lease&& o) noexcept {
    std::swap(give_back_, o.give_back_);
    std::swap(owner_, o.owner_);
    std::swap(slot_, o.slot_);
    return *this;
  }
  ~Lease() { release(); }
  void release() noexcept {
    if (give_back_) std::exchange(give_back_, nullptr)(owner_, slot_);
  }
  /// For a C interface that passes two words: `give_back(owner, slot)` has to be called later, once.
  struct Raw {
    GiveBack give_back;
    void* owner;
    int slot;
  };
  Raw detach() noexcept { return {std::exchange(give_back_, nullptr), owner_, slot_}; }

 private:
  GiveBack give_back_ = nullptr;
  void* owner_ = nullptr;
  int slot_ = -1;
};

/// Counts of a socket's peers.
struct PeerCounts {
  std::string endpoint;  // empty: no socket
  std::int64_t connected = 0;
  std::uint64_t handshake_failures = 0;
  std::uint64_t cut_off = 0;  // disconnected by this side because of what they sent
};

/// A message that no reader gets: its block, and the samples of that block.
struct LostMessage {
  std::uint64_t block = 0;
  std::int64_t samples = 0;
};

/// Where the messages of one port go. Used by the publishing thread, except for `interrupt`, `peers` and `counts`.
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// Takes a message. `scarce`: few slots are left, so copy rather than keep the lease.
  /// False: the message could not be taken and is lost.
  virtual bool send(const Message& message, Lease lease, bool scarce) = 0;
  /// A message that was taken but lost later; each is returned once.
  virtual std::optional<LostMessage> lost_after_all() { return {}; }
  /// Subscriptions so far; called before the stream starts.
  virtual std::int64_t subscriptions() { return 0; }
  /// Outlets of one endpoint return the same.
  virtual PeerCounts peers() const { return {}; }
  virtual SinkCounts counts() const noexcept { return {}; }
  /// The stream has ended: returns when everything taken has been sent, or after `interrupt`.
  virtual void finish() {}
  /// From another thread: makes a waiting `send` or `finish` return soon.
  virtual void interrupt() noexcept {}
};

/// The configuration of one `publish` entry.
class OutletOptions {
 public:
  virtual ~OutletOptions() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  /// Like SinkOptions.
  virtual void check(const PortFormat& format, const Section& section) const = 0;
  /// The address that it binds exclusively; empty if it binds none.
  virtual std::string endpoint() const = 0;
  /// Entries with the same text share a socket.
  virtual std::string socket() const { return endpoint(); }
  virtual std::string topic() const = 0;
  /// What it needs from the host.
  virtual Needs needs(const PortFormat& /*format*/) const { return {}; }
  /// The key that prevents sharing the socket of `other`, which has the same endpoint; empty if they can share.
  virtual std::string_view clash(const OutletOptions& /*other*/) const { return {}; }
  /// `lossless`: the source can wait, so a slow reader is waited for. `most_bytes`: of the largest message of all
  /// entries that share the socket. Throws SetupError.
  virtual std::unique_ptr<Outlet> open(const PortFormat& format, bool lossless, std::int64_t most_bytes) const = 0;
};

}  // namespace iqd
