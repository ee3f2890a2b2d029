// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/clock_recovery/clock_recovery.hpp"

namespace iqd::clock_recovery {
namespace {

enum Port : std::uint8_t { kSymbols, kClock };

void run_block(const Loop& loop, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  State& state = *reinterpret_cast<State*>(io.carry);
  if (io.fresh) {
    state = {};
    state.whole = io.first_new;
  }
  const Input input{in.row<const cf32>(), in.first, in.end()};
  auto* const symbols = io.out[kSymbols].row<cf32>();
  auto* const clock = io.out[kClock].row<float>();
  std::int32_t count = 0;
  while (state.whole < io.end_new) {
    symbols[count] = loop.step(state, input);
    if (clock) clock[count] = static_cast<float>(state.rate);
    ++count;
  }
  *io.out[kSymbols].count = *io.out[kClock].count = count;
}

class ClockRecoveryStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const Loop loop(config_);
    context.footprint[0] = {.past = loop.past(), .future = Loop::kFuture};
    context.carry_bytes = sizeof(State);
    for (PortShape& out : context.out) {
      out.count_items("symbol", loop.most_symbols(context.most_new));
      out.rate_hz = context.in[0].rate_hz / config_.samples_per_symbol;
    }
    context.out[kClock].element = Element::f32;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "clock_recovery cannot run on a GPU: remove its `backend`, or use symbol_sync");
    return cpu_run([loop = Loop(config_)](const StageIo& io) noexcept { run_block(loop, io); });
  }
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("samples_per_symbol", samples_per_symbol,
          {.help = "at the nominal rates of transmitter and receiver; any number", .low = 2, .high = 1024});
  v.field("method", method,
          {.help = "detector: gardner ignores the carrier's phase; mueller_muller decides, as QPSK or BPSK"});
  v.field("loop_bandwidth", loop_bandwidth,
          {.help = "one-sided noise bandwidth, share of the symbol rate", .low = 1e-6, .high = 0.25, .live = true});
  v.field("damping", damping, {.help = "1: critical; less: faster, but rings", .low = 0.1, .high = 10, .live = true});
  v.field("max_deviation", max_deviation,
          {.help = "largest deviation from the nominal rate, as a share", .low = 0, .high = 0.25, .live = true});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "clock_recovery",
          .summary = "tracks the symbol clock with a classical loop, Gardner's or Mueller and Muller's",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .one_channel = true}},
          .outputs = {{.name = "out"}, {.name = "clock", .can_omit = true}},
          .make = make_stage<ClockRecoveryStage>,
          .sample = "clock_recovery: {samples_per_symbol: 4}",
          .host_only = true,
          .tolerance = 0};
}

}  // namespace iqd::clock_recovery
