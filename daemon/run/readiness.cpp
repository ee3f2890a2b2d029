// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/readiness.hpp"

#include <fmt/format.h>

namespace iqd {

std::vector<std::string> not_ready(const RunningPipelines& pipelines) {
  std::vector<std::string> reasons;
  for (const auto& p : pipelines) {
    const SourceState state = p->state();
    if (state != SourceState::streaming && state != SourceState::ended) {
      const std::string trouble = p->trouble();
      reasons.push_back(fmt::format("{}: the source is {}{}{}", p->name(),
                                    kSourceStateNames[static_cast<std::size_t>(state)], trouble.empty() ? "" : ": ",
                                    trouble));
    }
    if (const std::string trouble = p->pool_trouble(); !trouble.empty())
      reasons.push_back(fmt::format("{}: the pool: {}", p->name(), trouble));
    if (const std::string stage = p->slow_stage(); !stage.empty())
      reasons.push_back(fmt::format("{}: stage '{}' does not return", p->name(), stage));
    else if (const double idle_s = p->idle_s(); state == SourceState::streaming && idle_s > 0)
      reasons.push_back(
          fmt::format("{}: no samples taken for {:.1f} s: a subscriber or a sink takes no more", p->name(), idle_s));
  }
  return reasons;
}

std::vector<std::string> not_healthy(const RunningPipelines& pipelines) {
  std::vector<std::string> reasons;
  for (const auto& p : pipelines)
    if (std::string stuck = p->stuck(); !stuck.empty()) reasons.push_back(std::move(stuck));
  return reasons;
}

}  // namespace iqd
