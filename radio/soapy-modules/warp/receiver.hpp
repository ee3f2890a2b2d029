// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "radio/soapy-modules/warp/node.hpp"
#include "radio/soapy-modules/warp/trigger.hpp"

namespace iqd::warp {

/// One RF chain of one node.
struct Chain {
  Node* node = nullptr;
  std::size_t number = 0;
};
/// The chains of each node as one word, in the order of the nodes.
struct NodeMask {
  Node* node;
  std::uint32_t buffers;
  std::uint32_t rf;
};
std::vector<NodeMask> masks_of(const std::vector<Chain>& chains);

/// Captures, one behind the other: arm, trigger, wait, read. One thread. Nothing takes longer than its deadline
/// (steady_ns) says; the next call goes on where the last one stopped.
class Receiver {
 public:
  struct Options {
    std::uint32_t length = 32768;  // samples of a capture
    std::int64_t every_ns = 0;     // from one to the next at least
    bool with_bursts = false;      // begins with the transmitter's bursts, else by itself
    double rate_hz = 40e6;
  };
  Receiver(Trigger& trigger, std::vector<Chain> chains, const Options& options);

  void start();
  void stop();

  enum class Event : std::uint8_t { samples, nothing, lost };
  /// Sees that there are samples in hand. `lost`: the rest of a capture could not be had.
  Event advance(std::int64_t deadline_ns);

  // What is in hand.
  std::uint32_t available() const noexcept { return given_to_ - given_from_; }
  const std::int16_t* iq(std::size_t channel) const noexcept { return &pieces_[channel].iq[2 * given_from_]; }
  std::int64_t time_ns() const noexcept;
  /// Whether these are the last ones of a capture.
  bool at_end() const noexcept { return position_ == options_.length; }
  void take(std::uint32_t samples) noexcept { given_from_ += samples; }

  std::uint64_t captures() const noexcept { return captures_; }
  std::uint64_t lost_triggers() const noexcept { return lost_triggers_; }

 private:
  enum class State : std::uint8_t { idle, arming, armed, running, reading };
  bool arm(std::int64_t deadline_ns);
  bool begin(std::int64_t deadline_ns);
  Event read(std::int64_t deadline_ns);
  bool recognise(std::int64_t deadline_ns);
  bool stale(std::size_t row);
  Event give_up();
  void next_piece();

  Trigger& trigger_;
  const std::vector<Chain> chains_;
  const std::vector<NodeMask> masks_;
  const Options options_;

  State state_ = State::idle;
  std::size_t step_ = 0;       // nodes that are armed, chains that are read
  std::int64_t next_ns_ = 0;   // not before
  std::int64_t ready_ns_ = 0;  // when the capture is over
  Shot shot_;
  std::uint32_t position_ = 0;  // behind the piece in hand, or at work
  std::vector<Piece> pieces_;   // one a chain
  std::vector<std::optional<std::uint8_t>> ids_, last_ids_;
  std::uint32_t given_from_ = 0, given_to_ = 0;
  bool ids_count_ = true;  // nodes give each capture another id
  bool doubtful_ = false;  // whether they know what they were set to, since a capture failed
  int stale_ = 0;          // in a row
  int failures_ = 0;       // the same
  std::atomic<std::uint64_t> captures_{0}, lost_triggers_{0};
};

}  // namespace iqd::warp
