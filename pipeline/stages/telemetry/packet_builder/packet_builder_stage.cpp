// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_builder/packet_builder.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"

namespace iqd::packet_builder {
namespace {

class PacketBuilderStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (in.axis != Axis::stream || !in.item.empty())
      return context.section.problem("", fmt::format("takes single bits, [n]; its input is {}", in.text()));
    if (!telemetry::check_packets(config_.format, context.section) ||
        !check_code(config_.code, true, context.section) || !set_packets(context.section))
      return;
    context.scratch_bytes = packets_->scratch_bytes();
    context.footprint[0] = {.granule = packets_->information(), .yield = packets_->bits(), .whole = true};
    context.out[0].rate_hz =
        in.rate_hz * static_cast<double>(packets_->bits()) / static_cast<double>(packets_->information());
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "packet_builder runs on the CPU only: set `backend: cpu`");
    return cpu_run([packets = packets_](const StageIo& io) noexcept {
      const PortIo &in = io.in[0], &out = io.out[0];
      packets->build({in.row<const std::uint8_t>(), static_cast<std::size_t>(in.length)}, in.first,
                     {out.row<std::uint8_t>(), static_cast<std::size_t>(out.length)}, out.first, io.scratch);
    });
  }

 private:
  /// False if it reported a problem.
  bool set_packets(const Section& section) {
    std::shared_ptr<const PacketPayload> payload;
    const std::int64_t bits = config_.format.payload_bits;
    if (const auto code = config_.code.words()) {
      if (!check_frame(config_.frame, code->code, section)) return false;
      const WordFrame frame = config_.frame.frame(code->code);
      payload = std::make_shared<const PacketPayload>(bits, *code, frame);
      if (payload->words() == 0) {
        section.problem("payload_bits", fmt::format("a word has {} bits with its marker, but a payload only {}",
                                                    frame.size(code->n()), bits));
        return false;
      }
    } else {
      for (const char* key : {"asm", "randomize"})
        if (section.has(key)) section.problem(key, "belongs to the words of a code; set `code`, too");
    }
    packets_ = std::make_shared<const Packets>(config_.format, std::move(payload));
    return true;
  }

  std::shared_ptr<const Packets> packets_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  telemetry::packet_bit_fields(v, format);
  code_fields(v, code);
  frame_fields(v, frame);
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "packet_builder",
          .summary = "makes telemetry packets from a stream of bits, coded or not",
          .inputs = {{.name = "bits", .elements = {Element::u8}, .one_channel = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<PacketBuilderStage>,
          .sample = "packet_builder: {payload_bits: 200}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::packet_builder
