// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/block_work.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"

namespace iqd {

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
    : carries_(&carries),
      host_(&host),
      ports_(plan, shared),
      missing_(plan),
      device_part_(plan.mixed() ? std::make_unique<DevicePart>(*this) : nullptr) {
  std::size_t widest = 1;
  for (const PlanStep& s : plan.steps) widest = std::max({widest, s.in.size(), s.out.size()});
  in_.resize(widest);
  out_.resize(widest);
}

BlockWork::~BlockWork() = default;

void BlockWork::set(const SampleBlock& block, std::span<const SourceWindow> windows, const LaneMemory& lane,
                    const SourceWindow& copied) noexcept {
  mark_pending();
  lane_ = &lane;
  failed_ = away_ = false;
  result_.reset();
  loss_.reset();
  missing_.clear();
  next_step_ = 0;
  key_ = 0;
  ports_.set(block, windows, copied, lane.arenas);
  // How far sequential stages reach is only known when it is the block's turn.
  if (!plan().uses_devices() || plan().sequential()) return;
  for (const PlanStep& step : plan().steps) ports_.open_step(step);
  key_ = ports_.layout_key();
}

void BlockWork::set_away(const SampleBlock& block, const SourceWindow& window, const LaneMemory& lane) noexcept {
  set(block, {&window, 1}, lane);
  key_ = 0;
  away_ = true;
  for (StepIndex s = 0; s < plan().away.end; ++s) ports_.open_step(plan().steps[s]);
}

bool BlockWork::has_positions(std::span<const PoolPort> ports) const noexcept {
  const std::vector<PortIndex>& expected = plan().away.returned;
  if (ports.size() != expected.size()) return false;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PlanPort& port = plan().ports[expected[i]];
    const Span& span = ports_.span(expected[i]);
    const PoolPort& got = ports[i];
    // They come from anywhere, so nothing is computed with them before.
    const auto is_position = [](std::int64_t p) { return p >= 0 && p <= kMostPosition; };
    if (!is_position(got.first) || !is_position(got.length)) return false;
    // The other host may have made more of a stream, for another of these ports.
    const bool has_all = port.shape.axis == Axis::stream
                             ? got.first <= span.first && got.length - (span.first - got.first) >= span.length()
                             : got.length <= span.length();
    const auto row = static_cast<std::size_t>(port.shape.row_count() * port.shape.item_bytes());
    const bool has_bytes = got.data.size() % row == 0 && got.data.size() / row == static_cast<std::size_t>(got.length);
    if (!has_all || !has_bytes) return false;
  }
  return true;
}

/// Writes what came back to the ports, and nothing to those that are missing.
void BlockWork::take_returned() noexcept {
  const std::vector<PortIndex>& returned = plan().away.returned;
  for (std::size_t i = 0; i < returned.size(); ++i) {
    take_port(returned[i], result_ ? &result_->ports()[i] : nullptr);
    // Also what steps that fail leave as it is: the numbers of a block before.
    if (!result_) missing_.lose(returned[i]);
  }
  for (StepIndex s = 0; s < plan().away.end && !result_; ++s) missing_.fail(s);
  missing_.spread(plan(), plan().away.end);
  result_.reset();
  next_step_ = plan().away.end;
}

void BlockWork::take_port(PortIndex port, const PoolPort* returned) noexcept {
  const PortIo& io = ports_.io(port);
  const PortShape& shape = plan().ports[port].shape;
  const bool is_stream = shape.axis == Axis::stream;
  const std::int64_t length = is_stream ? io.length : returned ? returned->length : 0;
  *io.count = static_cast<std::int32_t>(length);
  if (returned && returned->is_missing) missing_.lose(port);
  const std::int64_t item = shape.item_bytes();
  const auto from = [&](std::int64_t row, std::int64_t position) {
    if (!returned) return static_cast<const std::byte*>(nullptr);
    const std::int64_t skipped = is_stream ? position - returned->first : 0;
    return returned->data.data() + (row * returned->length + skipped) * item;
  };
  const auto put = [](std::byte* to, const std::byte* data, std::int64_t bytes) {
    if (bytes <= 0) return;
    if (data)
      std::memcpy(to, data, static_cast<std::size_t>(bytes));
    else
      std::memset(to, 0, static_cast<std::size_t>(bytes));
  };
  if (plan().ports[port].home == Home::slot || plan().ports[port].side == Side::host) {
    for (std::int64_t r = 0; r < io.rows; ++r) put(io.data + r * io.pitch, from(r, io.first), length * item);
    return;
  }
  // A device's memory has no part in it: only steps away read this port there.
  for (const PlanOutput& output : plan().outputs) {
    if (output.port != port) continue;
    const BlockPorts::Output result = ports_.output(static_cast<OutputIndex>(&output - plan().outputs.data()));
    for (std::int64_t r = 0; r < io.rows; ++r)
      put(ports_.slot() + output.offset + r * result.pitch, from(r, result.first), result.extent * item);
  }
}

void BlockWork::rehearse(Queue& lane) {
  if (!device_part_) return lane.rehearse(*this);
  for (const PlanPart& part : plan().parts) {
    if (!on_device(part.side)) continue;
    device_part_->set(part);
    lane_->on(part.side).queue->rehearse(*device_part_);
  }
}

void BlockWork::enqueue(StreamView stream, StepClock* clock) noexcept {
  if (away_) take_returned();
  if (!device_part_) run_part(plan().parts.front(), stream, clock, 0);
  for (std::size_t p = 0; device_part_ && p < plan().parts.size(); ++p) {
    const PlanPart& part = plan().parts[p];
    if (on_device(part.side) && part.end > first_step())
      run_on_device(part);
    else if (on_device(part.side))
      continue;  // another host has computed it
    else
      run_part(part, {}, clock, part.begin);
    if (failed_) return give_up_turns();
  }
  missing_.spread(plan(), plan().steps.size());
}

/// Later blocks do not wait for steps that this block does not reach.
void BlockWork::give_up_turns() noexcept {
  for (StepIndex s = next_step_; s < plan().steps.size(); ++s) carries_->skip(s, block().seq);
}

void BlockWork::run_on_device(const PlanPart& part) noexcept {
  device_part_->set(part);
  Queue& queue = *lane_->on(part.side).queue;
  queue.submit(*device_part_);
  queue.wait(*device_part_);
  failed_ = !device_part_->good();
}

void BlockWork::run_part(const PlanPart& part, StreamView stream, StepClock* clock, std::size_t mark) noexcept {
  for (StepIndex s = part.begin; s < part.end; ++s) {
    // If the copies to a ring were put on the stream before this work, they have marked its beginning.
    const bool has_begun = s == part.begin && !device_part_ && plan().is_ring_step(s) && !fills_ring();
    if (clock && !has_begun) clock->mark(mark, stream);
    ++mark;
    if (s < first_step()) continue;
    run_step(s, stream);
    next_step_ = s + 1;
  }
  if (clock) clock->mark(mark++, stream);
  copy_out(part, stream);
  copy_more(part, stream);
  if (clock) clock->mark(mark, stream);
}

void BlockWork::run_step(StepIndex index, StreamView stream) noexcept {
  const PlanStep& step = plan().steps[index];
  if (key_ == 0) ports_.open_step(step);
  if (plan().is_ring_step(index)) return fill_ring(stream);
  for (std::size_t i = 0; i < step.in.size(); ++i) in_[i] = step.in[i] == kNoPort ? PortIo{} : ports_.io(step.in[i]);
  bool empty = !step.out.empty();
  for (std::size_t o = 0; o < step.out.size(); ++o) {
    const PlanPort& port = plan().ports[step.out[o]];
    out_[o] = ports_.io(step.out[o]);
    if (!port.wanted && step.entry->outputs[o].can_omit) out_[o].data = nullptr;
    empty = empty && port.shape.axis == Axis::stream && out_[o].length == 0;
  }
  StageIo io;
  io.in = {in_.data(), step.in.size()};
  io.out = {out_.data(), step.out.size()};
  const Span& lead = ports_.span(step.lead());
  // Some new positions do not exist at an end, or after a gap if inputs begin at different positions.
  io.first_new = std::max(lead.first_new, lead.first);
  io.end_new = std::max(io.first_new, std::min(lead.end_new, lead.end));
  io.scratch = lane_->arenas[index_of(Side::host)] + step.scratch_offset;
  if (const std::size_t side = index_of(step.side); on_device(step.side))
    io.device_scratch = lane_->arenas[side] + plan().scratch_offset[side];
  io.block = &block();
  if (step.carry_bytes)
    run_in_turn(index, io, stream);
  else if (!empty)
    run_stage(index, io, stream);
}

void BlockWork::run_stage(StepIndex index, StageIo& io, StreamView stream) noexcept {
  const PlanStep& step = plan().steps[index];
  bool failed = false;
  if (!on_device(step.side)) io.failed = &failed;
  running_.step.store(index, std::memory_order_relaxed);
  running_.began_ns.store(steady_ns(), std::memory_order_release);
  step.runs[on_device(step.side) ? lane_->on(step.side).turn : 0]->enqueue(io, stream);
  running_.began_ns.store(0, std::memory_order_release);
  if (failed) missing_.fail(index);
}

void BlockWork::run_in_turn(StepIndex index, StageIo& io, StreamView stream) noexcept {
  const PlanStep& step = plan().steps[index];
  Backend& backend = backend_of(step.side);
  carries_->wait_turn(index, block().seq, stream);
  io.carry = carries_->state(index);
  io.fresh = block().fresh || carries_->is_new(index);
  for (std::size_t o = 0; o < step.out.size(); ++o)
    ports_.recall(step.out[o], carries_->history(index, o), out_[o], backend, stream);
  run_stage(index, io, stream);
  missing_.spread(plan(), index + 1);
  const bool is_spoilt = missing_.spoils(step, index);
  for (std::size_t o = 0; o < step.out.size() && !is_spoilt; ++o)
    if (out_[o].data) ports_.remember(step.out[o], carries_->history(index, o), backend, stream);
  carries_->pass_on(index, stream, is_spoilt);
}

/// Its messages are not complete without their facts, either.
bool BlockWork::is_missing(const PlanOutput& output) const noexcept {
  return missing_.has(output.port) ||
         std::ranges::any_of(output.facts, [this](const PlanOutput::Fact& f) { return missing_.has(f.port); });
}

/// Ports that reach beyond the new part, or are the source itself, were not written to the slot directly. What stays on
/// a device is not copied.
void BlockWork::copy_out(const PlanPart& part, StreamView stream) noexcept {
  for (const PlanOutput& output : plan().outputs) {
    if (output.in_place || output.stays || !belongs(output, part)) continue;
    if (away_ && on_device(plan().ports[output.port].side)) continue;  // it is in the slot already
    const PortIo& io = ports_.io(output.port);
    const Span& span = ports_.span(output.port);
    const std::int64_t item = plan().ports[output.port].shape.item_bytes();
    const std::int64_t from = std::max(span.first, span.first_new);
    const auto bytes =
        static_cast<std::size_t>(std::max<std::int64_t>(0, std::min(span.end, span.end_new) - from) * item);
    if (bytes == 0) continue;
    backend_of(part.side).copy(ports_.slot() + output.offset, bytes, io.data + (from - io.first) * item,
                               static_cast<std::size_t>(io.pitch), bytes, static_cast<std::size_t>(io.rows), stream);
  }
}

/// In a mixed plan, these are the steps on the host; the devices' parts report their own.
void BlockWork::timed(std::span<const std::int64_t> steps_ns) noexcept {
  if (away_) return;
  if (!device_part_) return part_times(plan().parts.front(), steps_ns);
  if (failed_) return;
  for (const PlanPart& part : plan().parts)
    if (!on_device(part.side)) step_times(part.begin, steps_ns.subspan(part.begin, part.end - part.begin));
}

void BlockWork::part_times(const PlanPart& part, std::span<const std::int64_t> steps_ns) noexcept {
  step_times(part.begin, steps_ns.first(part.end - part.begin));
  step_times(plan().steps.size(), steps_ns.last(1));
}

/// Whether the output is complete when this part ends; the source is from the start.
bool BlockWork::belongs(const PlanOutput& output, const PlanPart& part) const noexcept {
  const PlanPort& port = plan().ports[output.port];
  if (port.is_source()) return &part == &plan().parts.front();
  return port.maker >= part.begin && port.maker < part.end;
}

}  // namespace iqd
