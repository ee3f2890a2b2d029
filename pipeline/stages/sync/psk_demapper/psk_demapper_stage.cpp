// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/psk_demapper/psk_demapper.hpp"

namespace iqd::psk_demapper {
namespace {

enum Port : std::uint8_t { kBits, kLlr, kPackets };

/// Carried from block to block; the bits of the incomplete packet follow it in memory.
struct Carried {
  cf32 last;
  std::int32_t has_last;
  std::int32_t bits;

  std::uint8_t* packet() noexcept { return reinterpret_cast<std::uint8_t*>(this + 1); }
};

class Writer {
 public:
  Writer(const Demapper& demapper, const Config& config, const StageIo& io)
      : demapper_(demapper), config_(config), carried_(*reinterpret_cast<Carried*>(io.carry)) {
    if (io.fresh) carried_ = {};
    bits_ = io.out[kBits].row<std::uint8_t>();
    llr_ = io.out[kLlr].row<float>();
    packets_ = io.out[kPackets].row<std::uint8_t>();
  }

  void add(cf32 y) noexcept {
    if (config_.differential) {
      const cf32 before = carried_.last;
      carried_.last = y;
      if (carried_.has_last == 0) {
        carried_.has_last = 1;
        return;
      }
      float llr[Demapper::kMostBits];
      demapper_.llrs(before, y, llr);
      return write(llr);
    }
    float llr[Demapper::kMostBits];
    demapper_.llrs(y, llr);
    write(llr);
  }
  std::int32_t symbols() const noexcept { return symbols_; }
  std::int32_t packets() const noexcept { return complete_; }

 private:
  void write(const float* llr) noexcept {
    for (int b = 0; b < demapper_.bits(); ++b) {
      const std::uint8_t bit = llr[b] < 0 ? 1 : 0;
      const std::int64_t at = std::int64_t{symbols_} * demapper_.bits() + b;
      if (bits_) bits_[at] = bit;
      if (llr_) llr_[at] = llr[b];
      carried_.packet()[carried_.bits++] = bit;
      if (carried_.bits < config_.packet) continue;
      if (packets_) std::copy_n(carried_.packet(), config_.packet, packets_ + complete_ * config_.packet);
      ++complete_;
      carried_.bits = 0;
    }
    ++symbols_;
  }

  const Demapper& demapper_;
  const Config& config_;
  Carried& carried_;
  std::uint8_t* bits_;
  float* llr_;
  std::uint8_t* packets_;
  std::int32_t symbols_ = 0;
  std::int32_t complete_ = 0;
};

class PskDemapperStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    if (config_.differential && config_.modulation >= Constellation::qam16)
      return context.section.problem("differential", "is only for bpsk, qpsk and 8psk");
    if (!(config_.noise > 0)) return context.section.problem("noise", "has to be above 0");
    counted_ = context.in[0].axis == Axis::counted;
    const std::int64_t bits = bits_of(config_.modulation);
    for (PortShape& out : context.out) {
      out.hold(Element::u8, {{"bit", bits}});
      out.count_items("symbol", context.most_new);
    }
    context.out[kLlr].element = Element::f32;
    context.out[kPackets].item = {{"bit", config_.packet}};
    context.out[kPackets].count_items("packet", context.most_new * bits / config_.packet + 1);
    context.carry_bytes = sizeof(Carried) + static_cast<std::size_t>(config_.packet);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "psk_demapper cannot run on a GPU: remove its `backend`");
    return cpu_run([demapper = Demapper(config_), config = config_, counted = counted_](const StageIo& io) noexcept {
      Writer writer(demapper, config, io);
      for (const cf32 x : io.new_values<cf32>(counted)) writer.add(x);
      *io.out[kBits].count = *io.out[kLlr].count = writer.symbols();
      *io.out[kPackets].count = writer.packets();
    });
  }

 private:
  bool counted_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("modulation", modulation, {.help = "modulation of the symbols"});
  v.field("differential", differential, {.help = "the bits are in the steps from symbol to symbol; for PSK"});
  v.field("noise", noise, {.help = "variance of the complex noise, for the LLRs", .low = 0});
  v.field("packet", packet, {.help = "bits per item of `packets`", .low = 1, .high = 1 << 24});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "psk_demapper",
          .summary = "converts symbols to bits and LLRs, PSK or QAM, differential or not",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .dims = "[symbol]", .one_channel = true}},
          .outputs = {{.name = "bits", .can_omit = true},
                      {.name = "llr", .can_omit = true},
                      {.name = "packets", .can_omit = true}},
          .make = make_stage<PskDemapperStage>,
          .sample = "psk_demapper: {modulation: qpsk}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::psk_demapper
