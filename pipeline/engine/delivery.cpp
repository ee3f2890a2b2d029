// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/delivery.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "pipeline/engine/result_message.hpp"

namespace iqd {
namespace {

/// Why a block has no results that a stage should have made.
Drop reason_of(const BlockWork& work) noexcept {
  if (!work.loss()) return Drop::stage;
  switch (*work.loss()) {
    case PoolLoss::full: return Drop::pool_full;
    case PoolLoss::away: return Drop::pool_away;
    case PoolLoss::poison: return Drop::pool_poison;
    case PoolLoss::lost: return Drop::pool_lost;
    case PoolLoss::stopped: break;
  }
  return Drop::stopped;
}

/// An entry's name, or its number if it has none.
std::string label_of(const Dim& dim, std::int64_t entry) {
  const auto label = static_cast<std::size_t>(entry);
  return label < dim.labels.size() ? dim.labels[label] : std::to_string(entry);
}

/// Without NaN, of values that lie `step` apart; NaN if there are no others.
double mean_of(const float* values, std::size_t count, std::size_t step) noexcept {
  double sum = 0, found = 0;
  for (std::size_t i = 0; i < count * step; i += step)
    if (!std::isnan(values[i])) sum += static_cast<double>(values[i]), found += 1;
  return sum / found;
}

}  // namespace

Delivery::Delivery(const Plan& plan, std::vector<std::unique_ptr<Route>> routes, ResultSlots& slots, Counters& counters)
    : plan_(plan), routes_(std::move(routes)), slots_(slots), counters_(counters) {
  for (const PlanOutput& o : plan_.outputs) {
    first_fact_.push_back(slot_facts_);
    slot_facts_ += o.facts.size();
  }
  facts_.resize(slot_facts_ * static_cast<std::size_t>(slots_.slots()));
  for (const PortIndex port : plan_.tallies) tallies_.push_back(make_tally(port));
  for (const PortIndex port : plan_.levels) levels_.push_back(make_levels(port));
}

Delivery::Numbers<Counter> Delivery::make_tally(PortIndex port) {
  const PlanPort& p = plan_.ports[port];
  const PlanStep& step = plan_.steps[p.maker];
  const auto at = std::find(step.out.begin(), step.out.end(), port) - step.out.begin();
  Numbers<Counter> tally{port, {}};
  for (const std::string_view event : step.entry->outputs[static_cast<std::size_t>(at)].tally) {
    if (p.shape.item.size() < 2) {
      tally.metrics.push_back(&counters_.tallies.at({step.name, std::string(event)}));
      continue;
    }
    const Dim& dim = p.shape.item.back();
    for (std::int64_t k = 0; k < dim.extent; ++k)
      tally.metrics.push_back(&counters_.tallies.at({step.name, std::string(event), dim.name, label_of(dim, k)}));
  }
  assert(std::ssize(tally.metrics) == p.shape.item_size() && p.shape.element == Element::i64);
  return tally;
}

Delivery::Numbers<Gauge> Delivery::make_levels(PortIndex port) {
  const PlanPort& p = plan_.ports[port];
  const PlanStep& step = plan_.steps[p.maker];
  const std::string& stage = step.name;
  Numbers<Gauge> levels{port, {}};
  const auto at = std::find(step.out.begin(), step.out.end(), port) - step.out.begin();
  if (const std::string_view fact = step.entry->outputs[static_cast<std::size_t>(at)].fact; !fact.empty()) {
    assert(p.shape.item_size() == 1 && p.shape.row_count() == 1 && p.shape.element == Element::f32);
    levels.metrics.push_back(&counters_.levels.at({stage, std::string(fact)}));
    return levels;
  }
  const Dim& dim = p.shape.item.back();
  for (std::int64_t row = 0; row < p.shape.row_count(); ++row)
    for (std::int64_t k = 0; k < dim.extent; ++k) {
      StageNumber number{stage, label_of(dim, k)};
      if (!p.shape.rows.empty())
        number.dimension = p.shape.rows.back().name, number.entry = label_of(p.shape.rows.back(), row);
      levels.metrics.push_back(&counters_.levels.at(number));
    }
  assert(p.shape.item.size() == 1 && p.shape.rows.size() < 2 && p.shape.element == Element::f32);
  return levels;
}

void Delivery::succeed(const Delivery& before) {
  for (const auto& route : routes_) {
    if (!route->before) continue;
    route->owed = route->before->owed;
    route->seq = route->before->seq;
    route->gap = route->before->gap;
    route->lost = route->before->lost;
    route->tuned = route->before->tuned;
  }
  block_ = before.block_;
  refused_ = before.refused_;
}

void Delivery::publish(const BlockWork& work, int slot) {
  const SampleBlock& block = work.block();
  if (block.warms) return;
  for (OutputIndex o = 0; o < plan_.outputs.size(); ++o) close_rows(work, o);
  refused_->begin(block_);
  bool all = true;
  for (const auto& route : routes_) all = send(*route, work, slot) && all;
  const bool is_missing = is_missing_for_any(work);

  const std::int64_t latency = steady_ns() - block.received_ns;
  counters_.latency.record(latency);
  const double rate = plan_.ports.front().shape.source_rate_hz;
  if (rate > 0 && static_cast<double>(latency) * rate > static_cast<double>(block.length) * 1e9 &&
      block.length == plan_.block)
    counters_.deadline_misses.add();
  // Blocks that were found lost already count as published, so this one counts as refused in their place.
  const bool counts = !all && refused_->add(block_);
  const std::int64_t refused = counts ? block.length : refused_->settle(block.length);
  counters_.published.add(static_cast<std::uint64_t>(block.length - refused));
  counters_.drops(counts && is_missing ? reason_of(work) : Drop::refused).add(static_cast<std::uint64_t>(refused));
  ++block_;
  count_events(work);
  show_levels(work);
  counters_.blocks.add();
}

void Delivery::count_dropped(const BlockWork& work, Drop why) noexcept {
  if (!work.block().warms) counters_.drops(why).add(static_cast<std::uint64_t>(work.block().length));
}

void Delivery::finish(bool has_successor) {
  for (const auto& route : routes_) {
    if (has_successor && route->goes_on) continue;
    route->outlet->finish();
    fetch_lost(*route);
    // No later message can count in their place.
    route->counts->refused.add(static_cast<std::uint64_t>(route->owed));
    route->counts->taken_back.add(static_cast<std::uint64_t>(route->owed));
  }
  if (!has_successor) refused_->end();
  if (!refused_->has_ended()) return;
  const auto samples = static_cast<std::uint64_t>(refused_->settle(std::numeric_limits<std::int64_t>::max()));
  counters_.taken_back.add(samples);
  counters_.drops(Drop::refused).add(samples);
}

void Delivery::count_events(const BlockWork& work) noexcept {
  for (const auto& [port, counters] : tallies_) {
    if (work.is_missing(port)) continue;
    const auto* counted = reinterpret_cast<const std::int64_t*>(work.fact(port));
    for (std::size_t i = 0; i < counters.size(); ++i)
      if (counted[i] > 0) counters[i]->add(static_cast<std::uint64_t>(counted[i]));
  }
}

void Delivery::show_levels(const BlockWork& work) noexcept {
  for (const auto& [port, gauges] : levels_) {
    const auto items = work.is_missing(port) ? 0 : static_cast<std::size_t>(work.count(port));
    if (items == 0) continue;
    const auto* measured = reinterpret_cast<const float*>(work.fact(port));
    for (std::size_t i = 0; i < gauges.size(); ++i) gauges[i]->set(mean_of(measured + i, items, gauges.size()));
  }
}

/// Closes the gaps after rows that are not full, so that the payload is one piece.
void Delivery::close_rows(const BlockWork& work, OutputIndex index) noexcept {
  const PlanOutput& output = plan_.outputs[index];
  const BlockWork::Output result = work.output(index);
  const PlanPort& port = plan_.ports[output.port];
  const auto row_bytes = static_cast<std::size_t>(extent_of(output, result) * port.shape.item_bytes());
  const auto pitch = static_cast<std::size_t>(result.pitch);
  if (pitch == row_bytes) return;
  auto* data = const_cast<std::byte*>(result.data);
  const auto rows = static_cast<std::size_t>(port.shape.row_count());
  for (std::size_t r = 1; r < rows; ++r) std::memmove(data + r * row_bytes, data + r * pitch, row_bytes);
}

bool Delivery::is_missing_for_any(const BlockWork& work) const noexcept {
  return work.has_missing() &&
         std::ranges::any_of(routes_, [&](const auto& route) { return work.is_missing(plan_.outputs[route->output]); });
}

bool Delivery::send(Route& route, const BlockWork& work, int slot) {
  const SampleBlock& block = work.block();
  route.gap += block.gap;  // the next message reports it, whichever block that is of
  if (block.tuned >= 0) route.tuned = block.tuned;
  if (work.is_missing(plan_.outputs[route.output])) {
    route.gap += block.length;
    route.lost += block.length;
    return false;
  }
  if (work.output(route.output).extent == 0 && !route.send_empty) return true;
  return hand_over(route, message_of(route, work, slot), block, slot);
}

std::span<const FactColumn> Delivery::facts_of(OutputIndex index, const BlockWork& work, int slot) noexcept {
  const std::vector<PlanOutput::Fact>& facts = plan_.outputs[index].facts;
  const std::size_t first = static_cast<std::size_t>(slot) * slot_facts_ + first_fact_[index];
  for (std::size_t f = 0; f < facts.size(); ++f) facts_[first + f] = fact_column(plan_, facts[f], work);
  return std::span(facts_).subspan(first, facts.size());
}

Message Delivery::message_of(Route& route, const BlockWork& work, int slot) noexcept {
  Message m = result_message(plan_, route.output, work);
  m.seq = route.seq++;
  m.block = block_;
  m.gap = route.gap;
  m.dropped = work.block().dropped + route.lost;
  m.tuned = route.tuned;
  m.facts = facts_of(route.output, work, slot);
  return m;
}

void Delivery::fetch_lost(Route& route) {
  while (const auto lost = route.outlet->lost_after_all()) {
    ++route.owed;
    refused_->owe(lost->block, lost->samples);
  }
}

bool Delivery::hand_over(Route& route, const Message& message, const SampleBlock& block, int slot) {
  Lease lease = slots_.lend(slot);
  const bool sent = route.outlet->send(message, std::move(lease), slots_.scarce());
  fetch_lost(route);
  route.gap = sent ? 0 : route.gap + block.length;
  route.lost += sent ? 0 : block.length;
  if (sent) route.tuned = -1;
  if (!sent || route.owed > 0) {
    route.owed -= sent ? 1 : 0;
    route.counts->refused.add();
  } else {
    route.counts->messages.add();
    route.counts->bytes.add(message.payload.size());
  }
  return sent;
}

}  // namespace iqd
