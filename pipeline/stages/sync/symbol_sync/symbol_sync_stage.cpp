// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/symbol_sync/symbol_sync.hpp"

namespace iqd::symbol_sync {
namespace {

class SymbolSyncStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const Timing timing(config_.samples_per_symbol, config_.window);
    most_new_ = context.most_new;
    context.footprint[0] = {.past = timing.reach(), .future = timing.reach()};
    context.scratch_bytes = Synchronizer(config_).scratch_bytes(most_new_);
    PortShape& symbols = context.out[kSymbols];
    symbols.count_items("symbol", timing.most_symbols(most_new_));
    symbols.rate_hz = context.in[0].rate_hz / config_.samples_per_symbol;
    PortShape& estimates = context.out[kEstimates];
    estimates.hold(Element::f32, {{"value", std::ssize(kValues), {kValues.begin(), kValues.end()}}});
    estimates.count_items("window", timing.most_windows(most_new_));
    estimates.rate_hz = context.in[0].rate_hz / static_cast<double>(timing.hop);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const Synchronizer synchronizer(config_);
    if (auto* cuda = device_half<CudaHalf>(backend, "symbol_sync")) return cuda(synchronizer, most_new_);
    return cpu_run([synchronizer](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const Input input{in.row<const cf32>(), in.first, in.end(), io.first_new, io.end_new};
      const Output output{io.out[kSymbols].row<cf32>(), io.out[kEstimates].row<float>()};
      const Count count = synchronizer.run(input, output, io.scratch);
      *io.out[kSymbols].count = static_cast<std::int32_t>(count.symbols);
      *io.out[kEstimates].count = static_cast<std::int32_t>(count.windows);
    });
  }

 private:
  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("samples_per_symbol", samples_per_symbol,
          {.help = "at the nominal rates of transmitter and receiver; any number, like 3.7", .low = 3, .high = 1024});
  v.field("window", window, {.help = "symbols over which the timing is measured", .low = 16, .high = 1 << 16});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "symbol_sync",
          .summary = "finds the timing of symbols by their line at the symbol rate, and samples them",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .one_channel = true, .reread = true}},
          .outputs = {{.name = "out"}, {.name = "estimates", .can_omit = true}},
          .make = make_stage<SymbolSyncStage>,
          .sample = "symbol_sync: {samples_per_symbol: 4}",
          .tolerance = 1e-5};
}

}  // namespace iqd::symbol_sync
