// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd {

/// How late samples arrive, against those that were quickest. What keeps samples on their way makes them later, never
/// earlier: so a clock by which samples come much earlier than the quickest so far was set. One thread.
class ArrivalWatch {
 public:
  /// Samples up to `radio_ns` had arrived at `host_ns`, of a clock that is never set.
  void saw(std::int64_t radio_ns, std::int64_t host_ns) noexcept;
  /// By how much samples up to `radio_ns` come earlier at `host_ns` than the quickest; less than 0: they are later. 0
  /// where none came before.
  std::int64_t early_ns(std::int64_t radio_ns, std::int64_t host_ns) const noexcept;
  /// Whether there is something to compare with.
  bool knows() const noexcept { return knows_; }
  /// The radio's clock was set on by so much, or back.
  void clock_was_set(std::int64_t by_ns) noexcept;
  /// What comes next has nothing to do with what came.
  void forget() noexcept { knows_ = false; }

 private:
  /// The quickest counts for less as time goes by, so that a radio's clock may be slower than the host's by 200 ppm.
  static constexpr std::int64_t kFadesIn = 5000;
  std::int64_t quickest_ns(std::int64_t host_ns) const noexcept;

  bool knows_ = false;
  std::int64_t delay_ns_ = 0;  // of the quickest: host less radio
  std::int64_t seen_ns_ = 0;   // when that was
};

}  // namespace iqd
