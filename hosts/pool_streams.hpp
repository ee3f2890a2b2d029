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
  /// Makes what is missing. Returns whether the stream of blocks is another than before. Throws SetupError.
  bool make();
  /// Removes all blocks and results. Throws SetupError.
  void purge();
  /// Another home has made them its own.
  bool is_taken() const;
  void publish_order(const WorkOrder& order);
  /// Removes a block; nothing waits for the answer.
  void remove_block(std::uint64_t sequence) noexcept;

 private:
  void make_stream(const std::string& name, const std::string& subject, const jsStreamConfig& base);
  void make_consumer(const std::string& stream, const char* name, const std::string& subject, bool counts_tries);
  Held<jsStreamInfo> look(const std::string& stream) const;

  NatsLink& link_;
  const PoolNames names_;
  const PoolConfig config_;
  std::int64_t todo_bytes_, done_bytes_;
  int most_out_;
  const std::string run_;
  std::int64_t created_ = 0;
};

}  // namespace iqd::hosts
