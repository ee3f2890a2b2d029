// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "base/outlet.hpp"
#include "base/spsc_queue.hpp"

namespace iqd {

/// Messages that were taken for a sink, and then lost: the thread that handed them over fetches them, and the next
/// message reports them as a gap. The sink's thread, except for `fetch`.
class SinkLosses {
 public:
  /// `most`: how many may wait to be fetched; further ones are forgotten.
  explicit SinkLosses(std::size_t most) : lost_(most) {}

  void add(const Message& message) {
    lost_.try_push({message.block, message.samples});
    samples_ += message.samples;
    if (!hole_) hole_ = message.sample - message.gap;
  }
  /// Adds what was lost to the gap before this message, and to its sum.
  void report(Message& message) const noexcept {
    if (hole_) message.gap = message.sample - *hole_;
    message.dropped += samples_;
  }
  /// The last reported message arrived.
  void reported() noexcept { hole_.reset(); }

  /// The thread that handed the messages over: each loss once.
  std::optional<LostMessage> fetch() {
    LostMessage lost;
    return lost_.try_pop(lost) ? std::optional(lost) : std::nullopt;
  }

 private:
  SpscQueue<LostMessage> lost_;
  std::int64_t samples_ = 0;         // so far
  std::optional<SampleIndex> hole_;  // where the current loss began
};

}  // namespace iqd
