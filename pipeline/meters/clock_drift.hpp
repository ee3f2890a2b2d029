// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace iqd {

/// Estimates the drift of a radio's clock against the host's from the arrival times of samples. Delays only make
/// samples later, never earlier, so the fastest arrival in every two seconds counts. The estimate is the median of the
/// slopes between all these points of up to five minutes, which tolerates intervals in which all samples were late. The
/// host's clock is the one that is never set and whose rate NTP corrects.
class ClockDrift {
 public:
  /// The radio thread: samples up to `radio_ns` had arrived at `host_ns`. True every two seconds, when `delay_ns` is
  /// new.
  bool saw(std::int64_t radio_ns, std::int64_t host_ns) noexcept;
  /// The smallest delay of the last two seconds: host minus radio.
  std::int64_t delay_ns() const noexcept { return delay_ns_; }
  /// The same thread: the radio's clock was set, or an unknown number of samples was lost.
  void begin_anew() noexcept;

  struct Estimate {
    double ppm = 0;        // positive: the radio's clock is faster
    double error_ppm = 0;  // two standard deviations
    double over_s = 0;     // time observed
  };
  /// Any thread; none before 16 s.
  std::optional<Estimate> estimate() const;

 private:
  static constexpr std::int64_t kEveryNs = 2'000'000'000;
  static constexpr std::size_t kMost = 150;
  static constexpr std::size_t kLeast = 8;
  struct Point {
    std::atomic<std::int64_t> radio_ns{0};
    std::atomic<std::int64_t> delay_ns{0};
  };

  std::array<Point, kMost> points_;      // a ring
  std::atomic<std::uint64_t> begin_{0};  // begin_ and end_ count points; begin_: the first since the clock was set
  std::atomic<std::uint64_t> end_{0};

  // The radio thread's.
  bool began_ = false;
  std::int64_t began_ns_ = 0;
  std::int64_t best_radio_ns_ = 0;
  std::int64_t best_delay_ns_ = 0;
  std::int64_t delay_ns_ = 0;
};

}  // namespace iqd
