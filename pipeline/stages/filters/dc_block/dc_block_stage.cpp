// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/dc_block/dc_block.hpp"

namespace iqd::dc_block {
namespace {

template <class Sample> void run_block(std::int64_t length, const StageIo& io) noexcept {
  run_cpu<Sample>(length, io.in[0].as<const Sample>(), io.in[0].first, io.out[0].as<Sample>(), io.out[0].first,
                  io.scratch);
}

class DcBlockStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    element_ = in.element;
    most_new_ = context.most_new;
    context.footprint[0] = {.past = config_.length - 1, .future = config_.length - 1};
    context.scratch_bytes = scratch_bytes(config_.length);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "dc_block")) return cuda(config_.length, element_, most_new_);
    return cpu_run([length = config_.length, element = element_](const StageIo& io) noexcept {
      element == Element::cf32 ? run_block<cf32>(length, io) : run_block<float>(length, io);
    });
  }

 private:
  Element element_ = Element::cf32;
  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field(
      "length", length,
      {.help = "samples of the moving average; a signal more than 0.6 rate / length away from DC loses less than 3 dB",
       .low = 1,
       .high = 1 << 20});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "dc_block",
          .summary = "removes DC, with linear phase and without delay",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::f32}, .reread = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<DcBlockStage>,
          .sample = "dc_block: {length: 64}",
          .tolerance = 1e-6};
}

}  // namespace iqd::dc_block
