// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/result_message.hpp"

#include <algorithm>

namespace iqd {
namespace {

std::int64_t time_at(const SampleBlock& block, SampleIndex sample, double rate_hz) noexcept {
  if (!(rate_hz > 0)) return block.time_ns;
  return block.time_ns + static_cast<std::int64_t>(static_cast<double>(sample - block.first) * 1e9 / rate_hz);
}

/// `moved_hz`: how much lower the format's frequency is than that of the block's plan.
void set_tuning(Message& m, const SampleBlock& block, double moved_hz, bool on_air) noexcept {
  m.retuned_hz = moved_hz + (on_air ? block.retuned_hz : 0);
  m.was_retuned_hz = moved_hz + (on_air ? block.was_retuned_hz : 0);
}

}  // namespace

std::int64_t extent_of(const PlanOutput& output, const BlockWork::Output& result) noexcept {
  return output.format.varying < 0 ? std::min<std::int64_t>(result.extent, 1) : result.extent;
}

Message result_message(const Plan& plan, OutputIndex index, const BlockWork& work) noexcept {
  const PlanOutput& output = plan.outputs[index];
  const BlockWork::Output result = work.output(index);
  const SampleBlock& block = work.block();
  const PlanPort& port = plan.ports[output.port];
  const bool is_stream = port.shape.axis == Axis::stream;
  Message m;
  m.format = &output.format;
  m.samples = block.length;
  m.position = is_stream ? result.first : 0;
  m.sample = is_stream ? port.rate.sample_of(result.first) : block.first;
  m.time_ns = time_at(block, m.sample, output.format.rate_hz);
  m.time = block.time;
  m.extent = extent_of(output, result);
  m.halo = std::min(block.past, plan.reach().past);
  m.calibrated = block.calibrated && block.was_calibrated;
  m.payload = {result.data, static_cast<std::size_t>(m.extent * port.shape.item_bytes() * port.shape.row_count())};
  const PortFormat& now = work.plan().outputs[index].format;
  set_tuning(m, block, now.frequency_hz - output.format.frequency_hz, port.shape.on_air);
  m.respanned_hz = now.span_hz - output.format.span_hz;
  return m;
}

FactColumn fact_column(const Plan& plan, const PlanOutput::Fact& fact, const BlockWork& work) noexcept {
  return {fact.key, plan.ports[fact.port].shape.element, work.fact(fact.port), fact.rate.num, fact.rate.den};
}

Message source_message(const Plan& plan, const PortFormat& format, const BlockWork& work) noexcept {
  constexpr PortIndex kSource = 0;
  const PlanPort& port = plan.ports[kSource];
  const PortIo& io = work.io(kSource);
  const Span& span = work.span_of(kSource);
  const SampleBlock& block = work.block();
  Message m;
  m.format = &format;
  m.samples = block.length;
  m.position = m.sample = std::max(span.first, span.first_new);
  m.time_ns = time_at(block, m.sample, format.rate_hz);
  m.time = block.time;
  m.extent = std::max<std::int64_t>(0, std::min(span.end, span.end_new) - m.sample);
  const std::int64_t item = port.shape.item_bytes();
  const std::int64_t bytes = m.extent > 0 ? (port.shape.row_count() - 1) * io.pitch + m.extent * item : 0;
  m.payload = {io.data + (m.sample - io.first) * item, static_cast<std::size_t>(bytes)};
  const double now_hz = work.plan().ports[kSource].shape.frequency_hz;
  set_tuning(m, block, now_hz - format.frequency_hz, port.shape.on_air);
  return m;
}

}  // namespace iqd
