// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/evm_meter/evm_meter.hpp"

namespace iqd::evm_meter {
namespace {

class EvmMeterStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    counted_ = context.in[0].axis == Axis::counted;
    context.out[0].hold_per_block(Element::f32, {{"level", std::ssize(kLevels), {kLevels.begin(), kLevels.end()}}});
    context.chunk_exempt = true;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "evm_meter cannot run on a GPU: remove its `backend`");
    return cpu_run([map = config_.modulation, counted = counted_](const StageIo& io) noexcept {
      const Levels levels(io.out[0].row<float>(), kLevels.size());
      *io.out[0].count = measure(map, io.new_values<cf32>(counted), levels) ? 1 : 0;
    });
  }

 private:
  bool counted_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("modulation", modulation, {.help = "modulation of the symbols"});
}

StageEntry entry() {
  return {.family = "measure",
          .name = "evm_meter",
          .summary = "measures the error vector magnitude of symbols",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .dims = "[symbol]", .one_channel = true}},
          .outputs = {{.name = "levels", .levels = true}},
          .make = make_stage<EvmMeterStage>,
          .sample = "evm_meter: {modulation: qpsk}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::evm_meter
