// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/evm_meter/evm_meter.hpp"

namespace iqd::evm_meter {
namespace {

class EvmMeterStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    counted_ = context.in[0].axis == Axis::counted;
    PortShape& out = context.out[0];
    out.element = Element::f32;
    out.axis = Axis::block;
    out.most = 1;
    out.rate_hz = 0;
    out.item = {{"level", std::ssize(kLevels), {kLevels.begin(), kLevels.end()}}};
    context.chunk_exempt = true;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (backend.kind() != BackendKind::cpu)
      throw SetupError("evm_meter cannot run on a GPU: remove its `backend`");
    return cpu_run([map = config_.modulation, counted = counted_](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const auto* const x = reinterpret_cast<const cf32*>(in.data);
      const std::int64_t begin = counted ? 0 : io.first_new - in.first;
      const std::int64_t end = counted ? *in.count : io.end_new - in.first;
      const Levels levels(reinterpret_cast<float*>(io.out[0].data), kLevels.size());
      *io.out[0].count = measure(map, {x + begin, static_cast<std::size_t>(end - begin)}, levels) ? 1 : 0;
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
