// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/carries.hpp"

#include <utility>

namespace iqd {

Carries::Carries(const Plan& plan, Backend& host, std::span<const std::shared_ptr<Backend>> devices)
    : states_(plan.steps.size()) {
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].carry_bytes == 0) continue;
    const Side side = plan.steps[s].side;
    Backend& backend = on_device(side) ? *devices[plan.group(side).devices.front()] : host;
    states_[s] = std::make_unique<State>();
    states_[s]->memory = backend.allocate(plan.steps[s].carry_bytes);
    states_[s]->fence = backend.make_fence();
    for (const PortIndex out : plan.steps[s].out) {
      const PlanPort& port = plan.ports[out];
      const std::int64_t positions = port.shape.axis == Axis::stream ? port.reach.past : 0;
      const std::int64_t bytes = positions * port.shape.item_bytes() * port.shape.row_count();
      states_[s]->histories.push_back({backend.allocate(static_cast<std::size_t>(bytes))});
    }
  }
}

void Carries::adopt(StepIndex step, Carries& from, StepIndex from_step) noexcept {
  State& to = *states_[step];
  State& left = *from.states_[from_step];
  std::swap(to.memory, left.memory);
  to.is_new = left.is_new;
  for (std::size_t o = 0; o < to.histories.size(); ++o)
    if (to.histories[o].memory.size() == left.histories[o].memory.size()) std::swap(to.histories[o], left.histories[o]);
}

void Carries::wait_turn(StepIndex step, std::uint64_t seq) const noexcept {
  const auto& turn = states_[step]->turn;
  for (auto at = turn.load(std::memory_order_acquire); at != seq; at = turn.load(std::memory_order_acquire))
    turn.wait(at, std::memory_order_acquire);
}

void Carries::wait_turn(StepIndex step, std::uint64_t seq, StreamView stream) const noexcept {
  wait_turn(step, seq);
  if (states_[step]->fence) states_[step]->fence->wait(stream);
}

void Carries::pass_on(StepIndex step, StreamView stream, bool is_spoilt) noexcept {
  if (states_[step]->fence) states_[step]->fence->signal(stream);
  pass_on(step, is_spoilt);
}

void Carries::pass_on(StepIndex step, bool is_spoilt) noexcept {
  states_[step]->is_new = is_spoilt;
  states_[step]->turn.fetch_add(1, std::memory_order_acq_rel);
  states_[step]->turn.notify_all();
}

void Carries::skip(StepIndex step, std::uint64_t seq) noexcept {
  if (!states_[step]) return;
  wait_turn(step, seq);
  pass_on(step, false);
}

}  // namespace iqd
