// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "radio/soapy-modules/warp/node/chain.hpp"
#include "radio/soapy-modules/warp/node/trigger.hpp"
#include "radio/soapy-modules/warp/transmit/burst.hpp"
#include "radio/soapy-modules/warp/transmit/burst_schedule.hpp"
#include "radio/soapy-modules/warp/transmit/burst_writer.hpp"

namespace iqd::warp {

/// Words of `tx_mode`. In continuous mode a node repeats the burst without the host, until it gets a stop command.
inline constexpr std::uint32_t kSingle = 0, kContinuous = 1;

/// The result of a burst.
struct Report {
  enum class Kind : std::uint8_t { sent, late } kind;
  std::int64_t time_ns;  // when it ended, or should have begun
};

/// Bursts: samples are gathered until a burst is whole, written to the nodes, and sent by a trigger. For one thread,
/// except for counts. As in the receiver, no call takes longer than its deadline, and the next call continues.
/// With time stamps, a burst begins at the time of its first sample. From an endless stream, it takes a burst every
/// `every_ns` and skips the samples in between.
class Transmitter {
 public:
  struct Options {
    std::uint32_t length = 32768;  // maximum length of a burst
    std::int64_t every_ns = 0;     // minimum time from one start to the next
    bool continuous = false;       // a burst is repeated until the next one
    double rate_hz = 40e6;
  };
  Transmitter(Trigger& trigger, std::vector<Chain> chains, const Options& options);

  void start();
  void stop();

  static constexpr int kLate = -1;  // the time of these samples has passed
  /// Returns how many it took: perhaps none by the deadline. `ends`: the burst ends with the last of them.
  int write(const Burst::Rows& rows, std::uint32_t count, std::optional<std::int64_t> time_ns, bool ends,
            std::int64_t deadline_ns);
  /// Continues the current burst. Returns true if it can take samples.
  bool advance(std::int64_t deadline_ns);
  std::optional<Report> next_report();
  const std::vector<NodeMask>& masks() const noexcept { return masks_; }

  std::uint64_t bursts() const noexcept { return bursts_; }
  std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  enum class State : std::uint8_t { gathering, writing, ready, armed, sending };
  int place(std::uint32_t count, std::int64_t deadline_ns);
  void report(Report::Kind kind, std::int64_t time_ns);
  bool write_out(std::int64_t deadline_ns);
  bool arm(std::int64_t deadline_ns);
  bool fire(std::int64_t deadline_ns);
  bool finish(std::int64_t deadline_ns);
  bool disable(std::int64_t deadline_ns);
  void end(Report::Kind kind, std::int64_t time_ns);
  void forget();

  Trigger& trigger_;
  const std::vector<Chain> chains_;
  const std::vector<NodeMask> masks_;
  const Options options_;

  State state_ = State::gathering;
  Burst burst_;
  BurstSchedule schedule_;
  BurstWriter writer_;
  std::size_t step_ = 0;      // progress of arming
  std::int64_t over_ns_ = 0;  // when the burst ends (steady)
  bool on_air_ = false;       // in continuous mode
  std::deque<Report> reports_;
  std::atomic<std::uint64_t> bursts_{0}, skipped_{0};
};

}  // namespace iqd::warp
