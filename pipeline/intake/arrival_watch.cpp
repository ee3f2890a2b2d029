// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/arrival_watch.hpp"

#include <utility>

#include "base/integer.hpp"

namespace iqd {

std::int64_t ArrivalWatch::quickest_ns(std::int64_t host_ns) const noexcept {
  return saturated_add(delay_ns_, (host_ns - seen_ns_) / kFadesIn);
}

void ArrivalWatch::saw(std::int64_t radio_ns, std::int64_t host_ns) noexcept {
  const std::int64_t delay_ns = saturated_sub(host_ns, radio_ns);
  if (std::exchange(knows_, true) && delay_ns >= quickest_ns(host_ns)) return;
  delay_ns_ = delay_ns;
  seen_ns_ = host_ns;
}

std::int64_t ArrivalWatch::early_ns(std::int64_t radio_ns, std::int64_t host_ns) const noexcept {
  return knows_ ? saturated_sub(quickest_ns(host_ns), saturated_sub(host_ns, radio_ns)) : 0;
}

void ArrivalWatch::clock_was_set(std::int64_t by_ns) noexcept {
  delay_ns_ = saturated_sub(delay_ns_, by_ns);
}

}  // namespace iqd
