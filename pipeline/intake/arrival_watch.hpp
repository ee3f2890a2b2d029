// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd {

/// How late samples arrive, compared with the quickest so far. Delays make samples later, never earlier. So if samples
/// seem to come much earlier than the quickest, the radio's clock was set. One thread.
class ArrivalWatch {
 public:
  /// Samples up to `radio_ns` had arrived at `host_ns`, on a clock that is never set.
  void saw(std::int64_t radio_ns, std::int64_t host_ns) noexcept;
  /// How much earlier than the quickest the samples up to `radio_ns` come at `host_ns`; negative: later. 0 if none came
  /// before.
  std::int64_t early_ns(std::int64_t radio_ns, std::int64_t host_ns) const noexcept;
  /// Whether there is something to compare with.
  bool knows() const noexcept { return knows_; }
  /// The radio's clock was set forward by this much, or back.
  void clock_was_set(std::int64_t by_ns) noexcept;
  /// The next samples are unrelated to earlier ones.
  void forget() noexcept { knows_ = false; }

 private:
  /// The quickest arrival fades with time, so that a radio's clock may be slower than the host's by 200 ppm.
  static constexpr std::int64_t kFadesIn = 5000;
  std::int64_t quickest_ns(std::int64_t host_ns) const noexcept;

  bool knows_ = false;
  std::int64_t delay_ns_ = 0;  // of the quickest: host less radio
  std::int64_t seen_ns_ = 0;   // when that was
};

}  // namespace iqd
