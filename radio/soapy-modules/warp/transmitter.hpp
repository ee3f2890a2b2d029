// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "radio/soapy-modules/warp/receiver.hpp"

namespace iqd::warp {

/// Words of `tx_mode`. A node that sends again and again does so without the host, until it is told to stop.
inline constexpr std::uint32_t kSingle = 0, kContinuous = 1;

/// Something that became of a burst.
struct Report {
  enum class Kind : std::uint8_t { sent, late } kind;
  std::int64_t time_ns;  // when it ended, or was to begin
};

/// Bursts: samples are gathered until one is whole, written to the nodes, and sent by a trigger. One thread, but for
/// counts. As the receiver: nothing takes longer than its deadline, and the next call goes on.
///
/// With time stamps a burst begins at that of its first sample. Of a stream that never ends it takes a burst every
/// `every_ns`; what lies between is not sent.
class Transmitter {
 public:
  struct Options {
    std::uint32_t length = 32768;  // samples of a burst, at most
    std::int64_t every_ns = 0;     // from the beginning of one to the next
    bool continuous = false;       // a burst is sent again and again, until there is another
    double rate_hz = 40e6;
  };
  Transmitter(Trigger& trigger, std::vector<Chain> chains, const Options& options);

  void start();
  void stop();

  /// Samples of all chains that somebody wants to send.
  class Rows {
   public:
    virtual ~Rows() = default;
    /// `count` of them from `at` on, I and Q in turn.
    virtual void copy(std::size_t row, std::uint32_t at, std::uint32_t count, std::int16_t* to) const = 0;
  };
  static constexpr int kLate = -1;  // the time of these samples is over
  /// Takes as many as it can: perhaps none by the deadline. `ends`: the burst ends with the last of them.
  int write(const Rows& rows, std::uint32_t count, std::optional<std::int64_t> time_ns, bool ends,
            std::int64_t deadline_ns);
  /// Goes on with what is under way; true when it can take samples.
  bool advance(std::int64_t deadline_ns);
  std::optional<Report> next_report();
  const std::vector<NodeMask>& masks() const noexcept { return masks_; }

  std::uint64_t bursts() const noexcept { return bursts_; }
  std::uint64_t skipped() const noexcept { return skipped_; }

 private:
  enum class State : std::uint8_t { gathering, writing, ready, armed, sending };
  std::int64_t ns_of(std::int64_t samples) const noexcept;
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
  std::vector<std::vector<std::int16_t>> burst_;  // one a chain
  std::uint32_t gathered_ = 0;
  std::optional<std::int64_t> stream_ns_;  // of the next sample that comes, where samples have times
  std::optional<std::int64_t> begins_ns_;  // of the burst
  std::int64_t window_ns_ = 0;             // no burst of a stream with times begins before
  std::int64_t next_ns_ = 0;               // the same without (steady)
  std::size_t step_ = 0;                   // of what the state does
  std::uint32_t written_ = 0;
  std::int64_t since_ns_ = 0;  // that it is at it
  std::int64_t over_ns_ = 0;   // when the burst is (steady)
  bool on_air_ = false;        // continuously
  std::deque<Report> reports_;
  std::atomic<std::uint64_t> bursts_{0}, skipped_{0};
};

}  // namespace iqd::warp
