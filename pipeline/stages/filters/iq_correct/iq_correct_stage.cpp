// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/iq_correct/iq_correct.hpp"

namespace iqd::iq_correct {
namespace {

enum Port : std::uint8_t { kSamples, kTheLevels };

void run_row(const Averaging& averaging, const StageIo& io, std::int64_t row) noexcept {
  const PortIo &in = io.in[0], &out = io.out[kSamples];
  const Row x{in.row<const float>(row), in.first};
  float* const levels = io.out[kTheLevels].row<float>(row);
  if (averaging.by_block)
    return write_levels(run_block_cpu(x, out.row<cf32>(row), out.first, out.end(), io.first_new, io.end_new), levels);
  State& state = reinterpret_cast<State*>(io.carry)[row];
  if (io.fresh) state = {};
  run_cpu(averaging, x, out.row<cf32>(row), out.first, out.end(), io.end_new, state);
  write_levels(state.past.now, levels);
}

class IqCorrectStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    rows_ = in.row_count();
    most_new_ = context.most_new;
    context.out[kTheLevels].hold_per_block(Element::f32,
                                           {{"level", std::ssize(kLevels), {kLevels.begin(), kLevels.end()}}});
    if (config_.period == 0) {
      averaging_ = {.keeps = 1, .by_block = true};
      context.chunk_exempt = true;
      return;
    }
    if (!(in.rate_hz > 0))
      return context.section.problem("period", "needs the sample rate of the input, which is not known");
    averaging_.keeps = std::exp(-static_cast<double>(kChunk) / (config_.period * in.rate_hz));
    context.carry_bytes = static_cast<std::size_t>(rows_) * sizeof(State);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "iq_correct")) return cuda(averaging_, rows_, most_new_);
    return cpu_run([averaging = averaging_](const StageIo& io) noexcept {
      for (std::int64_t row = 0; row < io.out[kSamples].rows; ++row) run_row(averaging, io, row);
      *io.out[kTheLevels].count = 1;
    });
  }

 private:
  Averaging averaging_;
  std::int64_t rows_ = 1;
  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("period", period,
          {.help = "time over which DC and image are averaged; 0: over each block",
           .unit = Unit::seconds,
           .low = 0,
           .high = 3600,
           .live = true});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "iq_correct",
          .summary = "removes DC and the image of a receiver whose I and Q differ in gain and phase",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}, {.name = "levels", .levels = true}},
          .make = make_stage<IqCorrectStage>,
          .sample = "iq_correct: {}",
          .tolerance = 1e-6};
}

}  // namespace iqd::iq_correct
