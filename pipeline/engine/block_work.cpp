// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/block_work.hpp"

#include <algorithm>
#include <new>

#include "base/clock.hpp"

namespace iqd {

Carries::Carries(const Plan& plan, Backend& host, Backend& device) : states_(plan.steps.size()) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].carry_bytes == 0) continue;
    Backend& backend = plan.steps[s].side == Side::host ? host : device;
    states_[s] = std::make_unique<State>();
    states_[s]->memory = backend.allocate(plan.steps[s].carry_bytes);
    states_[s]->fence = backend.make_fence();
    for (const int out : plan.steps[s].out) {
      const PlanPort& port = plan.ports[static_cast<std::size_t>(out)];
      const std::int64_t positions = port.shape.axis == Axis::stream ? port.reach.past : 0;
      const std::int64_t bytes = positions * port.shape.item_bytes() * port.shape.row_count();
      states_[s]->histories.push_back({backend.allocate(static_cast<std::size_t>(bytes))});
    }
  }
}

void Carries::adopt(std::size_t step, Carries& from, std::size_t from_step) noexcept {
  State& to = *states_[step];
  State& left = *from.states_[from_step];
  std::swap(to.memory, left.memory);
  to.is_new = left.is_new;
  for (std::size_t o = 0; o < to.histories.size(); ++o)
    if (to.histories[o].memory.size() == left.histories[o].memory.size()) std::swap(to.histories[o], left.histories[o]);
}

void Carries::wait_turn(std::size_t step, std::uint64_t seq) const noexcept {
  const auto& turn = states_[step]->turn;
  for (auto at = turn.load(std::memory_order_acquire); at != seq; at = turn.load(std::memory_order_acquire))
    turn.wait(at, std::memory_order_acquire);
}

void Carries::wait_turn(std::size_t step, std::uint64_t seq, StreamView stream) const noexcept {
  wait_turn(step, seq);
  if (states_[step]->fence) states_[step]->fence->wait(stream);
}

void Carries::pass_on(std::size_t step, StreamView stream) noexcept {
  if (states_[step]->fence) states_[step]->fence->signal(stream);
  pass_on(step);
}

void Carries::pass_on(std::size_t step) noexcept {
  states_[step]->is_new = false;
  states_[step]->turn.fetch_add(1, std::memory_order_acq_rel);
  states_[step]->turn.notify_all();
}

void Carries::skip(std::size_t step, std::uint64_t seq) noexcept {
  if (!states_[step]) return;
  wait_turn(step, seq);
  pass_on(step);
}

/// A part that runs on the device while the lane's thread waits for it.
class BlockWork::DevicePart final : public Work {
 public:
  explicit DevicePart(BlockWork& owner) : owner_(owner) {}
  void set(const PlanPart& part) noexcept {
    mark_pending();
    part_ = &part;
  }
  void enqueue(StreamView stream, StepClock* clock) noexcept override { owner_.run_part(*part_, stream, clock, 0); }
  std::uint64_t capture_key() const noexcept override { return owner_.key_ == 0 ? 0 : owner_.key_ + part_->begin; }
  std::size_t timed_steps() const noexcept override { return part_->end - part_->begin + 1; }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override { owner_.part_times(*part_, steps_ns); }
  void finished(bool good) noexcept override { mark_done(good); }

 private:
  BlockWork& owner_;
  const PlanPart* part_ = nullptr;
};

BlockWork::BlockWork(const Plan& plan, Carries& carries, Backend& host, Backend& shared)
    : plan_(&plan),
      carries_(&carries),
      host_(&host),
      slot_(shared.allocate_shared(plan.slot_bytes)),
      block_(new (slot_.data()) SampleBlock),
      device_part_(plan.mixed() ? std::make_unique<DevicePart>(*this) : nullptr),
      ports_(plan.ports.size()),
      spans_(plan.ports.size()) {
  std::size_t widest = 1;
  for (const PlanStep& s : plan.steps) widest = std::max({widest, s.in.size(), s.out.size()});
  in_.resize(widest);
  out_.resize(widest);
  firsts_ = reinterpret_cast<std::int64_t*>(slot_.data() + sizeof(SampleBlock));
  auto* counts = reinterpret_cast<std::int32_t*>(firsts_ + 2 * ports_.size());
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    const PlanPort& port = plan.ports[p];
    ports_[p].rows = port.shape.row_count();
    ports_[p].item = port.shape.item_size();
    ports_[p].count = port.count_of < 0 ? counts + p : ports_[static_cast<std::size_t>(port.count_of)].count;
    ports_[p].first_at = firsts_ + p;
  }
}

BlockWork::~BlockWork() = default;

void BlockWork::set(const SampleBlock& block, std::span<const SourceWindow> windows, const LaneMemory& lane) noexcept {
  mark_pending();
  *block_ = block;
  lane_ = lane;
  failed_ = false;
  next_step_ = 0;
  key_ = 0;
  for (std::size_t s = 0; s < windows.size(); ++s) {
    spans_[s] = windows[s].span;
    // What is counted is counted anew in each block.
    if (plan_->ports[s].shape.axis == Axis::counted) spans_[s] = {0, spans_[s].length(), 0, spans_[s].length()};
    ports_[s].data = windows[s].data;
    ports_[s].pitch = windows[s].pitch;
    ports_[s].first = firsts_[s] = spans_[s].first;
    ports_[s].length = spans_[s].length();
    *ports_[s].count = static_cast<std::int32_t>(std::min<std::int64_t>(ports_[s].length, INT32_MAX));
  }
  // Where sequential stages reach is only known in turn.
  if (!plan_->uses(Side::device) || plan_->sequential()) return;
  for (std::size_t s = 0; s < plan_->steps.size(); ++s) open_step(s);
  key_ = layout_key(windows);
}

/// Everything that the steps are enqueued with, but for absolute positions: those differ by as much for every port.
std::uint64_t BlockWork::layout_key(std::span<const SourceWindow> windows) const noexcept {
  std::uint64_t key = 0x9e3779b97f4a7c15;
  const auto mix = [&key](std::uint64_t v) {
    key = (key ^ v) * 0xff51afd7ed558ccd;
    key ^= key >> 32;
  };
  mix(reinterpret_cast<std::uintptr_t>(slot_.data()));
  for (const std::byte* arena : lane_.arenas) mix(reinterpret_cast<std::uintptr_t>(arena));
  for (const SourceWindow& w : windows) {
    mix(reinterpret_cast<std::uintptr_t>(w.data));
    mix(static_cast<std::uint64_t>(w.pitch));
  }
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    const Span& span = spans_[p];
    const Rate& rate = plan_->ports[p].rate;
    const bool moves = plan_->ports[p].shape.axis == Axis::stream;
    // Modulo 2^64: of rates of large numbers the products do not fit, their difference does.
    const auto bits = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    mix(bits(span.first) * bits(rate.den) - (moves ? bits(block_->first) * bits(rate.num) : 0));
    mix(static_cast<std::uint64_t>(span.length()));
    mix(static_cast<std::uint64_t>(span.first_new - span.first));
    mix(static_cast<std::uint64_t>(span.end_new - span.first));
  }
  return key | 1;
}

void BlockWork::rehearse(Queue& lane) {
  if (!device_part_) return lane.rehearse(*this);
  for (const PlanPart& part : plan_->parts) {
    if (part.side == Side::host) continue;
    device_part_->set(part);
    lane_.device->rehearse(*device_part_);
  }
}

void BlockWork::enqueue(StreamView stream, StepClock* clock) noexcept {
  if (!device_part_) return run_part(plan_->parts.front(), stream, clock, 0);
  for (const PlanPart& part : plan_->parts) {
    if (part.side == Side::host)
      run_part(part, {}, clock, part.begin);
    else
      run_on_device(part);
    if (failed_) return give_up_turns();
  }
}

/// Who comes behind does not wait for steps that this block does not get to.
void BlockWork::give_up_turns() noexcept {
  for (std::size_t s = next_step_; s < plan_->steps.size(); ++s) carries_->skip(s, block_->seq);
}

void BlockWork::run_on_device(const PlanPart& part) noexcept {
  device_part_->set(part);
  lane_.device->submit(*device_part_);
  lane_.device->wait(*device_part_);
  failed_ = !device_part_->good();
}

void BlockWork::run_part(const PlanPart& part, StreamView stream, StepClock* clock, std::size_t mark) noexcept {
  for (std::size_t s = part.begin; s < part.end; ++s) {
    if (clock) clock->mark(mark++, stream);
    run_step(s, stream);
    next_step_ = s + 1;
  }
  if (clock) clock->mark(mark++, stream);
  copy_out(part, stream);
  if (clock) clock->mark(mark, stream);
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
  io.first = firsts_[port] = span.first;
  io.length = span.length();
  const bool in_slot = plan.home == Home::slot;
  io.data = (in_slot ? slot_.data() : lane_.arenas[index_of(plan.side)]) + plan.offset;
  io.pitch = in_slot && plan.shape.axis == Axis::stream ? io.length * plan.shape.item_bytes()
             : in_slot                                  ? plan.most_new * plan.shape.item_bytes()
                                                        : static_cast<std::int64_t>(plan.pitch);
  if (plan.count_of >= 0) return;
  // Until the stage says otherwise: all of a stream, one item of a block, nothing found.
  *io.count = plan.shape.axis == Axis::counted ? 0
              : plan.shape.axis == Axis::block ? 1
                                               : static_cast<std::int32_t>(io.length);
}

void BlockWork::open_step(std::size_t index) noexcept {
  const PlanStep& step = plan_->steps[index];
  for (const int out : step.out) {
    const auto port = static_cast<std::size_t>(out);
    open_output(port, span_after(step, plan_->ports[port]));
  }
}

void BlockWork::run_step(std::size_t index, StreamView stream) noexcept {
  const PlanStep& step = plan_->steps[index];
  if (key_ == 0) open_step(index);
  for (std::size_t i = 0; i < step.in.size(); ++i)
    in_[i] = step.in[i] < 0 ? PortIo{} : ports_[static_cast<std::size_t>(step.in[i])];
  bool empty = !step.out.empty();
  for (std::size_t o = 0; o < step.out.size(); ++o) {
    const auto port = static_cast<std::size_t>(step.out[o]);
    const PlanPort& plan = plan_->ports[port];
    out_[o] = ports_[port];
    if (!plan.wanted && step.entry->outputs[o].can_omit) out_[o].data = nullptr;
    empty = empty && plan.shape.axis == Axis::stream && ports_[port].length == 0;
  }
  StageIo io;
  io.in = {in_.data(), step.in.size()};
  io.out = {out_.data(), step.out.size()};
  const Span& lead = spans_[step.lead()];
  // What is new does not all exist at an end, or behind a gap where inputs begin apart.
  io.first_new = std::max(lead.first_new, lead.first);
  io.end_new = std::max(io.first_new, std::min(lead.end_new, lead.end));
  io.scratch = lane_.arenas[index_of(Side::host)] + step.scratch_offset;
  io.device_scratch = lane_.arenas[index_of(Side::device)] + plan_->device_scratch_offset;
  io.block = block_;
  if (!step.carry_bytes) {
    if (!empty) run_stage(index, io, stream);
    return;
  }
  run_in_turn(index, io, stream);
}

const StageRun& BlockWork::run_of(const PlanStep& step) const noexcept {
  return *step.runs[step.side == Side::device ? lane_.device_index : 0];
}

void BlockWork::run_stage(std::size_t index, const StageIo& io, StreamView stream) noexcept {
  step_at_work_.store(index, std::memory_order_relaxed);
  step_began_ns_.store(steady_ns(), std::memory_order_release);
  run_of(plan_->steps[index]).enqueue(io, stream);
  step_began_ns_.store(0, std::memory_order_release);
}

void BlockWork::run_in_turn(std::size_t index, StageIo& io, StreamView stream) noexcept {
  const std::size_t outputs = plan_->steps[index].out.size();
  carries_->wait_turn(index, block_->seq, stream);
  io.carry = carries_->state(index);
  io.fresh = block_->fresh || carries_->is_new(index);
  for (std::size_t o = 0; o < outputs; ++o) recall(index, o, stream);
  run_stage(index, io, stream);
  for (std::size_t o = 0; o < outputs; ++o) remember(index, o, stream);
  carries_->pass_on(index, stream);
}

/// What a sequential stage's output holds before its new part comes from the blocks before; the stage goes on behind.
void BlockWork::recall(std::size_t step, std::size_t output, StreamView stream) noexcept {
  const auto p = static_cast<std::size_t>(plan_->steps[step].out[output]);
  const PlanPort& port = plan_->ports[p];
  if (port.shape.axis != Axis::stream || port.reach.past == 0) return;
  Carries::History& h = carries_->history(step, output);
  Span& span = spans_[p];
  if (span.first >= span.first_new) return;
  if (block_->fresh || h.end != span.first_new) h.first = h.end = span.first_new;
  span.first = std::clamp(span.first, h.first, span.first_new);
  PortIo& io = ports_[p];
  io.first = firsts_[p] = span.first;
  io.length = span.length();
  *io.count = static_cast<std::int32_t>(io.length);
  PortIo& made = out_[output];
  if (!made.data) return;
  const std::int64_t item = port.shape.item_bytes();
  const auto bytes = static_cast<std::size_t>((span.first_new - span.first) * item);
  if (bytes > 0)
    backend_of(plan_->steps[step].side)
        .copy(io.data, static_cast<std::size_t>(io.pitch), h.memory.data() + (span.first - h.first) * item,
              static_cast<std::size_t>(port.reach.past * item), bytes, static_cast<std::size_t>(io.rows), stream);
  made = io;
  made.data += bytes;
  made.first = firsts_[ports_.size() + p] = span.first_new;
  made.first_at = firsts_ + ports_.size() + p;
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
    backend_of(plan_->steps[step].side)
        .copy(h.memory.data(), static_cast<std::size_t>(port.reach.past * item), io.data + (h.first - io.first) * item,
              static_cast<std::size_t>(io.pitch), static_cast<std::size_t>((h.end - h.first) * item),
              static_cast<std::size_t>(io.rows), stream);
}

/// Ports that reach beyond the new part, or are the source itself, did not go to the slot at once.
void BlockWork::copy_out(const PlanPart& part, StreamView stream) noexcept {
  for (const PlanOutput& output : plan_->outputs) {
    if (output.in_place || !belongs(output, part)) continue;
    const auto port = static_cast<std::size_t>(output.port);
    const PortIo& io = ports_[port];
    const Span& span = spans_[port];
    const std::int64_t item = plan_->ports[port].shape.item_bytes();
    const std::int64_t from = std::max(span.first, span.first_new);
    const auto bytes =
        static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(span.end, span.end_new) - from) * item);
    if (bytes == 0) continue;
    backend_of(part.side).copy(slot_.data() + output.offset, bytes, io.data + (from - io.first) * item,
                               static_cast<std::size_t>(io.pitch), bytes, static_cast<std::size_t>(io.rows), stream);
  }
}

/// Of a mixed plan these are the steps on the host; the device's parts have told theirs.
void BlockWork::timed(std::span<const std::int64_t> steps_ns) noexcept {
  if (!device_part_) return part_times(plan_->parts.front(), steps_ns);
  if (failed_) return;
  for (const PlanPart& part : plan_->parts)
    if (part.side == Side::host) step_times(part.begin, steps_ns.subspan(part.begin, part.end - part.begin));
}

void BlockWork::part_times(const PlanPart& part, std::span<const std::int64_t> steps_ns) noexcept {
  step_times(part.begin, steps_ns.first(part.end - part.begin));
  step_times(plan_->steps.size(), steps_ns.last(1));
}

/// Whether the output is whole when this part ends; the source is from the start.
bool BlockWork::belongs(const PlanOutput& output, const PlanPart& part) const noexcept {
  const int maker = plan_->ports[static_cast<std::size_t>(output.port)].maker;
  if (maker < 0) return &part == &plan_->parts.front();
  return static_cast<std::size_t>(maker) >= part.begin && static_cast<std::size_t>(maker) < part.end;
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
