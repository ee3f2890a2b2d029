// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/noma/noma_keys.hpp"
#include "pipeline/stages/noma/noma_slots/noma_slots.hpp"

namespace iqd::noma_slots {
namespace {

class NomaSlotsStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const NomaFormat& format = config_.format;
    if (!noma::check_format(format, context.section)) return;
    const PortShape& in = context.in[0];
    if (!noma::check_carriers(format, in, context.section)) return;
    const std::int64_t rx = in.item[2].extent;
    if (rx < 1 || rx > kMostAntennas)
      return context.section.problem("", fmt::format("takes 1 to {} receive antennas, not {}", kMostAntennas, rx));
    layout_ = layout_of(config_, rx);
    most_ = context.most_new;
    context.scratch_bytes = scratch_bytes(layout_);
    const auto set = [&](Port port, std::vector<Dim> item) {
      context.out[port].most = context.most_new;
      context.out[port].item = std::move(item);
    };
    set(kTrainRx, {{"t", format.pilots}, {"antenna", rx}});
    set(kTrainTx, {{"t", format.pilots}, {"user", format.users}});
    set(kRx, {{"t", format.data}, {"antenna", rx}});
    for (const Port port : {kDelay, kDrift}) {
      set(port, {});
      context.out[port].element = Element::f32;
    }
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "noma_slots")) return cuda(layout_, Known(config_.format), most_);
    return cpu_run([layout = layout_, known = Known(config_.format)](const StageIo& io) noexcept {
      const std::int32_t frames = *io.in[0].count;
      for (const PortIo& out : io.out) *out.count = frames;
      run_cpu(layout, known, reinterpret_cast<const Complex*>(io.in[0].data), frames, output_of(io), io.scratch);
    });
  }

 private:
  Layout layout_{};
  std::int64_t most_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  noma::format_fields(v, format);
  v.field("timing", timing,
          {.help = "measures and corrects how much later than its timing a frame came", .live = true});
  v.field("drift", drift, {.help = "measures and corrects the phase drift from symbol to symbol", .live = true});
}

StageEntry entry() {
  return {.family = "noma",
          .name = "noma_slots",
          .summary = "extracts pilots and data from the carriers of NOMA frames, and corrects timing and frequency",
          .inputs = {{.name = "carriers",
                      .elements = {Element::cf32},
                      .dims = "[frame][symbol][carrier][rx]",
                      .example = {{"symbol", 34}, {"carrier", 144}, {"rx", 2}}}},
          .outputs = {{.name = "train_rx"},
                      {.name = "train_tx", .can_omit = true},
                      {.name = "rx"},
                      {.name = "delay", .fact = "delay"},
                      {.name = "drift", .fact = "drift"}},
          .make = make_stage<NomaSlotsStage>,
          .sample = "noma_slots: {}",
          .tolerance = 1e-5};
}

}  // namespace iqd::noma_slots
