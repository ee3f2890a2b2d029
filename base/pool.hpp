// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/block.hpp"
#include "base/metric.hpp"
#include "base/need.hpp"

namespace iqd {

class FieldVisitor;  // config/fields.hpp
class Section;       // config/fields.hpp

/// What other hosts compute of each block, as the text that they get.
struct WorkOrder {
  std::string text;
  std::string hash;  // SHA-256 of the text
};

/// A block on its way to another host. What it points to stays in place until its ticket is settled.
struct PoolBlock {
  const SampleBlock* block = nullptr;
  const std::byte* samples = nullptr;  // row 0, position `first - past`
  std::int64_t pitch = 0;              // bytes from row to row
  std::int64_t rows = 1;               // channels
  std::int64_t row_bytes = 0;
  const WorkOrder* order = nullptr;

  std::size_t bytes() const noexcept { return static_cast<std::size_t>(rows * row_bytes); }
};

/// A port of a block that came back.
struct PoolPort {
  std::int64_t first = 0;                // position
  std::int64_t length = 0;               // positions that `data` holds of each row
  bool is_missing = false;               // a stage could not compute it
  std::span<const std::byte> data = {};  // rows follow each other
};

/// The results of a block. They stay in place while this exists.
class PoolResult {
 public:
  virtual ~PoolResult() = default;
  /// In the order of the ports in the order.
  virtual std::span<const PoolPort> ports() const noexcept = 0;
};

/// Why a block that was sent has no results.
enum class PoolLoss : std::uint8_t {
  full,     // the server had no room for it
  away,     // the server did not answer
  poison,   // several workers have tried it in vain
  lost,     // it was stored, and no result came in time
  stopped,  // nobody waits for it any more
};
inline constexpr std::array<std::string_view, 5> kPoolLossNames{"full", "away", "poison", "lost", "stopped"};

/// What waits for a block that was sent. It is settled once, by any thread, with results or without.
class PoolTicket {
 public:
  /// Whether these are the positions that the plan expects; may be called several times before it is settled.
  virtual bool takes(std::span<const PoolPort> ports) noexcept = 0;
  virtual void settle(std::unique_ptr<PoolResult> result) noexcept = 0;
  virtual void settle(PoolLoss loss) noexcept = 0;

 protected:
  ~PoolTicket() = default;
};

/// Calls itself when a pool may have room again.
class PoolWaiter {
 public:
  /// Any thread.
  virtual void may_have_room() noexcept = 0;

 protected:
  ~PoolWaiter() = default;
};

/// What an operator sees of a pool.
struct PoolStatus {
  std::string name;
  std::string server;   // connected to; empty: none
  std::string trouble;  // why it is not usable now
  bool connected = false;
  int workers = 0;                // that reported within the last seconds
  int lanes = 0;                  // of these
  std::int64_t sending = 0;       // blocks that no server has yet
  std::int64_t stored = 0;        // blocks that a server has, or a worker
  std::int64_t room = 0;          // blocks that may be out
  std::int64_t waiting = -1;      // blocks that no worker has fetched; -1: not known
  std::int64_t idle_lanes = -1;   // requests of workers for a block; -1: not known
  std::uint64_t redelivered = 0;  // blocks that went to another worker, now
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::array<std::uint64_t, kPoolLossNames.size()> lost{};
  std::uint64_t again = 0;         // blocks that were published again, since no answer came
  std::uint64_t twice = 0;         // results of blocks that were settled before
  std::uint64_t late = 0;          // results of an earlier start
  std::uint64_t wrong = 0;         // messages that are no results, or have other shapes
  Histogram::Snapshot round_trip;  // from sending a block to its result, without the time to compute it
};

/// Most blocks that may be at other hosts: each holds a result slot, and some are left for lanes and readers.
inline constexpr int kMostAway = 448;

/// What a pipeline requires of its pool.
struct PoolNeeds {
  std::string pipeline;
  std::int64_t block = 0;  // samples
  double rate_hz = 0;
  bool live = false;             // the source cannot wait
  bool alone = true;             // the home has no lanes of its own
  std::size_t block_bytes = 0;   // of the largest message to a worker
  std::size_t result_bytes = 0;  // and back
  std::string build;             // a hash of the code of its stages: workers have the same
};

/// Hosts that compute blocks. One thread at a time asks and sends; it neither waits nor allocates.
class Pool {
 public:
  virtual ~Pool() = default;
  /// Whether a block may be sent now.
  virtual bool has_room() const noexcept = 0;
  /// Takes a block after `has_room`.
  virtual void send(const PoolBlock& block, PoolTicket& ticket) noexcept = 0;
  /// Any thread: `waiter` is called until it is removed. `remove` returns when no such call runs any more, and no call
  /// of a ticket.
  virtual void add(PoolWaiter& waiter) = 0;
  virtual void remove(PoolWaiter& waiter) = 0;
  /// Settles all blocks that are out, as stopped.
  virtual void interrupt() noexcept = 0;
  /// Why it cannot carry such blocks; empty if it can.
  virtual std::string refuses(const PoolNeeds& needs) const = 0;
  /// Why it will never be usable again; empty: it may be.
  virtual std::string failure() const = 0;
  virtual PoolStatus status() const = 0;
};

/// The configuration of a pipeline's pool.
class PoolOptions {
 public:
  virtual ~PoolOptions() = default;
  virtual void fields(FieldVisitor& visitor) = 0;
  virtual void check(const Section& section) const = 0;
  /// How many blocks may be out.
  virtual int most_out(const PoolNeeds& needs) const = 0;
  virtual Needs needs(const PoolNeeds& needs) const = 0;
  /// Connects, and makes the pool's streams. Throws SetupError.
  virtual std::shared_ptr<Pool> open(const PoolNeeds& needs) const = 0;
};

}  // namespace iqd
