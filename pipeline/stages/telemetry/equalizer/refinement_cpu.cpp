// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/refinement_cpu.hpp"

namespace iqd::equalizer {

Refinement::Refinement(const Setup& setup, Scratch& scratch)
    : s_(setup), draft_(scratch.take<cf32>(setup.format.bits())), decisions_(setup, scratch), fit_(setup, scratch) {}

void Refinement::run(cf32* window, cf32* channel) noexcept {
  const std::int64_t bits = s_.format.bits();
  decisions_.begin(draft_);
  decisions_.follow(draft_, 0, bits);
  if (!decisions_.good()) return;
  decisions_.turn(window, 0, bits);
  decisions_.turn_guards(window);
  fit_.modulate(decisions_.bits(), 0, bits);
  fit_.take(window + PacketFormat::kGuard, kEndBits, bits - kEndBits);
  LagSums sums;
  fit_.sum(kEndBits, bits - kEndBits, sums);
  fit_.fit({&sums, 1}, kEndBits, bits - kEndBits, 0, channel);
}

}  // namespace iqd::equalizer
