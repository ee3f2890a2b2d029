// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/block_ports.hpp"

#include <algorithm>
#include <new>

#include "pipeline/engine/layout_key.hpp"

namespace iqd {

BlockPorts::BlockPorts(const Plan& plan, Backend& shared)
    : plan_(&plan),
      slot_(shared.allocate_shared(plan.slot_bytes)),
      block_(new (slot_.data()) SampleBlock),
      firsts_(reinterpret_cast<std::int64_t*>(slot_.data() + sizeof(SampleBlock))),
      ports_(plan.ports.size()),
      spans_(plan.ports.size()) {
  auto* counts = reinterpret_cast<std::int32_t*>(firsts_ + 2 * ports_.size());
  for (PortIndex p = 0; p < ports_.size(); ++p) {
    const PlanPort& port = plan.ports[p];
    ports_[p].rows = port.shape.row_count();
    ports_[p].item = port.shape.item_size();
    ports_[p].count = port.has_own_count() ? counts + p : ports_[port.count_of].count;
    ports_[p].first_at = firsts_ + p;
  }
}

void BlockPorts::set(const SampleBlock& block, std::span<const SourceWindow> windows, const SourceWindow& copied,
                     const Arenas& arenas) noexcept {
  *block_ = block;
  copied_ = copied;
  arenas_ = arenas;
  for (std::size_t s = 0; s < windows.size(); ++s) {
    spans_[s] = windows[s].span;
    // Counted items are numbered from 0 in each block.
    if (plan_->ports[s].shape.axis == Axis::counted) spans_[s] = {0, spans_[s].length(), 0, spans_[s].length()};
    ports_[s].data = windows[s].data;
    ports_[s].pitch = windows[s].pitch;
    ports_[s].first = firsts_[s] = spans_[s].first;
    ports_[s].length = spans_[s].length();
    *ports_[s].count = static_cast<std::int32_t>(std::min<std::int64_t>(ports_[s].length, INT32_MAX));
  }
}

std::uint64_t BlockPorts::layout_key() const noexcept {
  LayoutKey key;
  key.mix(slot_.data());
  for (const std::byte* arena : arenas_) key.mix(arena);
  const auto mix_memory = [&](const auto& of) {
    key.mix(of.data);
    key.mix(of.pitch);
  };
  // If a device keeps the source, its steps read nothing else of it.
  const auto is_read = [this](PortIndex source) {
    return source > 0 || plan_->ringed == kNoPort || plan_->reads_source_in_place() ||
           std::ranges::any_of(plan_->outputs, [source](const PlanOutput& o) { return o.port == source; });
  };
  if (plan_->ringed != kNoPort) mix_memory(copied_);
  for (PortIndex s = 0; s < plan_->sources; ++s)
    if (is_read(s)) mix_memory(ports_[s]);
  for (PortIndex p = 0; p < ports_.size(); ++p) {
    const Span& span = spans_[p];
    const Rate& rate = plan_->ports[p].rate;
    const bool moves = plan_->ports[p].shape.axis == Axis::stream;
    // Modulo 2^64: with rates of large terms the products overflow, but not their difference.
    const auto bits = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    key.mix(bits(span.first) * bits(rate.den) - (moves ? bits(block_->first) * bits(rate.num) : 0));
    key.mix(span.length());
    key.mix(span.first_new - span.first);
    key.mix(span.end_new - span.first);
  }
  return key.value();
}

Span BlockPorts::span_after(const PlanStep& step, const PlanPort& out) const noexcept {
  if (out.shape.axis != Axis::stream) return {0, out.most_new, 0, out.most_new};
  Span span = advance(step.footprint.front(), spans_[step.lead()], out.reach);
  for (std::size_t i = 1; i < step.in.size(); ++i) {
    if (step.in[i] == kNoPort || plan_->ports[step.in[i]].shape.axis != Axis::stream) continue;
    const Span& in = spans_[step.in[i]];
    span.first = std::max(span.first, first_from(step.footprint[i], in.first));
    span.end = std::min(span.end, makeable_before(step.footprint[i], in.end));
  }
  return span;
}

void BlockPorts::open_step(const PlanStep& step) noexcept {
  for (const PortIndex out : step.out) open_output(out, span_after(step, plan_->ports[out]));
}

/// In a slot, rows are contiguous, so that the payload is one piece.
void BlockPorts::open_output(PortIndex port, const Span& span) noexcept {
  const PlanPort& plan = plan_->ports[port];
  PortIo& io = ports_[port];
  spans_[port] = span;
  io.first = firsts_[port] = span.first;
  io.length = span.length();
  if (plan.home == Home::ring) {
    io.data = copied_.data + (span.first - copied_.span.first) * plan.shape.item_bytes();
    io.pitch = copied_.pitch;
    return;
  }
  const bool in_slot = plan.home == Home::slot;
  io.data = (in_slot ? slot_.data() : arenas_[index_of(plan.side)]) + plan.offset;
  io.pitch = in_slot && plan.shape.axis == Axis::stream ? io.length * plan.shape.item_bytes()
             : in_slot                                  ? plan.most_new * plan.shape.item_bytes()
                                                        : static_cast<std::int64_t>(plan.pitch);
  if (!plan.has_own_count()) return;
  // The count unless the stage writes one: all of a stream, one item per block, no items found.
  *io.count = plan.shape.axis == Axis::counted ? 0
              : plan.shape.axis == Axis::block ? 1
                                               : static_cast<std::int32_t>(io.length);
}

void BlockPorts::recall(PortIndex port, Carries::History& history, PortIo& made, Backend& backend,
                        StreamView stream) noexcept {
  const PlanPort& plan = plan_->ports[port];
  Span& span = spans_[port];
  if (!is_recalled(plan) || span.first >= span.first_new) return;
  if (block_->fresh || history.end != span.first_new) history.first = history.end = span.first_new;
  span.first = std::clamp(span.first, history.first, span.first_new);
  PortIo& io = ports_[port];
  io.first = firsts_[port] = span.first;
  io.length = span.length();
  *io.count = static_cast<std::int32_t>(io.length);
  if (!made.data) return;
  const std::int64_t item = plan.shape.item_bytes();
  const auto bytes = static_cast<std::size_t>((span.first_new - span.first) * item);
  if (bytes > 0)
    backend.copy(io.data, static_cast<std::size_t>(io.pitch),
                 history.memory.data() + (span.first - history.first) * item,
                 static_cast<std::size_t>(plan.reach.past * item), bytes, static_cast<std::size_t>(io.rows), stream);
  made = io;
  made.data += bytes;
  made.first_at = firsts_ + ports_.size() + port;
  made.first = firsts_[ports_.size() + port] = span.first_new;
  made.length = std::max<std::int64_t>(0, span.end - span.first_new);
}

void BlockPorts::remember(PortIndex port, Carries::History& history, Backend& backend,
                          StreamView stream) const noexcept {
  const PlanPort& plan = plan_->ports[port];
  if (!is_recalled(plan)) return;
  const Span& span = spans_[port];
  const PortIo& io = ports_[port];
  history.end = std::min(span.end, span.end_new);
  history.first = std::clamp(history.end - plan.reach.past, std::min(span.first, history.end), history.end);
  const std::int64_t item = plan.shape.item_bytes();
  if (history.end > history.first)
    backend.copy(history.memory.data(), static_cast<std::size_t>(plan.reach.past * item),
                 io.data + (history.first - io.first) * item, static_cast<std::size_t>(io.pitch),
                 static_cast<std::size_t>((history.end - history.first) * item), static_cast<std::size_t>(io.rows),
                 stream);
}

BlockPorts::Output BlockPorts::output(OutputIndex index) const noexcept {
  const PlanOutput& plan = plan_->outputs[index];
  const PlanPort& port = plan_->ports[plan.port];
  const Span& span = spans_[plan.port];
  Output out;
  out.data = slot_.data() + plan.offset;
  out.first = std::max(span.first, span.first_new);
  out.extent = port.shape.axis == Axis::stream ? std::max<std::int64_t>(0, std::min(span.end, span.end_new) - out.first)
                                               : *ports_[plan.port].count;
  if (plan.stays) {
    const PortIo& io = ports_[plan.port];
    const std::int64_t from = port.shape.axis == Axis::stream ? out.first - io.first : 0;
    out.data = io.data + from * port.shape.item_bytes();
    out.pitch = io.pitch;
    return out;
  }
  out.pitch = (port.shape.axis == Axis::stream ? out.extent : port.most_new) * port.shape.item_bytes();
  return out;
}

}  // namespace iqd
