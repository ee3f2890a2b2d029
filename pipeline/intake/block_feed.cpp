// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/block_feed.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "pipeline/intake/ring_writer.hpp"

namespace iqd {

bool BlockFeed::has_room() const noexcept {
  const Engine& engine = this->engine();
  return cutter_.place_of(cutter_.block_end()) <= engine.tail(cutter_.oldest_place()) + engine.ring().samples() &&
         engine.offers_left() > cutter_.held();
}

std::int64_t BlockFeed::most_at_once(bool keeps_spare) const noexcept {
  std::int64_t most = std::min(RingWriter::kMost, cutter_.left_in_block());
  if (cutter_.is_dropping()) return most;
  const Engine& engine = this->engine();
  const SampleIndex place = cutter_.place_of(cutter_.position());
  if (cutter_.left_in_block() < RingWriter::kMost) {
    // A gap before these samples shifts them by less than a block.
    const std::int64_t spare = keeps_spare ? cutter_.block() : 0;
    const SampleIndex end =
        std::min(engine.tail(cutter_.oldest_place()) + engine.ring().samples() - spare, place + RingWriter::kMost);
    const std::int64_t more =
        std::min((end - place - most) / cutter_.block(), engine.offers_left() - cutter_.held() - 1);
    most += std::max<std::int64_t>(more, 0) * cutter_.block();
  }
  // Samples beyond the ring's end go to its beginning, by another call. The second mapping is only for windows; its
  // pages that nothing reads take no memory.
  return std::min(most, engine.ring().before_end(place));
}

void BlockFeed::offer_complete() {
  Engine& engine = this->engine();
  for (SampleBlock& block : cutter_.complete()) {
    block.received_ns = steady_ns();
    engine.room().wait_until([&] { return engine.offers_left() > 0; });
    engine.offer(block);
  }
  cutter_.take_complete();
}

}  // namespace iqd
