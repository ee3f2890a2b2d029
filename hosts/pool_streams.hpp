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
  /// `most_out`: blocks that may be out.
  PoolStreams(NatsLink& link, const PoolNames& names, const PoolConfig& config, const PoolNeeds& needs, int most_out);
  /// Makes what is missing. Returns whether the stream of blocks is another than before. Throws SetupError.
  bool make();
  /// Removes all blocks and results. Throws SetupError.
  void purge();
  void publish_order(const WorkOrder& order);
  /// Removes a block; nothing waits for the answer.
  void remove_block(std::uint64_t sequence) noexcept;

 private:
  void make_stream(const std::string& name, const std::string& subject, const jsStreamConfig& base);
  void make_consumer(const std::string& stream, const char* name, const std::string& subject, bool counts_tries);
  std::int64_t created(const std::string& stream) const;

  NatsLink& link_;
  const PoolNames names_;
  const PoolConfig config_;
  std::int64_t todo_bytes_, done_bytes_;
  int most_out_;
  std::int64_t created_ = 0;
};

}  // namespace iqd::hosts
