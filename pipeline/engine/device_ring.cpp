// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/device_ring.hpp"

#include <algorithm>
#include <utility>

#include "base/integer.hpp"
#include "pipeline/engine/layout_key.hpp"
#include "pipeline/plan/alignment.hpp"

namespace iqd {

DeviceRing::Layout::Layout(const Plan& plan, std::int64_t host_samples) noexcept {
  const PortShape& source = plan.ports.front().shape;
  const Reach reach = plan.window();
  sample_bytes = size_of(source.element);
  rows = static_cast<std::size_t>(source.row_count());
  samples = ceil_div(host_samples, plan.block) * plan.block;
  before = reach.past;
  pitch = port_aligned(bounded_bytes(before + samples + reach.future, sample_bytes));
}

DeviceRing::DeviceRing(const Plan& plan, std::int64_t host_samples, Backend& device, int lanes, bool within_works)
    : layout_(plan, host_samples), device_(device) {
  device.use();
  memory_ = device.allocate(bounded_product(layout_.rows, layout_.pitch));
  if (lanes < 2) return;
  if (!within_works) {
    fence_ = device.make_fence();
    return;
  }
  turns_ = device.make_turns();
  numbers_ = device.allocate_shared(static_cast<std::size_t>(lanes) * sizeof(std::int64_t));
}

std::size_t DeviceRing::bytes(const Plan& plan, std::int64_t host_samples) noexcept {
  const Layout layout(plan, host_samples);
  return bounded_product(layout.rows, layout.pitch);
}

SourceWindow DeviceRing::window(const SampleBlock& block) const noexcept {
  return {at(block.place() - block.past, turn_of(block)), static_cast<std::int64_t>(layout_.pitch), window_of(block)};
}

DeviceRing::Fill DeviceRing::next(const SampleBlock& block, int lane) noexcept {
  Fill fill;
  fill.begin = block.place() - block.past;
  fill.end = block.place() + block.length + block.future;
  fill.have = std::clamp(filled_, fill.begin, fill.end);
  fill.turn = turn_of(block);
  fill.turn_before = std::exchange(turn_, fill.turn);
  filled_ = fill.end;
  if (turns_) {
    std::int64_t& number = reinterpret_cast<std::int64_t*>(numbers_.data())[lane];
    number = fills_++;
    fill.number = &number;
  }
  return fill;
}

void DeviceRing::enqueue(const Fill& fill, const SampleRing& host, StreamView stream) noexcept {
  if (fence_) fence_->wait(stream);
  if (fill.number) turns_->wait(fill.number, stream);
  if (fill.turn != fill.turn_before)
    copy(at(fill.begin, fill.turn), at(fill.begin, fill.turn_before), layout_.pitch, fill.have - fill.begin, stream);
  copy(at(fill.have, fill.turn), host.at(0, fill.have), static_cast<std::size_t>(host.pitch()), fill.end - fill.have,
       stream);
  if (fill.number) turns_->pass(fill.number, stream);
  if (fence_) fence_->signal(stream);
}

std::uint64_t DeviceRing::layout_key(const Fill& fill, const SampleRing& host) const noexcept {
  LayoutKey key;
  key.mix(at(fill.begin, fill.turn));
  key.mix(at(fill.begin, fill.turn_before));
  key.mix(host.at(0, fill.have));
  key.mix(fill.have - fill.begin);
  key.mix(fill.end - fill.have);
  key.mix(fill.number);
  return key.value();
}

void DeviceRing::restart() noexcept {
  filled_ = turn_ = fills_ = 0;
}

void DeviceRing::copy(std::byte* to, const std::byte* from, std::size_t from_pitch, std::int64_t samples,
                      StreamView stream) noexcept {
  if (samples > 0)
    device_.copy(to, layout_.pitch, from, from_pitch, static_cast<std::size_t>(samples) * layout_.sample_bytes,
                 layout_.rows, stream);
}

}  // namespace iqd
