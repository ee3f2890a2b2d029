// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The second half of planning: how far each port reaches, and where it lies.
#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/plan/fusion/fuse.hpp"
#include "pipeline/plan/plan.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/stage/element_code.hpp"

namespace iqd {
namespace {

constexpr std::size_t kAlign = 128;

std::size_t aligned(std::size_t bytes) {
  return bounded_sum(bytes, kAlign - 1) / kAlign * kAlign;
}

}  // namespace

Reach Plan::window() const noexcept {
  const PlanPort& source = ports.front();
  const auto step = static_cast<std::int64_t>(std::max<std::size_t>(kAlign / size_of(source.shape.element), 1));
  return {ceil_div(source.reach.past, step) * step, source.reach.future};
}

std::int64_t Plan::most_position() const noexcept {
  constexpr std::int64_t kMostOfPort = std::int64_t{1} << 61;
  std::int64_t most = kMostPosition;
  for (const PlanPort& port : ports) most = std::min(most, kMostOfPort / ceil_div(port.rate.num, port.rate.den));
  return most;
}

void Planner::fit_block(const Section& section) const {
  for (const PlanStep& step : plan_.steps) {
    const PlanPort& in = plan_.ports[step.lead()];
    const Footprint& f = step.footprint.front();
    if (in.shape.axis != Axis::stream || !f.whole || in.most_new >= f.granule) continue;
    section.problem(
        "block", fmt::format("{} samples are too few: {} takes {} at once{}; use a block of at least {}", plan_.block,
                             step.name, f.granule, in.rate.den > in.rate.num ? " behind a lower rate" : "",
                             mul_div_up(f.granule, in.rate.den, in.rate.num)));
  }
}

/// Whether blocks start at granules of this port.
bool Planner::aligned_to(const PlanPort& in, const Footprint& footprint) const noexcept {
  return in.lag == 0 && plan_.block % in.rate.den == 0 &&
         plan_.block / in.rate.den * in.rate.num % footprint.granule == 0;
}

/// Makes a port reach as far as a stage needs it for outputs that reach `to`. What is too far for any memory stays just
/// beyond that, for `accept_reach` to see.
void Planner::extend(PlanPort& in, const Footprint& f, const Reach& to) const {
  if (in.shape.axis != Axis::stream) return;
  constexpr std::int64_t kMost = kMostPositions + 1;
  const Reach needs = reach_before(f, {std::min(to.past, kMost), std::min(to.future, kMost)}, aligned_to(in, f));
  in.reach = {std::max(in.reach.past, std::min(needs.past, kMost)),
              std::max(in.reach.future, std::min(needs.future, kMost))};
}

/// From the last stage to the first: what each port has to reach beyond the new part.
void Planner::reach_back() {
  for (auto s = plan_.steps.rbegin(); s != plan_.steps.rend(); ++s) {
    Reach out;
    std::int64_t lag = 0;
    for (const int p : s->out) {
      const PlanPort& port = plan_.ports[static_cast<std::size_t>(p)];
      if (port.shape.axis != Axis::stream) continue;
      out = {std::max(out.past, port.reach.past), std::max(out.future, port.reach.future)};
      lag = std::max(lag, port.lag);
    }
    // What works element by element makes the same positions of all its outputs.
    if (dynamic_cast<const ElementStage*>(s->stage.get()))
      for (const int p : s->out) plan_.ports[static_cast<std::size_t>(p)].reach = out;
    extend(plan_.ports[s->lead()], s->footprint.front(), out);
    for (std::size_t i = 1; i < s->in.size(); ++i) {
      if (s->in[i] < 0) continue;
      // The output's new part starts where the first input's does; that of another input may start elsewhere.
      PlanPort& in = plan_.ports[static_cast<std::size_t>(s->in[i])];
      const Footprint& f = s->footprint[i];
      extend(in, f, {out.past + ceil_div(in.lag * f.yield, f.granule), out.future + lag});
    }
  }
}

void Planner::size_ports() {
  for (PlanPort& port : plan_.ports) {
    const bool stream = port.shape.axis == Axis::stream;
    port.capacity = port.most_new + (stream ? port.reach.past + port.reach.future : 0);
    port.pitch = aligned(bounded_bytes(port.capacity, static_cast<std::size_t>(port.shape.item_bytes())));
    port.wanted = port.last_reader >= 0;
  }
}

/// Which steps a port is made by, itself or what that reads.
std::vector<bool> Planner::steps_behind(int port) const {
  std::vector<bool> behind(plan_.steps.size(), false);
  std::vector<int> left{port};
  while (!left.empty()) {
    const int maker = plan_.ports[static_cast<std::size_t>(left.back())].maker;
    left.pop_back();
    if (maker < 0 || behind[static_cast<std::size_t>(maker)]) continue;
    behind[static_cast<std::size_t>(maker)] = true;
    for (const int in : plan_.steps[static_cast<std::size_t>(maker)].in)
      if (in >= 0) left.push_back(in);
  }
  return behind;
}

/// The facts about the items of a counted port: every upstream output that is declared as one over the same items.
/// Of two with one key the later stage's holds.
void Planner::gather_facts(PlanOutput& output) {
  const PortShape& shape = plan_.ports[static_cast<std::size_t>(output.port)].shape;
  if (shape.axis != Axis::counted) return;
  const std::vector<bool> behind = steps_behind(output.port);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    for (std::size_t o = 0; behind[s] && o < step.out.size(); ++o) {
      PlanPort& port = plan_.ports[static_cast<std::size_t>(step.out[o])];
      const std::string_view key = step.entry->outputs[o].fact;
      if (key.empty() || port.shape.axis_name != shape.axis_name) continue;
      std::erase_if(output.facts, [&](const PlanOutput::Fact& f) { return f.key == key; });
      output.facts.push_back({std::string(key), step.out[o], plan_.ports[step.lead()].rate});
      port.home = Home::slot;
      port.wanted = true;
    }
  }
}

/// A slot holds the block, the positions and the count of every port, then payloads, facts, tallies and levels, each
/// where a cache line starts.
void Planner::place_outputs() {
  std::size_t offset =
      aligned(sizeof(SampleBlock) + plan_.ports.size() * (2 * sizeof(std::int64_t) + sizeof(std::int32_t)));
  for (PlanOutput& output : plan_.outputs) {
    PlanPort& port = plan_.ports[static_cast<std::size_t>(output.port)];
    port.wanted = true;
    const auto bytes = static_cast<std::size_t>(port.shape.row_count() * port.most_new * port.shape.item_bytes());
    output.in_place = port.home != Home::window && port.reach.past == 0 && port.reach.future == 0 &&
                      (port.side == Side::host || (bytes <= target_.mapped.out && port.last_reader < 0));
    output.offset = offset;
    offset = bounded_sum(offset, aligned(bytes));
    if (output.in_place) port.home = Home::slot, port.offset = output.offset;
    gather_facts(output);
  }
  for (const PlanStep& step : plan_.steps)
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      const OutputSpec& output = step.entry->outputs[o];
      if (output.tally.empty() && !output.levels) continue;
      PlanPort& port = plan_.ports[static_cast<std::size_t>(step.out[o])];
      port.home = Home::slot;
      port.wanted = true;
      (output.levels ? plan_.levels : plan_.tallies).push_back(step.out[o]);
    }
  for (std::size_t p = 0; p < plan_.ports.size(); ++p) {
    PlanPort& port = plan_.ports[p];
    const bool published = std::any_of(plan_.outputs.begin(), plan_.outputs.end(), [&](const PlanOutput& o) {
      return o.port == static_cast<int>(p) && o.in_place;
    });
    if (port.home != Home::slot || published) continue;
    port.offset = offset;
    offset = bounded_sum(offset, port.bytes());
  }
  plan_.slot_bytes = offset;
}

/// First fit in the order of the steps: a port lives from its maker to its last reader.
void Planner::place_arena(Side side) {
  std::size_t& arena_bytes = plan_.arena_bytes[index_of(side)];
  struct Living {
    std::size_t offset, bytes;
    int until;
  };
  std::vector<Living> living;  // by their offsets
  const auto place = [&](std::size_t bytes, int until) {
    std::size_t at = 0;
    auto behind = living.begin();
    for (; behind != living.end() && at + bytes > behind->offset; ++behind)
      at = std::max(at, behind->offset + behind->bytes);
    living.insert(behind, {at, bytes, until});
    arena_bytes = std::max(arena_bytes, at + bytes);
    return at;
  };
  const auto end = static_cast<int>(plan_.steps.size());
  for (int s = 0; s < end; ++s) {
    std::erase_if(living, [s](const Living& l) { return l.until < s; });
    PlanStep& step = plan_.steps[static_cast<std::size_t>(s)];
    if (step.scratch_bytes && step.side == Side::host && side == Side::host)
      step.scratch_offset = place(aligned(step.scratch_bytes), s);
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      PlanPort& port = plan_.ports[static_cast<std::size_t>(step.out[o])];
      if (port.side != side || port.home != Home::arena || (!port.wanted && step.entry->outputs[o].can_omit)) continue;
      const bool copied_out = std::any_of(plan_.outputs.begin(), plan_.outputs.end(),
                                          [&](const PlanOutput& out) { return out.port == step.out[o]; });
      port.offset = place(port.bytes(), copied_out ? end : std::max(port.last_reader, s));
    }
  }
}

void Planner::find_parts() {
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const Side side = plan_.steps[s].side;
    if (plan_.parts.empty() || plan_.parts.back().side != side) plan_.parts.push_back({side, s, s});
    plan_.parts.back().end = s + 1;
  }
  if (plan_.parts.empty()) plan_.parts.push_back({});
}

Plan Planner::finish(const Section& section, bool whole_granules) {
  if (whole_granules) fit_block(section);
  if (target_.fuse) fusion::fuse_neighbours(plan_, {true, target_.device_fuses});
  reach_back();
  if (std::ranges::all_of(plan_.ports, [&](const PlanPort& port) { return accept_reach(port, section); })) {
    size_ports();
    place_outputs();
    place_arena(Side::host);
    place_arena(Side::device);
  }
  find_parts();
  for (PlanOutput& output : plan_.outputs) {
    const PlanPort& port = plan_.ports[static_cast<std::size_t>(output.port)];
    PortFormat& f = output.format;
    f.pipeline = plan_.pipeline;
    // A conversion or transfer on the way out keeps the name of what it converts.
    f.port = port.name;
    while (f.port.front() == '~') f.port = f.port.substr(1, f.port.rfind('.') - 1);
    f.element = port.shape.element;
    f.dims = port.shape.rows;
    if (port.shape.axis != Axis::block) {
      f.varying = static_cast<int>(f.dims.size());
      f.dims.push_back({port.shape.axis_name, port.most_new});
    }
    f.dims.insert(f.dims.end(), port.shape.item.begin(), port.shape.item.end());
    f.rate_hz = port.shape.source_rate_hz;
    f.frequency_hz = port.shape.frequency_hz;
    f.llr_scale = port.shape.llr_scale;
    f.facts = static_cast<int>(output.facts.size());
    f.calibrated = std::ranges::find(port.shape.marks, kCalibratedMark) != port.shape.marks.end();
    f.item_rate_hz = port.shape.axis == Axis::stream ? port.shape.rate_hz : 0;
  }
  return std::move(plan_);
}

}  // namespace iqd
