// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/ordered_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/integer.hpp"
#include "pipeline/plan/alignment.hpp"

namespace iqd {

/// A block in a lane, its samples, and where its results lie on the host.
class OrderedPlan::LaneWork final : public BlockWork {
 public:
  LaneWork(const OrderedPlan& owner, Carries& carries, Backend& host, Backend& shared)
      : BlockWork(owner.plan_, carries, host, shared),
        owner_(owner),
        input_(shared.allocate_shared(input_bytes(owner.plan_))) {
    for (const PortIndex p : owner.ports_) {
      const PlanPort& port = owner.plan_.ports[p];
      if (on_device(port.side))
        copies_.push_back(shared.allocate_shared(port.bytes()));
      else
        copies_.emplace_back();
    }
  }

  static std::size_t input_bytes(const Plan& plan) {
    return bounded_bytes(plan.ports.front().shape.row_count(), pitch_of(plan));
  }
  static std::size_t pitch_of(const Plan& plan) {
    const PlanPort& source = plan.ports.front();
    const Reach reach = plan.window();
    return port_aligned(bounded_bytes(plan.block + reach.past + reach.future, size_of(source.shape.element)));
  }

  void load(const OrderedBlock& block, const LaneMemory& lane) noexcept {
    const std::int64_t rows = plan().ports.front().shape.row_count();
    const std::size_t row_bytes = block.samples.size() / static_cast<std::size_t>(rows);
    const std::size_t pitch = pitch_of(plan());
    for (std::int64_t r = 0; r < rows && row_bytes > 0; ++r)
      std::memcpy(input_.data() + static_cast<std::size_t>(r) * pitch,
                  block.samples.data() + static_cast<std::size_t>(r) * row_bytes, row_bytes);
    const SourceWindow window{input_.data(), static_cast<std::int64_t>(pitch), window_of(block.block)};
    set(block.block, {&window, 1}, lane);
  }

  Result result(std::size_t index) const noexcept {
    const PortIndex port = owner_.ports_[index];
    const PortIo& at = io(port);
    const PortShape& shape = plan().ports[port].shape;
    const std::int64_t length = shape.axis == Axis::stream ? at.length : count(port);
    Result result{{at.first, length, is_missing(port), {}}, at.data, at.pitch, at.rows, length * shape.item_bytes()};
    if (copies_[index].size() > 0)
      result.data = copies_[index].data(), result.pitch = static_cast<std::int64_t>(plan().ports[port].pitch);
    return result;
  }

 private:
  void copy_more(const PlanPart& part, StreamView stream) noexcept override {
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const PlanPort& port = plan().ports[owner_.ports_[i]];
      if (copies_[i].size() == 0 || port.maker < part.begin || port.maker >= part.end) continue;
      const PortIo& from = io(owner_.ports_[i]);
      const auto bytes = static_cast<std::size_t>(from.length * port.shape.item_bytes());
      if (bytes > 0)
        backend_of(port.side).copy(copies_[i].data(), port.pitch, from.data, static_cast<std::size_t>(from.pitch),
                                   bytes, static_cast<std::size_t>(from.rows), stream);
    }
  }

  const OrderedPlan& owner_;
  Buffer input_;
  std::vector<Buffer> copies_;  // of ports on a device
};

OrderedPlan::OrderedPlan(const WorkOrder& order, const Catalogue& catalogue, const std::vector<std::string>& backend,
                         int lanes, std::size_t most_bytes)
    : OrderedPlan(
          order, catalogue,
          [&backend](PipelineSpec& spec) {
            spec.backend = backend;
            return choose_backends(spec);
          },
          lanes, most_bytes) {}

OrderedPlan::OrderedPlan(const WorkOrder& order, const Catalogue& catalogue, const Choose& choose, int lanes,
                         std::size_t most_bytes) {
  OrderedWork work = read_order(order, catalogue);
  build_ = std::move(work.build);
  ChosenBackends chosen = choose(work.spec);
  device_ = chosen.names;
  backends_ = std::move(chosen.backends);
  const PlanTarget target = target_of(work.spec, backends_);
  std::vector<OutputIndex> outputs;
  plan_ = plan_work(work.spec, work.stream, catalogue, target, work.returns, outputs, work.problems);
  if (!work.problems.empty()) throw SetupError("the order: " + work.problems.front().text());
  if (plan_.sequential()) throw SetupError("the order has a stage with a state");
  for (const OutputIndex output : outputs) ports_.push_back(plan_.outputs[output].port);
  std::size_t bytes = 0;
  for (const PortIndex port : ports_) bytes = bounded_sum(bytes, plan_.ports[port].bytes());
  if (std::max(bytes, LaneWork::input_bytes(plan_)) > 2 * most_bytes)
    throw SetupError("the order has blocks that no message can hold");
  plan_.prepare(*backends_.host, backends_.devices);
  carries_ = std::make_unique<Carries>(plan_, *backends_.host, backends_.devices);
  EngineOptions options;
  options.lanes = lanes;
  lanes_ = std::make_unique<Lanes>(plan_, backends_, options);
  for (int l = 0; l < lanes; ++l)
    works_.push_back(std::make_unique<LaneWork>(*this, *carries_, *backends_.host, backends_.shared()));
}

OrderedPlan::~OrderedPlan() {
  lanes_->end();
}

std::int64_t OrderedPlan::sample_bytes(const SampleBlock& block) const noexcept {
  const Reach reach = plan_.window();
  const bool fits = block.first >= 0 && block.first <= plan_.most_position() && block.length > 0 &&
                    block.length <= plan_.block && block.past >= 0 && block.past <= std::min(reach.past, block.first) &&
                    block.future >= 0 && block.future <= reach.future;
  if (!fits) return -1;
  const PortShape& source = plan_.ports.front().shape;
  return source.row_count() * (block.past + block.length + block.future) *
         static_cast<std::int64_t>(size_of(source.element));
}

bool OrderedPlan::compute(int lane, const OrderedBlock& block) noexcept {
  if (std::ssize(block.samples) != sample_bytes(block.block)) return false;
  LaneWork& work = *works_[static_cast<std::size_t>(lane)];
  work.load(block, lanes_->memory(lane));
  Queue& queue = lanes_->queue(lane);
  queue.submit(work);
  queue.wait(work);
  return true;
}

std::int64_t OrderedPlan::in_step_ns(int lane) const noexcept {
  const auto in = works_[static_cast<std::size_t>(lane)]->in_step();
  return in.began_ns == 0 ? 0 : steady_ns() - in.began_ns;
}

bool OrderedPlan::is_good(int lane) const noexcept {
  return works_[static_cast<std::size_t>(lane)]->good();
}

std::string OrderedPlan::failure() const {
  for (const auto& device : backends_.devices)
    if (std::string why = device->failure(); !why.empty()) return why;
  return backends_.host->failure();
}

OrderedPlan::Result OrderedPlan::result(int lane, std::size_t returned) const noexcept {
  return works_[static_cast<std::size_t>(lane)]->result(returned);
}

}  // namespace iqd
