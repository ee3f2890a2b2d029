// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace iqd {

/// How a radio's clock goes against the host's, from when its samples arrived. What keeps samples on their way makes
/// them later, never earlier: so of every two seconds the one that was quickest counts. The median of the slopes
/// between all of up to five minutes does not mind that in some of them all were late. The host's clock is the one that
/// is never set and that NTP keeps at its pace.
class ClockDrift {
 public:
  /// The radio thread: samples up to `radio_ns` had arrived at `host_ns`. True once in two seconds: `delay_ns` is new.
  bool saw(std::int64_t radio_ns, std::int64_t host_ns) noexcept;
  /// The least of the last two seconds: host less radio.
  std::int64_t delay_ns() const noexcept { return delay_ns_; }
  /// The same thread: the radio's clock was set, or samples were lost without anybody knowing how many.
  void begin_anew() noexcept;

  struct Estimate {
    double ppm = 0;        // by which the radio's clock is the faster one
    double error_ppm = 0;  // two standard deviations
    double over_s = 0;     // seen for so long
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
  std::atomic<std::uint64_t> begin_{0};  // count points; since the clock was set last
  std::atomic<std::uint64_t> end_{0};

  // The radio thread's.
  bool began_ = false;
  std::int64_t began_ns_ = 0;
  std::int64_t best_radio_ns_ = 0;
  std::int64_t best_delay_ns_ = 0;
  std::int64_t delay_ns_ = 0;
};

}  // namespace iqd
