// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hosts/nats_link.hpp"
#include "hosts/pool_messages.hpp"
#include "hosts/pool_options.hpp"

namespace iqd::hosts {

/// The streams of a pool at the server: blocks to do, results, orders.
class PoolStreams {
 public:
  /// Of an order, the newest are kept.
  static constexpr std::int64_t kMostOrders = 8;
  /// `most_out`: blocks that may be out. `run`: of this home.
  PoolStreams(NatsLink& link, const PoolNames& names, const PoolConfig& config, const PoolNeeds& needs, int most_out,
              std::string run);
  /// How long a server may take for an answer: at the start, and while blocks wait.
  static constexpr int kStartMs = 3000, kAnswerMs = 400;
  /// Makes what is missing; each request may take `wait_ms`. Returns whether the stream of blocks is another than before.
  /// Throws SetupError.
  bool make(int wait_ms);
  /// Removes all blocks and results. Throws SetupError.
  void purge();
  /// Deletes the streams of blocks and results, also if no server leads them.
  void drop();
  /// Whether both streams and their consumers answer: some server leads them. Any thread.
  bool are_led() const;
  /// Whose the streams are. Any thread.
  enum class Owner { none, us, other };
  Owner owner() const;  // none: they are not there, or the server does not answer
  void publish_order(const WorkOrder& order);
  /// Asks for a block's removal; the answer goes to `reply`.
  void remove_block(std::uint64_t sequence, const std::string& reply) noexcept;

 private:
  void make_stream(const std::string& name, const std::string& subject, const jsStreamConfig& base);
  void make_consumer(const std::string& stream, const char* name, const std::string& subject, bool counts_tries);
  Held<jsStreamInfo> look(const std::string& stream, int wait_ms) const;

  NatsLink& link_;
  const PoolNames names_;
  const PoolConfig config_;
  std::int64_t todo_bytes_, done_bytes_;
  int most_out_;
  const std::string run_;
  std::int64_t created_ = 0;
  jsOptions wait_{};  // of what `make` asks for
};

}  // namespace iqd::hosts
