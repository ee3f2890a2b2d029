// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/device_ring.hpp"

#include <algorithm>

#include "base/integer.hpp"
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

DeviceRing::DeviceRing(const Plan& plan, std::int64_t host_samples, Backend& device, int lanes)
    : layout_(plan, host_samples), device_(device) {
  device.use();
  memory_ = device.allocate(bounded_product(layout_.rows, layout_.pitch));
  if (lanes > 1) fence_ = device.make_fence();
}

std::size_t DeviceRing::bytes(const Plan& plan, std::int64_t host_samples) noexcept {
  const Layout layout(plan, host_samples);
  return bounded_product(layout.rows, layout.pitch);
}

SourceWindow DeviceRing::window(const SampleBlock& block) const noexcept {
  return {at(block.place() - block.past, turn_of(block)), static_cast<std::int64_t>(layout_.pitch), window_of(block)};
}

void DeviceRing::fill(const SampleBlock& block, const SampleRing& host, StreamView stream) noexcept {
  const SampleIndex begin = block.place() - block.past;
  const SampleIndex end = block.place() + block.length + block.future;
  const SampleIndex have = std::clamp(filled_, begin, end);
  const std::int64_t turn = turn_of(block);
  if (fence_) fence_->wait(stream);
  if (turn != turn_) copy(at(begin, turn), at(begin, turn_), layout_.pitch, have - begin, stream);
  copy(at(have, turn), host.at(0, have), static_cast<std::size_t>(host.pitch()), end - have, stream);
  if (fence_) fence_->signal(stream);
  filled_ = end;
  turn_ = turn;
}

void DeviceRing::copy(std::byte* to, const std::byte* from, std::size_t from_pitch, std::int64_t samples,
                      StreamView stream) noexcept {
  if (samples > 0)
    device_.copy(to, layout_.pitch, from, from_pitch, static_cast<std::size_t>(samples) * layout_.sample_bytes,
                 layout_.rows, stream);
}

}  // namespace iqd
