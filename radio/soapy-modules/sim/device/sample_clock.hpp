// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>

#include "base/integer.hpp"

namespace iqd::sim {

/// The device's clock: position n was at start + n / rate. Paced, it follows the host's clock, with an optional error.
class SampleClock {
 public:
  using Steady = std::chrono::steady_clock;

  void start(double rate_hz, std::int64_t epoch_ns, double faster_ppm = 0) {
    rate_hz_ = rate_hz;
    pace_ = 1 + faster_ppm * 1e-6;
    epoch_ns_ = epoch_ns;
    started_ = Steady::now();
  }
  /// The position at the current host time.
  std::int64_t position() const {
    return static_cast<std::int64_t>(std::chrono::duration<double>(Steady::now() - started_).count() * rate_hz_ *
                                     pace_);
  }
  Steady::time_point when(std::int64_t position) const {
    // A nanosecond longer than exact, so that a caller who waits for a position finds it reached.
    const double after = static_cast<double>(after_ns(position)) / pace_;
    return started_ + std::chrono::nanoseconds(static_cast<std::int64_t>(after) + 1);
  }
  /// Time stamp of a position.
  std::int64_t time_ns(std::int64_t position) const {
    return saturated_add(saturated_add(epoch_ns_, after_ns(position)), jumped_ns_.load(std::memory_order_relaxed));
  }
  /// The position with this time stamp.
  std::int64_t at(std::int64_t time_ns) const {
    const std::int64_t since =
        saturated_sub(saturated_sub(time_ns, epoch_ns_), jumped_ns_.load(std::memory_order_relaxed));
    return static_cast<std::int64_t>(std::llroundl(static_cast<long double>(since) * rate_hz_ / 1e9L));
  }
  void jump(double seconds) { jumped_ns_.fetch_add(std::llround(seconds * 1e9), std::memory_order_relaxed); }

 private:
  std::int64_t after_ns(std::int64_t position) const {
    return std::llroundl(static_cast<long double>(position) * 1e9L / rate_hz_);
  }

  double rate_hz_ = 1;
  double pace_ = 1;  // seconds of this clock per second of the host's
  std::int64_t epoch_ns_ = 0;
  std::atomic<std::int64_t> jumped_ns_{0};
  Steady::time_point started_{};
};

}  // namespace iqd::sim
