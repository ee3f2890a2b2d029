// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// WARP nodes that answer on UDP as the protocol description says, and that fail on demand. They share no packet code
// with the module, so that a mistake there is not repeated here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "radio/soapy-modules/warp/simulated/board.hpp"
#include "radio/soapy-modules/warp/simulated/bytes.hpp"
#include "radio/soapy-modules/warp/simulated/command_log.hpp"
#include "radio/soapy-modules/warp/simulated/fault_injector.hpp"
#include "radio/soapy-modules/warp/simulated/options.hpp"
#include "radio/soapy-modules/warp/simulated/write_checksum.hpp"

namespace iqd::warp_node {

/// What the host asked of a node, for tests.
struct Seen {
  std::atomic<int> packets{0}, triggers{0}, captures{0}, sent{0}, requests{0}, broken{0};
};

/// One node: the packets that it answers, with a radio of its own. For one thread, except where noted.
class Node {
 public:
  explicit Node(const Options& options);

  using Datagram = warp_node::Datagram;
  /// Returns the answers to a packet, in the order in which they are sent.
  std::vector<Datagram> answer(std::span<const std::uint8_t> packet);
  void trigger(std::uint32_t id);

  int id() const { return options_.id; }
  bool configured() const { return configured_; }
  const Seen& seen() const { return seen_; }

  // For tests, from any thread.
  /// The words of the last command of this kind.
  std::optional<std::vector<std::uint32_t>> last(std::uint32_t command) const { return commands_.last(command); }
  int times(std::uint32_t command) const { return commands_.times(command); }
  /// As if the node had been power-cycled, or replaced by another board.
  void restart(int serial);
  /// Whether a chain is on the air.
  bool transmits(int chain) const;

 private:
  std::vector<std::uint32_t> obey(std::uint32_t command, const std::vector<std::uint32_t>& words);
  void obey_switch(std::uint32_t command, std::uint32_t select);
  std::vector<std::uint32_t> info() const;
  void configure(const std::vector<std::uint32_t>& words);
  std::vector<Datagram> read(const Fields& packet);
  Datagram samples(const Fields& request, std::uint32_t flags, int capture, std::uint32_t first, std::uint32_t n,
                   const Chain* chain) const;
  Datagram not_ready(const Fields& request, const Chain& chain, std::int64_t now) const;
  std::vector<Datagram> written(std::span<const std::uint8_t> bytes);
  Datagram reply(const Fields& request, std::uint32_t flags, const std::vector<std::uint32_t>& words) const;

  Options options_;
  std::atomic<bool> configured_;
  Seen seen_;
  CommandLog commands_;
  FaultInjector faults_;
  mutable std::mutex mutex_;  // what tests read and set: the board, and the serial number
  Board board_;
  WriteChecksum write_;
};

/// Nodes at one address, in a thread of their own. Each has its port; all share one trigger port.
class Network {
 public:
  /// `trigger_port` 0: any free port. Throws std::system_error.
  Network(const std::vector<Options>& nodes, int trigger_port = 10000);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The port of node 0, even if there is no node 0.
  int port() const { return port_; }
  int trigger_port() const { return trigger_port_; }
  Node& node(std::size_t i = 0) { return *nodes_[i]; }

 private:
  void run();
  void serve(int socket, Node& node);
  void hear_triggers();
  void say(int socket, const std::vector<Node::Datagram>& answers, const void* to);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<int> sockets_;
  int triggers_ = -1;
  int port_ = 0, trigger_port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace iqd::warp_node
