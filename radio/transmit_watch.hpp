// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace iqd::radio {

/// When a transmitter is idle, and when its radio is gone because it takes no samples. All times are of the steady
/// clock, which the caller reads. One thread at a time.
class TransmitWatch {
 public:
  /// No call waits longer than this for a radio to take samples.
  static constexpr std::int64_t kPatienceNs = 1'000'000'000;
  /// A transmitter without samples for this long is switched off.
  static constexpr std::int64_t kIdleNs = 500'000'000;
  /// A radio that takes no samples for this long is gone.
  static constexpr std::int64_t kGoneNs = 5'000'000'000;

  /// Samples came, whether or not the radio took them.
  void came(std::int64_t now_ns) noexcept { came_ns_ = now_ns; }
  /// Whether no samples came lately. Samples that came may take until `until_ns` to leave.
  bool is_idle(std::int64_t now_ns, std::int64_t until_ns = 0) const noexcept {
    return now_ns - std::max(came_ns_, until_ns) >= kIdleNs;
  }
  void taken() noexcept { refused_ns_ = 0; }
  /// The radio took no samples. Returns whether it is gone.
  bool refused(std::int64_t now_ns) noexcept {
    if (refused_ns_ == 0) refused_ns_ = now_ns;
    return now_ns - refused_ns_ > kGoneNs;
  }

 private:
  std::int64_t came_ns_ = 0;
  std::int64_t refused_ns_ = 0;  // no samples taken since then; 0: they are taken
};

}  // namespace iqd::radio
