// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"
#include "pipeline/stages/telemetry/soqpsk_detector/soqpsk_detector.hpp"

namespace iqd::soqpsk_detector {
namespace {

class SoqpskDetectorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (!telemetry::check_packets(config_.packet, context.section) || !check_input(in, context.section)) return;
    const double bandwidth = config_.loop_bandwidth.value_or(telemetry::usual_bandwidth(in));
    setup_.bits = config_.packet.bits();
    setup_.gains = gains_of(bandwidth, config_.loop_order);
    setup_.differential = config_.differential;
    setup_.pilot.clear();
    for (const std::uint8_t bit : config_.packet.pilot()) setup_.pilot.push_back(bit != 0 ? 1.0f : -1.0f);
    declare(context.out);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "soqpsk_detector")) return cuda(setup_, config_.llr);
    return cpu_run([setup = setup_, llr = config_.llr](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      for (const PortIo& out : io.out) *out.count = *in.count;
      const std::int64_t chains = *in.count * (in.item / setup.bits);
      run_cpu(setup, in.row<const cf32>(), chains, results_of(io.out, llr));
    });
  }

 private:
  bool check_input(const PortShape& in, const Section& section) const {
    const std::int64_t bits = config_.packet.bits();
    if (in.axis == Axis::counted && in.rows.empty() && in.item.size() == 2 && in.item[1].extent == bits) return true;
    section.problem("", fmt::format("needs packets of {} symbols for each kind, [packet][kind][bit]; its input "
                                    "is {}",
                                    bits, in.text()));
    return false;
  }

  void declare(std::span<PortShape> out) const {
    const Dim kinds = out[0].item[0];
    out[0].element = Element::u8;
    out[1].element = Element::f32;
    out[2].element = config_.llr == LlrForm::i8 ? Element::i8 : Element::f32;
    if (config_.llr == LlrForm::i8) out[2].llr_scale = kLlrScale;
    for (PortShape& port : out) port.item = {kinds, {"bit", setup_.payload()}};
    out[1].item[1].extent = setup_.bits;
  }

  Setup setup_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("loop_bandwidth", loop_bandwidth,
          {.help = "noise bandwidth of the phase loop times the length of a bit; none: 0.005, or 0.01 behind "
                   "`average: packet`",
           .low = 0,
           .high = 0.1,
           .live = true});
  v.field("loop_order", loop_order,
          {.help = "1 tracks the phase, 2 the frequency as well", .low = 1, .high = 2, .live = true});
  v.field("differential", differential, {.help = "decode the payload differentially"});
  v.field("llr", llr, {.help = "LLRs as floats, or as integers in units of 0.25"});
  telemetry::packet_fields(v, packet);
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "soqpsk_detector",
          .summary = "decides the bits of SOQPSK packets",
          .inputs = {{.name = "symbols",
                      .elements = {Element::cf32},
                      .dims = "[packet][kind][symbol]",
                      .example = {{"kind", 2}, {"symbol", 6336}}}},
          .outputs = {{.name = "bits"}, {.name = "soft", .can_omit = true}, {.name = "llr", .can_omit = true}},
          .make = make_stage<SoqpskDetectorStage>,
          .sample = "soqpsk_detector: {loop_bandwidth: 0.005}",
          .tolerance = 0};
}

}  // namespace iqd::soqpsk_detector
