// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/silence_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"

namespace iqd {
namespace {

/// A shorter silence is counted, but not worth a line in the log.
constexpr std::int64_t kTellNs = 1'000'000'000;
/// After a shorter pause of a source that waits for the pipeline, samples still count as flowing.
constexpr std::int64_t kIdleNs = 2'000'000'000;
/// Long blocks are no reason to call a source that delivers nothing well.
constexpr std::int64_t kMostPatienceNs = 1'000'000'000;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

}  // namespace

void SilenceWatch::set_patience(const IntakeOptions& options, std::int64_t block_ns) noexcept {
  blocks_ns_ = options.stalled_ns ? options.stalled_ns : std::max<std::int64_t>(2 * block_ns, 50'000'000);
  longest_ns_ = options.stalled_ns ? kNever : std::max({longest_ns_, kMostPatienceNs, 2 * sample_ns_});
  most_ahead_ns_ = options.silent_ns / 2;
  first_ns_ = std::min(kTellNs, options.silent_ns);
  // At the end of `silent_ns` a source that reconnects has another line.
  tell_ns_ = reconnects_ && options.silent_ns <= kTellNs ? kNever : first_ns_;
}

std::int64_t SilenceWatch::patience_ns() const noexcept {
  return std::min(blocks_ns_, longest_ns_);
}

void SilenceWatch::opened(std::int64_t now) noexcept {
  opened_ns_.store(now, std::memory_order_relaxed);
  due_ns_.store(now + std::max(first_ns_, patience_ns()), std::memory_order_relaxed);
}

void SilenceWatch::arrived(std::int64_t now, std::int64_t lasting_ns) {
  const std::int64_t last_ns = last_data_ns();
  if (told_.load(std::memory_order_relaxed) && told_.exchange(false))
    log::info("{}: samples flow again, after {:.1f} s without", name_, seconds(now - last_ns));
  const std::int64_t left_ns = std::max<std::int64_t>(0, ahead_ns_ - (now - last_ns));
  ahead_ns_ = std::min(left_ns + lasting_ns, most_ahead_ns_);
  longest_ns_ = std::max(longest_ns_, lasting_ns);
  due_ns_.store(now + ahead_ns_ + patience_ns(), std::memory_order_relaxed);
  last_data_ns_.store(now, std::memory_order_relaxed);
}

void SilenceWatch::excuse(std::int64_t now) noexcept {
  last_data_ns_.store(now, std::memory_order_relaxed);
  const std::int64_t due_ns = due_ns_.load(std::memory_order_relaxed);
  due_ns_.store(std::max(due_ns, now + patience_ns()), std::memory_order_relaxed);
}

void SilenceWatch::look(std::int64_t now) {
  // After a piece: the next one has become due.
  if (due_ns_.load(std::memory_order_relaxed) == kNever) due_ns_.store(now + patience_ns(), std::memory_order_relaxed);
  if (is_overdue(now)) stall(now);
}

/// Two threads may see it at the same time, and one counts it.
void SilenceWatch::stall(std::int64_t now) {
  SourceState state = counters_.state.load(std::memory_order_relaxed);
  // A radio that has just been opened may need a while, and is opened again if nothing comes.
  const bool begins = state == SourceState::opening && !reconnects_;
  if (state == SourceState::streaming || begins) {
    if (!counters_.state.compare_exchange_strong(state, SourceState::stalled)) return;
    counters_.stalls.add();
  } else if (state != SourceState::stalled) {
    return;
  }
  if (silent_ns(now) < tell_ns_ || told_.exchange(true)) return;
  log::warn("{}: {}", name_, trouble(now));
}

std::string SilenceWatch::trouble(std::int64_t now) const {
  return is_overdue(now) ? fmt::format("no samples for {:.1f} s", seconds(silent_ns(now))) : std::string();
}

std::int64_t SilenceWatch::idle_ns(std::int64_t now) const noexcept {
  const std::int64_t due_ns = due_ns_.load(std::memory_order_relaxed);
  const bool due = due_ns != kNever && (!can_stall_ || now > due_ns);
  const std::int64_t ns = silent_ns(now);
  return due && ns > kIdleNs + 2 * sample_ns_ ? ns : 0;
}

std::int64_t SilenceWatch::silent_ns(std::int64_t now) const noexcept {
  return now - std::max(last_data_ns(), opened_ns_.load(std::memory_order_relaxed));
}

}  // namespace iqd
