// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/watching.hpp"

#include <algorithm>

#include "pipeline/engine/result_message.hpp"

namespace iqd {

Watching::Watching(const Plan& plan, const Counters& counters, bool is_on)
    : plan_(plan), counters_(counters), ports_(is_on ? make_watches(plan) : std::vector<WatchedPort>()) {
  for (const WatchedPort& port : ports_) port.outlet->reserve();
  std::size_t most = 0;
  for (const PlanOutput& output : plan.outputs) most = std::max(most, output.facts.size());
  facts_.reserve(most);
  clipped_.resize(
      static_cast<std::size_t>(std::min<std::int64_t>(plan.ports.front().shape.row_count(), WatchOutlet::kMostTraces)));
}

void Watching::see_source(const BlockWork& work) noexcept {
  if (ports_.empty() || ports_.front().output != kNoOutput || !ports_.front().outlet->is_watched()) return;
  WatchOutlet& outlet = *ports_.front().outlet;
  Message message = source_message(plan_, outlet.format(), work);
  message.gap = work.block().gap;
  message.tuned = work.block().tuned;
  outlet.note_clipped(newly_clipped());
  outlet.send(message, {}, false);
}

void Watching::see_results(const BlockWork& work) noexcept {
  for (const WatchedPort& port : ports_)
    if (port.output != kNoOutput && port.outlet->is_watched() && !work.is_missing(plan_.outputs[port.output]))
      see(port, work);
}

void Watching::see(const WatchedPort& port, const BlockWork& work) noexcept {
  Message message = result_message(plan_, port.output, work);
  message.gap = work.block().gap;
  message.tuned = work.block().tuned;
  if (work.output(port.output).extent == 0) message.payload = {};
  facts_.clear();
  for (const PlanOutput::Fact& fact : plan_.outputs[port.output].facts)
    facts_.push_back(fact_column(plan_, fact, work));
  message.facts = facts_;
  port.outlet->send(message, {}, false);
}

/// The channels whose count of clipped samples has grown since the previous call.
std::uint64_t Watching::newly_clipped() noexcept {
  std::uint64_t channels = 0;
  for (std::size_t c = 0; c < std::min(clipped_.size(), counters_.channels.size()); ++c) {
    const std::uint64_t clipped = counters_.channels[c].clipped.value();
    if (clipped != clipped_[c]) channels |= std::uint64_t{1} << c;
    clipped_[c] = clipped;
  }
  return channels;
}

}  // namespace iqd
