// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/node/chain.hpp"
#include "radio/soapy-modules/warp/node/trigger.hpp"
#include "radio/soapy-modules/warp/receive/capture_ids.hpp"
#include "radio/soapy-modules/warp/receive/capture_pieces.hpp"

namespace iqd::warp {

/// Captures in sequence: arm, trigger, wait, read. For one thread. No call takes longer than its deadline (steady_ns);
/// the next call continues where the last one stopped.
class Receiver {
 public:
  struct Options {
    std::uint32_t length = 32768;  // samples of a capture
    std::int64_t every_ns = 0;     // minimum time from one start to the next
    bool with_bursts = false;      // starts with the transmitter's bursts, otherwise on its own
    double rate_hz = 40e6;
  };
  Receiver(Trigger& trigger, std::vector<Chain> chains, const Options& options);

  void start();
  void stop();

  enum class Event : std::uint8_t { samples, nothing, lost };
  /// Makes samples available. `lost`: the rest of a capture could not be read.
  Event advance(std::int64_t deadline_ns);

  // The available samples.
  std::uint32_t available() const noexcept { return pieces_.available(); }
  const std::int16_t* iq(std::size_t channel) const noexcept { return pieces_.iq(channel); }
  std::int64_t time_ns() const noexcept;
  /// Whether they are the last ones of a capture.
  bool at_end() const noexcept { return pieces_.at_end(); }
  void take(std::uint32_t samples) noexcept { pieces_.take(samples); }

  std::uint64_t captures() const noexcept { return captures_; }
  std::uint64_t lost_triggers() const noexcept { return lost_triggers_; }

 private:
  enum class State : std::uint8_t { idle, arming, armed, running, reading };
  bool arm(std::int64_t deadline_ns);
  bool begin(std::int64_t deadline_ns);
  Event read(std::int64_t deadline_ns);
  bool recognise(std::int64_t deadline_ns);
  bool is_repeated(std::size_t channel);
  Event give_up();
  void next_piece();
  std::int64_t ready_ns() const noexcept;

  Trigger& trigger_;
  const std::vector<Chain> chains_;
  const std::vector<NodeMask> masks_;
  const Options options_;

  State state_ = State::idle;
  std::size_t step_ = 0;      // index of the node being armed, or of the chain being read
  std::int64_t next_ns_ = 0;  // earliest start
  Shot shot_;
  CapturePieces pieces_;
  CaptureIds ids_;
  bool doubtful_ = false;  // a capture failed, so the nodes may have lost their settings
  int failures_ = 0;       // consecutive
  std::atomic<std::uint64_t> captures_{0}, lost_triggers_{0};
};

}  // namespace iqd::warp
