// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/squelch/squelch.hpp"

namespace iqd::squelch {
namespace {

class SquelchStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    most_new_ = context.most_new;
    context.footprint[0].past = gate().past();
    context.scratch_bytes = scratch_bytes(gate());
    context.out[kGate].element = Element::f32;
    context.out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "squelch")) return cuda(gate(), most_new_);
    return cpu_run([gate = gate()](const StageIo& io) noexcept {
      const PortIo &in = io.in[0], &out = io.out[kSamples], &tally = io.out[kTally];
      const Output output{out.as<cf32>(), io.out[kGate].as<float>(), out.first, io.first_new, io.end_new};
      *reinterpret_cast<std::int64_t*>(tally.data) = run_cpu(gate, in.as<const cf32>(), in.first, output, io.scratch);
      *tally.count = 1;
    });
  }

 private:
  Gate gate() const { return {std::pow(10, config_.threshold / 10), config_.window, config_.hold, config_.ramp}; }

  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("threshold", threshold,
          {.help = "mean power at which the gate opens; full scale, an amplitude of 1, is 0 dB",
           .unit = Unit::decibel,
           .low = -300,
           .high = 300,
           .live = true});
  v.field("window", window, {.help = "samples over which the power is averaged", .low = 1, .high = 1 << 20});
  v.field("hold", hold, {.help = "samples that the gate stays open after the power drops", .low = 0, .high = 1 << 20});
  v.field("ramp", ramp, {.help = "samples that opening and closing take; 1: at once", .low = 1, .high = 1 << 20});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "squelch",
          .summary = "mutes a signal while it is weak",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .reread = true}},
          .outputs = {{.name = "out"}, {.name = "gate", .can_omit = true}, {.name = "events", .tally = kEvents}},
          .make = make_stage<SquelchStage>,
          .sample = "squelch: {threshold: 1.5, window: 64, hold: 20, ramp: 8}",
          .tolerance = 1e-6};
}

}  // namespace iqd::squelch
