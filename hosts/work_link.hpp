// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hosts/link_config.hpp"
#include "hosts/pool_messages.hpp"

namespace iqd::hosts {

/// A block that this worker has and no other. Unless it is done or given back, another worker gets it.
class HeldBlock {
 public:
  virtual ~HeldBlock() = default;
  virtual const BlockHead& head() const noexcept = 0;
  virtual std::span<const std::byte> samples() const noexcept = 0;
  /// Tells the server that work continues.
  virtual void beat() noexcept = 0;
  /// Sends the results, and then takes the block from the queue. False: the server does not answer; try again.
  virtual bool finish(std::string_view result) noexcept = 0;
  /// Another worker gets it at once.
  virtual void give_back() noexcept = 0;
};

/// What a worker knows of its home.
struct HomeFacts {
  std::string run;
  std::string host;
  std::string build;
  bool same = true;  // only workers of this build
  double ack_wait_s = 0;
  double patience_s = 0;
};

/// A worker's connection to one pool. Any thread.
class WorkLink {
 public:
  virtual ~WorkLink() = default;
  virtual bool is_connected() const noexcept = 0;
  virtual std::string server() const = 0;
  virtual std::string trouble() const = 0;
  /// Why it will not connect again; empty: it may.
  virtual std::string failure() const = 0;
  /// Of a message.
  virtual std::size_t most_bytes() const = 0;
  /// Asks the home of the pool; nothing if it is not there.
  virtual std::optional<HomeFacts> home() = 0;
  /// The next block, if one comes within this time.
  virtual std::unique_ptr<HeldBlock> fetch(int wait_ms) = 0;
  /// The text of an order; empty if there is none. Nothing: the server does not answer.
  virtual std::optional<std::string> order(const std::string& hash) = 0;
  virtual void say(const HereMessage& here) noexcept = 0;
};

class NatsLink;
/// Nothing if there is no home, or if it does not answer in time.
std::optional<HomeFacts> ask_home(const NatsLink& link, const PoolNames& names, int wait_ms);

/// Throws SetupError, also if this build has no libnats.
std::unique_ptr<WorkLink> open_work_link(const LinkConfig& config, const std::string& pool);

}  // namespace iqd::hosts
