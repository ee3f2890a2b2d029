// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/costas_loop/costas_loop.hpp"

namespace iqd::costas_loop {
namespace {

enum Port : std::uint8_t { kOut, kFrequency };

/// Processes one row, starting from its carry. The output may extend beyond the new part; the carry is the state at the
/// new part's end.
void run_row(const Loop& loop, const StageIo& io, std::int64_t row, bool counted) noexcept {
  const PortIo &in = io.in[0], &out = io.out[kOut], &frequency = io.out[kFrequency];
  State& carried = reinterpret_cast<State*>(io.carry)[row];
  if (io.fresh) carried = {};
  const std::int64_t length = counted ? *in.count : out.length, fresh = counted ? length : io.end_new - out.first;
  const auto* const x = in.row<const cf32>(row) + (counted ? 0 : out.first - in.first);
  auto* const y = out.row<cf32>(row);
  auto* const f = frequency.row<float>(row);
  State state = carried;
  for (std::int64_t n = 0; n < length; ++n) {
    y[n] = loop.step(state, x[n]);
    if (f) f[n] = static_cast<float>(state.frequency);
    if (n + 1 == fresh) carried = state;
  }
}

class CostasLoopStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    if (config_.order != 2 && config_.order != 4 && config_.order != 8)
      return context.section.problem("order", "has to be 2, 4 or 8");
    counted_ = context.in[0].axis == Axis::counted;
    context.out[kFrequency].element = Element::f32;
    context.carry_bytes = sizeof(State) * static_cast<std::size_t>(context.in[0].row_count());
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "costas_loop cannot run on a GPU: remove its `backend`, or use carrier_sync");
    return cpu_run([loop = Loop(config_), counted = counted_](const StageIo& io) noexcept {
      for (std::int64_t row = 0; row < io.out[kOut].rows; ++row) run_row(loop, io, row, counted);
      if (!counted) return;
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
    });
  }

 private:
  bool counted_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("order", order, {.help = "points of the constellation: 2, 4 or 8", .low = 2, .high = 8});
  v.field("loop_bandwidth", loop_bandwidth,
          {.help = "one-sided noise bandwidth, share of the input's rate", .low = 1e-6, .high = 0.25, .live = true});
  v.field("damping", damping, {.help = "1: critical; less: faster, but rings", .low = 0.1, .high = 10, .live = true});
  v.field("max_offset", max_offset,
          {.help = "largest frequency, in cycles a sample", .low = 0, .high = 0.5, .live = true});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "costas_loop",
          .summary = "tracks the carrier of PSK with the classical loop",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .dims = "[symbol]"}},
          .outputs = {{.name = "out"}, {.name = "frequency", .can_omit = true}},
          .make = make_stage<CostasLoopStage>,
          .sample = "costas_loop: {order: 4}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::costas_loop
