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

#include "radio/soapy-modules/warp/packet.hpp"
#include "radio/soapy-modules/warp/piece.hpp"
#include "radio/soapy-modules/warp/udp.hpp"

namespace iqd::warp {

/// A node that does not answer.
struct NodeSilent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where a node is, and how long it is waited for.
struct NodeOptions {
  std::uint16_t id = 0;
  std::uint16_t host = 250;
  sockaddr_in address{};
  std::int64_t patience_ns = 50'000'000;    // for a packet, before it is asked for again
  std::int64_t silence_ns = 2'000'000'000;  // without an answer to anything: it is gone
  std::uint32_t samples_a_packet = 359;     // what fits into one
  double rate_hz = 40e6;
};

/// What went on between host and node, for whoever is curious.
struct NodeCounts {
  std::atomic<std::uint64_t> asked_again{0};  // a reply, or a part of one, did not come
  std::atomic<std::uint64_t> not_ready{0};
  std::atomic<std::uint64_t> ignored{0};  // packets that were none, or for somebody else, or late
  std::atomic<std::uint64_t> written_again{0};
};

/// The conversation with one node: one request at a time, whichever thread asks. Each wait ends by a deadline
/// (steady_ns), whatever the node does; a request that found no answer by then may be made again.
class Node {
 public:
  explicit Node(const NodeOptions& options);

  /// The words of the reply; nothing where none came by the deadline. Asks again every now and then.
  /// Throws NodeSilent.
  std::optional<Words> ask(Command command, std::span<const std::uint32_t> words, std::int64_t deadline_ns);
  std::optional<Words> ask(Command command, std::initializer_list<std::uint32_t> words, std::int64_t deadline_ns);
  /// The same for what cannot wait: throws NodeSilent where no answer comes for `silence_ns`.
  Words ask(Command command, std::initializer_list<std::uint32_t> words);
  Info info();
  /// Asks the node what it is. Throws std::runtime_error where it is another than at first, or was restarted since: it
  /// answers as before, but what it was set to is gone. False where no answer came by the deadline.
  bool recognise(std::int64_t deadline_ns);

  struct Read {
    enum class Outcome : std::uint8_t { whole, later, not_ready, other_capture, failed } outcome;
    std::int64_t wait_ns = 0;  // with `not_ready`
  };
  /// Brings what is missing of a piece. `capture` is the id that the samples are to have; without one they get that of
  /// the first that come.
  Read read(Piece& piece, std::optional<std::uint8_t>& capture, std::int64_t deadline_ns);
  enum class Write : std::uint8_t { done, later, not_ready, failed };
  /// Of what is written in several stretches, one behind the other.
  struct Part {
    bool begins = true, ends = true;
  };
  /// Writes a stretch into a buffer, and believes it when the node says the right checksum: of all since it began.
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
  /// A command that nobody waits for the answer of.
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
  Checksum each_, once_;  // the description can be read so that the start counts for each packet, or for all of them
  std::uint32_t packet_samples_;     // what its packets hold
  std::uint32_t packets_asked_ = 0;  // by the last request for samples
  std::uint32_t asked_up_to_ = 0;    // the same
  std::int64_t silent_ns_ = 0;       // waited for nothing since its last answer

  /// A length is what a node is told, and says when it is asked what it is.
  struct Length {
    void tell(std::uint32_t value) noexcept;
    bool forgotten(std::uint32_t said) noexcept;
    std::optional<std::uint32_t> told, before;  // which of the two it has is not known until it answers
    bool says = false;                          // what it was told, and not something else
  };
  std::optional<std::uint32_t> serial_;
  Length tx_length_, rx_length_;
};

}  // namespace iqd::warp
