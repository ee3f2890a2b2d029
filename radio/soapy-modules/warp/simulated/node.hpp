// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// WARP nodes that answer on UDP as the description of the protocol has it, and that misbehave on demand. They know
// nothing of the module's own packets, so that a mistake there is not made here as well.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "radio/soapy-modules/warp/simulated/bytes.hpp"
#include "signal/transmit/transmitter.hpp"

namespace iqd::warp_node {

/// What goes wrong. Each number is "every so many": 0 is never.
struct Faults {
  int lose = 0;           // packets of samples to the host
  int repeat = 0;         // packets of samples come twice
  int swap = 0;           // a packet of samples comes behind the next one
  int cut = 0;            // packets of samples are too short
  int foreign = 0;        // a packet for somebody else in front of a packet of samples
  int lose_commands = 0;  // of those that come, whatever they are
  int lose_triggers = 0;
  int lose_written = 0;   // packets of samples from the host
  double late_s = 0;      // a capture is ready so much later than it should be
  double deaf_at_s = -1;  // says nothing from then on…
  double deaf_for_s = 0;  // …for so long
};

struct Options {
  std::string address = "127.0.0.1";
  int id = 0;
  int port = 9000;  // the node's is `port` + `id`; 0: any that is free
  int serial = 1;
  int chains = 4;
  std::uint32_t most = 1 << 20;  // samples of a buffer
  double rate_hz = 40e6;
  bool configured = true;      // else it has no id before it is given one
  bool small_packets = false;  // understands the most bytes of a packet with its headers
  bool write_clears = false;   // the first packet of a write empties the buffer
  bool start_once = false;     // the checksum has the start of a write, not of each packet
  std::vector<int> wires;      // receive chain c hears transmit chain wires[c]; -1, or nothing: a pattern
  int delay = 0;               // samples on the way
  bool amplifier = false;      // and the spec amplifier with its mixer
  double snr_db = 0;           // below full scale; 0: no noise
  Faults faults;
};

/// The word that is sample n of a capture of a chain where no wire leads there: n in I; capture, chain and the rest of
/// n in Q.
constexpr std::uint32_t pattern(int capture, int chain, std::uint32_t n) {
  return (n & 0xFFFF) << 16 | static_cast<std::uint32_t>(capture & 0xFF) << 8 |
         static_cast<std::uint32_t>(chain & 3) << 6 | (n >> 16 & 0x3F);
}

/// What was asked of a node, for tests that look.
struct Seen {
  std::atomic<int> packets{0}, triggers{0}, captures{0}, sent{0}, requests{0}, broken{0};
};

/// One node: what it is set to, its buffers, and what it answers. One thread.
class Node {
 public:
  explicit Node(const Options& options);

  using Datagram = std::vector<std::uint8_t>;
  /// The answers to a packet, in the order in which they leave.
  std::vector<Datagram> answer(std::span<const std::uint8_t> packet);
  void trigger(std::uint32_t id);

  int id() const { return options_.id; }
  bool configured() const { return configured_; }
  const Seen& seen() const { return seen_; }

  // For tests, from any thread.
  /// The last words of a command.
  std::optional<std::vector<std::uint32_t>> last(std::uint32_t command) const;
  int times(std::uint32_t command) const;
  /// As if it had been switched off and on again, or another board been put in its place.
  void restart(int serial);
  /// Whether a chain is on the air now.
  bool transmits(int chain) const;

 private:
  struct Chain {
    std::vector<std::uint32_t> tx, rx;
    bool tx_on = false, rx_on = false;            // RF
    bool tx_enabled = false, rx_enabled = false;  // the buffers
    bool captured = false;
    int capture = 0;
    std::int64_t triggered_ns = 0, sent_ns = 0;
  };
  std::vector<std::uint32_t> obey(std::uint32_t command, const std::vector<std::uint32_t>& words);
  void initialise();
  void set_rf(std::uint32_t command, std::uint32_t select);
  void set_buffers(std::uint32_t command, std::uint32_t mask);
  std::vector<std::uint32_t> info() const;
  void configure(const std::vector<std::uint32_t>& words);
  std::vector<Datagram> read(const Fields& packet);
  Datagram samples(const Fields& request, std::uint32_t flags, int capture, std::uint32_t first, std::uint32_t n,
                   const Chain* chain) const;
  Datagram not_ready(const Fields& request, const Chain& chain, std::int64_t now) const;
  std::vector<Datagram> written(std::span<const std::uint8_t> bytes);
  void hear(int chain);
  Datagram reply(const Fields& request, std::uint32_t flags, const std::vector<std::uint32_t>& words) const;
  std::vector<Datagram> disturb(std::vector<Datagram> packets);
  bool due(int every, int& counter) const { return every > 0 && ++counter % every == 0; }
  bool deaf() const;
  bool on_air(const Chain& chain, std::int64_t now) const;

  Options options_;
  bool configured_;
  Seen seen_;
  mutable std::mutex mutex_;  // what tests look at
  std::map<std::uint32_t, std::vector<std::uint32_t>> last_;
  std::map<std::uint32_t, int> times_;
  std::array<Chain, 4> chains_;
  std::uint32_t tx_length_ = 0, rx_length_ = 0, tx_mode_ = 0, tx_delay_ = 0, triggers_ = 0;
  std::uint32_t write_id_ = 0, s1_ = 0, s2_ = 0;
  std::optional<iqd::Transmitter> amplifier_;
  std::int64_t began_ns_;
  int count_lose_ = 0, count_repeat_ = 0, count_swap_ = 0, count_cut_ = 0, count_foreign_ = 0, count_commands_ = 0,
      count_triggers_ = 0, count_written_ = 0;
};

/// Nodes at one address, in a thread of their own: each has its port, all hear one port of triggers.
class Network {
 public:
  /// `trigger_port` 0: any that is free. Throws std::system_error.
  Network(const std::vector<Options>& nodes, int trigger_port = 10000);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The port that node 0 has, or would have.
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
