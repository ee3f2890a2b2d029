// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"

namespace iqd::packet_estimator {
namespace {

enum Output : std::size_t { kWindows, kChannel, kNoise, kOffset, kOffsetHz };

class PacketEstimatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (!telemetry::check_packets(config_.format, context.section) ||
        !telemetry::check_items(in, "windows", config_.format.window(), context.section))
      return;
    auto pilot = make_pilot(config_.format, config_.lambda);
    if (!pilot)
      return context.section.problem("lambda", "is too small: this pilot does not determine the channel; set 1");
    pilot_ = std::move(*pilot);
    const double rate_hz = in.rate_hz > 0 ? in.rate_hz : in.source_rate_hz;
    offsets_ = {config_.average, 1 / config_.memory, rate_hz / (2 * std::numbers::pi)};
    most_packets_ = context.most_new;
    for (PortShape& out : context.out) {
      out.most = most_packets_;
      if (config_.average == Average::packet) out.marks.emplace_back("offset_of_packet");
    }
    context.out[kChannel].item = {{"tap", kTaps}};
    for (const Output o : {kNoise, kOffset, kOffsetHz}) context.out[o].hold(Element::f32, {});
    context.chunk_exempt = config_.average == Average::block;
    context.carry_bytes = config_.average == Average::carry ? sizeof(Mean) : 0;
    context.scratch_bytes = scratch_bytes(pilot_, most_packets_);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "packet_estimator")) return cuda(pilot_, offsets_, most_packets_);
    return cpu_run([pilot = pilot_, offsets = offsets_](const StageIo& io) noexcept {
      auto* const mean = reinterpret_cast<Mean*>(io.carry);
      if (mean && io.fresh) *mean = {};
      run_cpu(pilot, offsets, io.in[0].row<const cf32>(), *io.in[0].count, mean,
              {.windows = io.out[kWindows].row<cf32>(),
               .channel = io.out[kChannel].row<cf32>(),
               .noise = io.out[kNoise].row<float>(),
               .offset = io.out[kOffset].row<float>(),
               .offset_hz = io.out[kOffsetHz].row<float>()},
              io.scratch);
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
    });
  }

 private:
  Pilot pilot_;
  Offsets offsets_;
  std::int64_t most_packets_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("average", average, {.help = "what the offset is averaged over: the block, nothing, or all packets so far"});
  v.field("lambda", lambda,
          {.help = "regularization: larger keeps the channel small; 0: maximum likelihood",
           .low = 0,
           .high = 1e6,
           .live = true});
  v.field("memory", memory,
          {.help = "packets that `average: carry` averages over", .low = 1, .high = 1e9, .live = true});
  telemetry::packet_fields(v, format);
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "packet_estimator",
          .summary = "estimates each packet's frequency offset, channel and noise, and removes the offset",
          .inputs = {{.name = "windows",
                      .elements = {Element::cf32},
                      .dims = "[packet][sample]",
                      .one_channel = true,
                      .example = {{"sample", 13184}}}},
          .outputs = {{.name = "windows", .can_omit = true},
                      {.name = "channel", .can_omit = true},
                      {.name = "noise", .fact = "noise"},
                      {.name = "offset", .can_omit = true},
                      {.name = "offset_hz", .fact = "offset_hz"}},
          .make = make_stage<PacketEstimatorStage>,
          .sample = "packet_estimator: {average: packet}",
          .tolerance = 1e-6};
}

}  // namespace iqd::packet_estimator
