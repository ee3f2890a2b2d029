// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_work.hpp"

#include <algorithm>

namespace iqd {

Carries::Carries(const Plan& plan, Backend& backend) : states_(plan.steps.size()) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].carry_bytes == 0) continue;
    states_[s] = std::make_unique<State>();
    states_[s]->memory = backend.allocate(plan.steps[s].carry_bytes);
    for (const int out : plan.steps[s].out) {
      const PlanPort& port = plan.ports[static_cast<std::size_t>(out)];
      const std::int64_t positions = port.shape.axis == Axis::stream ? port.reach.past : 0;
      const std::int64_t bytes = positions * port.shape.item_bytes() * port.shape.row_count();
      states_[s]->histories.push_back({backend.allocate(static_cast<std::size_t>(bytes))});
    }
  }
}

void Carries::wait_turn(std::size_t step, std::uint64_t seq) const noexcept {
  const auto& turn = states_[step]->turn;
  for (auto at = turn.load(std::memory_order_acquire); at != seq; at = turn.load(std::memory_order_acquire))
    turn.wait(at, std::memory_order_acquire);
}

void Carries::pass_on(std::size_t step) noexcept {
  states_[step]->turn.fetch_add(1, std::memory_order_acq_rel);
  states_[step]->turn.notify_all();
}

BlockWork::BlockWork(const Plan& plan, Carries& carries, Backend& backend)
    : plan_(&plan),
      carries_(&carries),
      backend_(&backend),
      slot_(backend.allocate_shared(plan.slot_bytes)),
      ports_(plan.ports.size()),
      spans_(plan.ports.size()) {
  std::size_t widest = 1;
  for (const PlanStep& s : plan.steps) widest = std::max({widest, s.in.size(), s.out.size()});
  in_.resize(widest);
  out_.resize(widest);
  auto* counts = reinterpret_cast<std::int32_t*>(slot_.data());
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    ports_[p].rows = plan.ports[p].shape.row_count();
    ports_[p].item = plan.ports[p].shape.item_size();
    ports_[p].count = counts + p;
  }
}

void BlockWork::set(const SampleBlock& block, std::span<const SourceWindow> windows, std::byte* arena) noexcept {
  mark_pending();
  block_ = block;
  arena_ = arena;
  for (std::size_t s = 0; s < windows.size(); ++s) {
    spans_[s] = windows[s].span;
    ports_[s].data = windows[s].data;
    ports_[s].pitch = windows[s].pitch;
    ports_[s].first = windows[s].span.first;
    ports_[s].length = windows[s].span.length();
    *ports_[s].count = static_cast<std::int32_t>(std::min<std::int64_t>(ports_[s].length, INT32_MAX));
  }
}

void BlockWork::enqueue(StreamView stream) noexcept {
  for (std::size_t s = 0; s < plan_->steps.size(); ++s) run_step(s, stream);
  copy_out(stream);
}

Span BlockWork::span_after(const PlanStep& step, const PlanPort& out) const noexcept {
  if (out.shape.axis != Axis::stream) return {0, out.most_new, 0, out.most_new};
  const auto port_of = [](int p) { return static_cast<std::size_t>(p); };
  Span span = advance(step.footprint.front(), spans_[step.lead()], out.reach);
  for (std::size_t i = 1; i < step.in.size(); ++i) {
    if (step.in[i] < 0 || plan_->ports[port_of(step.in[i])].shape.axis != Axis::stream) continue;
    const Span& in = spans_[port_of(step.in[i])];
    span.first = std::max(span.first, first_from(step.footprint[i], in.first));
    span.end = std::min(span.end, makeable_before(step.footprint[i], in.end));
  }
  return span;
}

/// Gives the port its memory for this block. In a slot rows follow each other, so that the payload is one piece.
void BlockWork::open_output(std::size_t port, const Span& span) noexcept {
  const PlanPort& plan = plan_->ports[port];
  PortIo& io = ports_[port];
  spans_[port] = span;
  io.first = span.first;
  io.length = span.length();
  const bool in_slot = plan.home == Home::slot;
  io.data = (in_slot ? slot_.data() : arena_) + plan.offset;
  io.pitch = in_slot && plan.shape.axis == Axis::stream ? io.length * plan.shape.item_bytes()
             : in_slot                                  ? plan.most_new * plan.shape.item_bytes()
                                                        : static_cast<std::int64_t>(plan.pitch);
  // Until the stage says otherwise: all of a stream, one item of a block, nothing found.
  *io.count = plan.shape.axis == Axis::counted ? 0
              : plan.shape.axis == Axis::block ? 1
                                               : static_cast<std::int32_t>(io.length);
}

void BlockWork::run_step(std::size_t index, StreamView stream) noexcept {
  const PlanStep& step = plan_->steps[index];
  for (std::size_t i = 0; i < step.in.size(); ++i)
    in_[i] = step.in[i] < 0 ? PortIo{} : ports_[static_cast<std::size_t>(step.in[i])];
  bool empty = !step.out.empty();
  for (std::size_t o = 0; o < step.out.size(); ++o) {
    const auto port = static_cast<std::size_t>(step.out[o]);
    const PlanPort& plan = plan_->ports[port];
    open_output(port, span_after(step, plan));
    out_[o] = ports_[port];
    if (!plan.wanted && step.entry->outputs[o].can_omit) out_[o].data = nullptr;
    empty = empty && plan.shape.axis == Axis::stream && ports_[port].length == 0;
  }
  StageIo io;
  io.in = {in_.data(), step.in.size()};
  io.out = {out_.data(), step.out.size()};
  const Span& lead = spans_[step.lead()];
  io.first_new = lead.first_new;
  io.end_new = std::min(lead.end_new, lead.end);
  io.scratch = arena_ + step.scratch_offset;
  io.block = &block_;
  if (!step.carry_bytes) {
    if (!empty) step.run->enqueue(io, stream);
    return;
  }
  run_in_turn(index, io, stream);
}

void BlockWork::run_in_turn(std::size_t index, StageIo& io, StreamView stream) noexcept {
  const std::size_t outputs = plan_->steps[index].out.size();
  carries_->wait_turn(index, block_.seq);
  io.carry = carries_->state(index);
  io.fresh = block_.fresh;
  for (std::size_t o = 0; o < outputs; ++o) recall(index, o, stream);
  plan_->steps[index].run->enqueue(io, stream);
  for (std::size_t o = 0; o < outputs; ++o) remember(index, o, stream);
  carries_->pass_on(index);
}

/// What a sequential stage's output holds before its new part comes from the blocks before; the stage goes on behind.
void BlockWork::recall(std::size_t step, std::size_t output, StreamView stream) noexcept {
  const auto p = static_cast<std::size_t>(plan_->steps[step].out[output]);
  const PlanPort& port = plan_->ports[p];
  if (port.shape.axis != Axis::stream || port.reach.past == 0) return;
  Carries::History& h = carries_->history(step, output);
  Span& span = spans_[p];
  if (span.first >= span.first_new) return;
  if (block_.fresh || h.end != span.first_new) h.first = h.end = span.first_new;
  span.first = std::clamp(span.first, h.first, span.first_new);
  PortIo& io = ports_[p];
  io.first = span.first;
  io.length = span.length();
  *io.count = static_cast<std::int32_t>(io.length);
  PortIo& made = out_[output];
  if (!made.data) return;
  const std::int64_t item = port.shape.item_bytes();
  const auto bytes = static_cast<std::size_t>((span.first_new - span.first) * item);
  if (bytes > 0)
    backend_->copy(io.data, static_cast<std::size_t>(io.pitch), h.memory.data() + (span.first - h.first) * item,
                   static_cast<std::size_t>(port.reach.past * item), bytes, static_cast<std::size_t>(io.rows), stream);
  made = io;
  made.data += bytes;
  made.first = span.first_new;
  made.length = std::max<std::int64_t>(0, span.end - span.first_new);
}

void BlockWork::remember(std::size_t step, std::size_t output, StreamView stream) noexcept {
  const auto p = static_cast<std::size_t>(plan_->steps[step].out[output]);
  const PlanPort& port = plan_->ports[p];
  if (port.shape.axis != Axis::stream || port.reach.past == 0 || !out_[output].data) return;
  Carries::History& h = carries_->history(step, output);
  const Span& span = spans_[p];
  const PortIo& io = ports_[p];
  h.end = std::min(span.end, span.end_new);
  h.first = std::clamp(h.end - port.reach.past, std::min(span.first, h.end), h.end);
  const std::int64_t item = port.shape.item_bytes();
  if (h.end > h.first)
    backend_->copy(h.memory.data(), static_cast<std::size_t>(port.reach.past * item),
                   io.data + (h.first - io.first) * item, static_cast<std::size_t>(io.pitch),
                   static_cast<std::size_t>((h.end - h.first) * item), static_cast<std::size_t>(io.rows), stream);
}

/// Ports that reach beyond the new part, or are the source itself, did not go to the slot at once.
void BlockWork::copy_out(StreamView stream) noexcept {
  for (const PlanOutput& output : plan_->outputs) {
    if (output.in_place) continue;
    const auto port = static_cast<std::size_t>(output.port);
    const PortIo& io = ports_[port];
    const Span& span = spans_[port];
    const std::int64_t item = plan_->ports[port].shape.item_bytes();
    const std::int64_t from = std::max(span.first, span.first_new);
    const auto bytes =
        static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(span.end, span.end_new) - from) * item);
    backend_->copy(slot_.data() + output.offset, bytes, io.data + (from - io.first) * item,
                   static_cast<std::size_t>(io.pitch), bytes, static_cast<std::size_t>(io.rows), stream);
  }
}

BlockWork::Output BlockWork::output(std::size_t index) const noexcept {
  const PlanOutput& plan = plan_->outputs[index];
  const auto p = static_cast<std::size_t>(plan.port);
  const PlanPort& port = plan_->ports[p];
  const Span& span = spans_[p];
  Output out;
  out.data = slot_.data() + plan.offset;
  out.first = std::max(span.first, span.first_new);
  out.extent = port.shape.axis == Axis::stream ? std::max<std::int64_t>(0, std::min(span.end, span.end_new) - out.first)
                                               : *ports_[p].count;
  out.pitch = (port.shape.axis == Axis::stream ? out.extent : port.most_new) * port.shape.item_bytes();
  return out;
}

}  // namespace iqd
