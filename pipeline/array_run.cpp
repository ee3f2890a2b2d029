// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/array_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace iqd {

/// The current block, and how long its stages took.
class ArrayRun::TimedWork final : public BlockWork {
 public:
  using BlockWork::BlockWork;
  std::int64_t step_ns = 0;

 private:
  void step_times(StepIndex first_step, std::span<const std::int64_t> ns) noexcept override {
    if (first_step == 0) step_ns = 0;
    const std::vector<PlanStep>& steps = plan().steps;
    for (std::size_t i = 0; i < ns.size() && first_step + i < steps.size(); ++i)
      if (!steps[first_step + i].is_transfer()) step_ns += ns[i];
  }
};

ArrayLane::ArrayLane(const ArrayPlan& plan) {
  Backend& backend = plan.backend();
  const Plan& p = plan.plan();
  host_arena_ = backend.allocate_shared(p.arena_bytes[index_of(Side::host)]);
  memory_.arenas[index_of(Side::host)] = host_arena_.data();
  if (!on_device(plan.side())) return;
  device_arena_ = backend.allocate(p.arena_bytes[index_of(Side::device)]);
  memory_.arenas[index_of(Side::device)] = device_arena_.data();
  memory_.devices.front().backend = &backend;
  QueueOptions options;
  options.wait = plan.options().wait;
  options.time_every = plan.options().timed ? 1 : 0;
  options.timed_steps = p.timed_steps();
  queue_ = backend.make_queue(options);
}

ArrayRun::ArrayRun(const ArrayPlan& plan)
    : plan_(plan),
      carries_(std::make_unique<Carries>(plan.plan(), plan.host(), plan.devices())),
      work_(std::make_unique<TimedWork>(plan.plan(), *carries_, plan.host(), plan.backend())),
      windows_(plan.inputs()) {}

ArrayRun::~ArrayRun() = default;

const BlockWork& ArrayRun::work() const noexcept {
  return *work_;
}
std::int64_t ArrayRun::step_ns() const noexcept {
  return work_->step_ns;
}

void ArrayRun::set_block(SampleBlock block, std::span<const ArrayMemory> inputs, ArrayLane& lane) {
  block.seq = seq_++;
  block.fresh = block.first == 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayMemory& in = inputs[i];
    const Span span = plan_.span_of(i, block.first, block.end(), in.there);
    // Stages do not write to their inputs.
    std::byte* const data = const_cast<std::byte*>(in.data) + (span.first - in.there.first) * plan_.item_bytes(i);
    windows_[i] = {data, in.pitch, span};
  }
  queue_ = lane.queue();
  work_->set(block, windows_, lane.memory());
}

void ArrayRun::rehearse(SampleBlock block, std::span<const ArrayMemory> inputs, ArrayLane& lane) {
  set_block(block, inputs, lane);
  --seq_;  // this block is not run, and a carry would wait for it
  if (queue_) queue_->rehearse(*work_);
}

void ArrayRun::start_block() {
  if (!queue_) return work_->enqueue({});
  queue_->submit(*work_);
}

void ArrayRun::finish_block() {
  if (queue_) {
    queue_->wait(*work_);
    if (!work_->good()) throw SetupError(plan_.backend().failure());
  }
  if (!work_->has_missing()) return;
  const std::vector<PlanStep>& steps = plan_.plan().steps;
  const auto lost = std::ranges::find_if(
      steps, [&](const PlanStep& s) { return !s.out.empty() && work_->is_missing(s.out.front()); });
  throw SetupError(fmt::format("stage '{}' could not compute the block at {}", lost != steps.end() ? lost->name : "?",
                               work_->block().first));
}

}  // namespace iqd
