// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/frame_modulator.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"
#include "pipeline/stages/telemetry/soqpsk_modulator/soqpsk_modulator.hpp"

namespace iqd::soqpsk_modulator {
namespace {

using soqpsk::Modulator;

class SoqpskModulatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    dsp::check_bits_or_samples(context);
    if (!telemetry::check_packets(config_.format, context.section)) return;
    of_bits_ = context.in[0].element == Element::u8;
    context.out[0].leave_air();
    if (of_bits_) shape_of_bits(context);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const auto* const cuda = device_half<CudaHalf>(backend, "soqpsk_modulator");
    Modulator modulator(config_.format.samples_per_bit, config_.amplitude);
    if (of_bits_) {
      if (cuda != nullptr) return cuda->modulate_bits(modulator);
      return cpu_run([modulator = std::move(modulator)](const StageIo& io) noexcept {
        modulate_bits(modulator, io.in[0].as<const std::uint8_t>(), io.in[0].first, io.out[0].as<cf32>(),
                      io.out[0].first);
      });
    }
    Packets packets(config_);
    if (cuda != nullptr) return cuda->make_packets(modulator, packets);
    return cpu_run([modulator = std::move(modulator), packets = std::move(packets)](const StageIo& io) noexcept {
      make_packets(modulator, packets, io.out[0].as<cf32>(), io.out[0].first);
    });
  }

 private:
  void shape_of_bits(ShapeContext& context) const {
    const std::int64_t s = config_.format.samples_per_bit;
    context.footprint[0] = {.past = Modulator::kPast, .future = Modulator::kFuture, .yield = s};
    context.out[0].element = Element::cf32;
    context.out[0].rate_hz = context.in[0].rate_hz * static_cast<double>(s);
    for (const char* key : {"differential", "gap", "payload", "preamble", "repeats", "sync_word", "payload_bits"})
      if (context.section.has(key))
        context.section.problem(key,
                                "is for packets, which need a cf32 input; this input is a stream of bits, which is "
                                "modulated as it is; remove the key");
  }

  bool of_bits_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("amplitude", amplitude, {.help = "amplitude of the signal", .low = 0, .live = true});
  telemetry::packet_fields(v, format);
  v.field("gap", gap, {.help = "samples of silence between packets", .low = 0, .high = 1 << 30});
  v.field("payload", payload, {.help = "pseudo-random payload, which continues from packet to packet"});
  v.field("differential", differential, {.help = "encode each packet's payload differentially"});
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "soqpsk_modulator",
          .summary = "generates SOQPSK-TG from bits, or packets with pseudo-random payload",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::u8}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<SoqpskModulatorStage>,
          .sample = "soqpsk_modulator: {amplitude: 0.5}",
          .tolerance = 0};
}

}  // namespace iqd::soqpsk_modulator
