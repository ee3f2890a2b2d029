// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "pipeline/intake/intake_options.hpp"
#include "pipeline/meters/counters.hpp"

namespace iqd {

/// Detects when samples stop coming. All times are of the host's steady clock, which the caller reads. One thread,
/// except for `is_overdue`.
class SilenceWatch {
 public:
  /// `can_wait`: a source that may be read late is never overdue.
  SilenceWatch(bool can_wait, Counters& counters) : can_wait_(can_wait), counters_(counters) {}

  /// Samples are overdue `stalled_ns` after they could have come, by default two blocks, at least 50 ms. A driver that
  /// delivers many at once may be ahead by up to half of `silent_ns`.
  void set_patience(const IntakeOptions& options, std::int64_t block_ns) noexcept {
    patience_ns_ = options.stalled_ns ? options.stalled_ns : std::max<std::int64_t>(2 * block_ns, 50'000'000);
    most_ahead_ns_ = options.silent_ns / 2;
  }
  void opened(std::int64_t now) noexcept { opened_ns_ = now; }
  /// Samples with this duration have arrived. After many at once, the next ones may come that much later.
  void arrived(std::int64_t now, std::int64_t lasting_ns) noexcept {
    const std::int64_t left_ns = std::max<std::int64_t>(0, ahead_ns_ - (now - last_data_ns_));
    ahead_ns_ = std::min(left_ns + lasting_ns, most_ahead_ns_);
    due_ns_.store(now + ahead_ns_ + patience_ns_, std::memory_order_relaxed);
    last_data_ns_ = now;
  }
  /// A piece has ended: the next one may come at any time.
  void expect_nothing() noexcept { due_ns_.store(kNever, std::memory_order_relaxed); }
  /// iqd itself did not receive until now.
  void excuse(std::int64_t now) noexcept { last_data_ns_ = now; }

  /// Any thread.
  bool is_overdue(std::int64_t now) const noexcept {
    return !can_wait_ && now > due_ns_.load(std::memory_order_relaxed);
  }
  /// A source that streamed, and is overdue, has stalled.
  void look(std::int64_t now) noexcept {
    if (counters_.state.load(std::memory_order_relaxed) != SourceState::streaming || !is_overdue(now)) return;
    counters_.state = SourceState::stalled;
    counters_.stalls.add();
  }
  std::int64_t last_data_ns() const noexcept { return last_data_ns_; }
  /// How long ago samples came last, or the source was opened.
  std::int64_t silent_ns(std::int64_t now) const noexcept { return now - std::max(last_data_ns_, opened_ns_); }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  bool can_wait_;
  Counters& counters_;
  std::int64_t patience_ns_ = 0;
  std::int64_t most_ahead_ns_ = 0;
  std::int64_t last_data_ns_ = 0;
  std::int64_t opened_ns_ = 0;
  std::int64_t ahead_ns_ = 0;  // when samples last came: how far their duration exceeded the elapsed time
  std::atomic<std::int64_t> due_ns_{kNever};
};

}  // namespace iqd
