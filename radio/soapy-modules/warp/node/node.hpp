// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "radio/soapy-modules/warp/node/packet.hpp"
#include "radio/soapy-modules/warp/node/piece.hpp"
#include "radio/soapy-modules/warp/node/udp.hpp"

namespace iqd::warp {

/// A node does not answer.
struct NodeSilent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Address of a node, and how long to wait for it.
struct NodeOptions {
  std::uint16_t id = 0;
  std::uint16_t host = 250;
  sockaddr_in address{};
  std::int64_t patience_ns = 50'000'000;    // for a packet, before it is requested again
  std::int64_t silence_ns = 2'000'000'000;  // without any answer: the node is gone
  std::uint32_t samples_a_packet = 359;     // capacity of a packet
  double rate_hz = 40e6;
};

/// Statistics of the exchange between host and node.
struct NodeCounts {
  std::atomic<std::uint64_t> asked_again{0};  // a reply, or a part of one, did not arrive
  std::atomic<std::uint64_t> not_ready{0};
  std::atomic<std::uint64_t> ignored{0};  // invalid packets, and packets that were late or for another host
  std::atomic<std::uint64_t> written_again{0};
};

/// The exchange with one node: one request at a time, from any thread. Each wait ends by a deadline (steady_ns),
/// whatever the node does; a request without an answer may be repeated.
class Node {
 public:
  explicit Node(const NodeOptions& options);

  /// Returns the words of the reply, or nothing if none came by the deadline. Repeats the request meanwhile.
  /// Throws NodeSilent.
  std::optional<Words> ask(Command command, std::span<const std::uint32_t> words, std::int64_t deadline_ns);
  std::optional<Words> ask(Command command, std::initializer_list<std::uint32_t> words, std::int64_t deadline_ns);
  /// The same without a deadline: throws NodeSilent if no answer comes for `silence_ns`.
  Words ask(Command command, std::initializer_list<std::uint32_t> words);
  Info info();
  /// Asks the node what it is. Throws std::runtime_error if the board was replaced or restarted: it answers as before,
  /// but its settings are lost. Returns false if no answer came by the deadline.
  bool recognise(std::int64_t deadline_ns);

  struct Read {
    enum class Outcome : std::uint8_t { whole, later, not_ready, other_capture, failed } outcome;
    std::int64_t wait_ns = 0;  // with `not_ready`
  };
  /// Fetches the missing samples of a piece. `capture` is the id that the samples must have; if empty, it takes that of
  /// the first samples that arrive.
  Read read(Piece& piece, std::optional<std::uint8_t>& capture, std::int64_t deadline_ns);
  enum class Write : std::uint8_t { done, later, not_ready, failed };
  /// One stretch of a write that has several, back to back.
  struct Part {
    bool begins = true, ends = true;
  };
  /// Writes a stretch into a buffer. Done only if the node reports the right checksum of the write so far.
  Write write(std::uint32_t buffer, std::uint32_t first, std::uint32_t count, const std::int16_t* iq,
              std::int64_t deadline_ns, Part part);
  Write write(std::uint32_t buffer, std::uint32_t first, std::uint32_t count, const std::int16_t* iq,
              std::int64_t deadline_ns) {
    return write(buffer, first, count, iq, deadline_ns, {});
  }

  const NodeOptions& options() const noexcept { return options_; }
  const NodeCounts& counts() const noexcept { return counts_; }
  /// "node 0 at 10.0.0.1:9000"
  std::string name() const;
  /// A command whose answer nobody awaits.
  Bytes packet(Command command, std::initializer_list<std::uint32_t> words) const;

 private:
  Header header(Command command, std::uint16_t flags = kReplyWanted);
  void send(const Bytes& bytes);
  void compare(const Info& info);
  std::optional<Packet> reply(std::uint16_t since, std::int64_t deadline_ns);
  std::optional<Packet> expect(std::uint16_t since, std::int64_t deadline_ns);
  void request(Piece& piece);
  Read collect(Piece& piece, std::optional<std::uint8_t>& capture, std::uint16_t since, std::int64_t deadline_ns);
  Read wait_for(const SampleHeader& header, std::uint32_t end);
  Write send_samples(std::uint32_t buffer, std::uint32_t first, std::uint32_t count, const std::int16_t* iq, Part part,
                     std::int64_t deadline_ns);

  const NodeOptions options_;
  std::mutex mutex_;
  UdpSocket socket_;
  NodeCounts counts_;
  std::uint16_t sequence_ = 0;
  std::uint8_t write_ = 0;
  Checksum each_, once_;             // the protocol description allows a start per packet or per write
  std::uint32_t packet_samples_;     // samples in one of its packets
  std::uint32_t packets_asked_ = 0;  // by the last request for samples
  std::uint32_t asked_up_to_ = 0;    // the same
  std::int64_t silent_ns_ = 0;       // time spent waiting since its last answer

  /// A length that was set in the node, and that the node reports in its info.
  struct Length {
    void tell(std::uint32_t value) noexcept;
    bool forgotten(std::uint32_t said) noexcept;
    std::optional<std::uint32_t> told, before;  // the node has one of these until it answers
    bool says = false;                          // whether the node reports the length that was set
  };
  std::optional<std::uint32_t> serial_;
  Length tx_length_, rx_length_;
};

}  // namespace iqd::warp
