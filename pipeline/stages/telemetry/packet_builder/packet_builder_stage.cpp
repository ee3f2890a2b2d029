// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/frame_modulator.hpp"
#include "pipeline/stages/telemetry/packet_builder/packet_builder.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"

namespace iqd::packet_builder {
namespace {

class PacketBuilderStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    dsp::check_bits_or_samples(context);
    if (!telemetry::check_packets(config_.format, context.section) ||
        !check_code(config_.code, true, context.section) || !set_packets(context.section))
      return;
    context.scratch_bytes = packets_->scratch_bytes();
    of_bits_ = context.in[0].element == Element::u8;
    dsp::shape_frames(context, 1, packets_->information(), packets_->bits(),
                      "is for a cf32 input; with a u8 input, the packets carry the bits of the input; remove the key");
    context.out[0].element = Element::u8;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "packet_builder runs on the CPU only: set `backend: cpu`");
    return cpu_run([packets = packets_, of_bits = of_bits_](const StageIo& io) noexcept {
      const PortIo &in = io.in[0], &out = io.out[0];
      const std::span to(out.row<std::uint8_t>(), static_cast<std::size_t>(out.length));
      if (!of_bits) return packets->make(to, out.first, io.scratch);
      packets->build({in.row<const std::uint8_t>(), static_cast<std::size_t>(in.length)}, in.first, to, out.first,
                     io.scratch);
    });
  }

 private:
  /// False if it reported a problem.
  bool set_packets(const Section& section) {
    std::shared_ptr<const PacketPayload> coded;
    const int order = order_of(config_.payload);
    const std::int64_t bits = config_.format.payload_bits;
    if (const auto code = config_.code.words()) {
      if (!check_frame(config_.frame, code->code, section)) return false;
      const WordFrame frame = config_.frame.frame(code->code);
      coded = std::make_shared<const PacketPayload>(bits, *code, frame, order);
      if (coded->words() == 0) {
        section.problem("payload_bits", fmt::format("a word has {} bits with its marker, but a payload only {}",
                                                    frame.size(code->n()), bits));
        return false;
      }
    } else {
      for (const char* key : {"asm", "randomize"})
        if (section.has(key)) section.problem(key, "belongs to the words of a code; set `code`, too");
    }
    packets_ = std::make_shared<const Packets>(config_.format, std::move(coded), order);
    return true;
  }

  std::shared_ptr<const Packets> packets_;
  bool of_bits_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  telemetry::packet_bit_fields(v, format);
  code_fields(v, code);
  frame_fields(v, frame);
  v.field("payload", payload, {.help = "pseudo-random payload, which continues from packet to packet"});
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "packet_builder",
          .summary = "makes the bits of telemetry packets, from bits or with pseudo-random payload, coded or not",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::u8}, .one_channel = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<PacketBuilderStage>,
          .sample = "packet_builder: {payload_bits: 200}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::packet_builder
