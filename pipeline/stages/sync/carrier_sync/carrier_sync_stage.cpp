// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/sync/carrier_sync/carrier_sync.hpp"

namespace iqd::carrier_sync {
namespace {

class CarrierSyncStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    if (!check(context.section)) return;
    const Synchronizer synchronizer(config_);
    const Search& search = synchronizer.search();
    most_new_ = context.most_new;
    context.footprint[0] = {.past = search.reach(), .future = search.reach()};
    context.carry_bytes = sizeof(std::int64_t);
    context.scratch_bytes = synchronizer.scratch_bytes();
    PortShape& estimates = context.out[kEstimates];
    estimates.hold(Element::f32, {{"value", std::ssize(kValues), {kValues.begin(), kValues.end()}}});
    estimates.count_items("window", search.most_windows(most_new_));
    estimates.rate_hz = context.in[0].rate_hz / static_cast<double>(search.hop);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const Synchronizer synchronizer(config_);
    if (auto* cuda = device_half<CudaHalf>(backend, "carrier_sync")) return cuda(synchronizer, most_new_);
    return cpu_run([synchronizer](const StageIo& io) noexcept {
      const PortIo &in = io.in[0], &out = io.out[kSamples], &estimates = io.out[kEstimates];
      std::int64_t& turns = *reinterpret_cast<std::int64_t*>(io.carry);
      if (io.fresh) turns = 0;
      const Input input{in.row<const cf32>(), in.first, in.end()};
      const Output output{out.row<cf32>(), out.first, out.end(), io.end_new, estimates.row<float>()};
      *estimates.count = static_cast<std::int32_t>(synchronizer.run(input, output, turns, io.scratch));
    });
  }

 private:
  bool check(const Section& section) const {
    const int m = symmetry(config_.modulation);
    if (config_.max_offset * 2 * m > 1)
      section.problem(
          "max_offset",
          fmt::format("has to be at most {} of the symbol rate, 1 / (2 M): beyond that offsets are ambiguous",
                      0.5 / m));
    else if (config_.samples_per_symbol > 1 && config_.samples_per_symbol < 3)
      section.problem("samples_per_symbol", "has to be 1, or 3 or more");
    else if (Search(config_.modulation, config_.samples_per_symbol, config_.window, config_.max_offset).bins() >
             Search::kMostBins)
      section.problem("max_offset", fmt::format("takes too long to search with a `window` of {} symbols: reduce one of "
                                                "them, so that M · window · max_offset is at most {}",
                                                config_.window, Search::kMostBins / 4));
    else
      return true;
    return false;
  }

  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("modulation", modulation, {.help = "modulation of the symbols; 16qam needs a longer window"});
  v.field("samples_per_symbol", samples_per_symbol,
          {.help = "1 for symbols, or 3 or more; it need not be a whole number", .low = 1, .high = 1024});
  v.field("window", window, {.help = "symbols to measure frequency and phase over", .low = 16, .high = 1 << 16});
  v.field("max_offset", max_offset,
          {.help = "the largest frequency offset to search, as a share of the symbol rate; 0: phase only",
           .low = 0,
           .high = 0.25});
}

StageEntry entry() {
  return {.family = "sync",
          .name = "carrier_sync",
          .summary = "removes frequency offset and phase from PSK and QAM, without a loop",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .one_channel = true, .reread = true}},
          .outputs = {{.name = "out"}, {.name = "estimates", .can_omit = true}},
          .make = make_stage<CarrierSyncStage>,
          .sample = "carrier_sync: {modulation: qpsk, samples_per_symbol: 4}",
          .tolerance = 1e-4};
}

}  // namespace iqd::carrier_sync
