// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"
#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"

namespace iqd::preamble_search {
namespace {

template <class Sample> void run_block(const Pattern& pattern, std::int64_t most_new, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  const PortIo& correlation = io.out[kCorrelation];
  Output out{.windows = View<cf32, 2>(io.out[kWindows].row<cf32>(), {io.out[kWindows].length, pattern.window()}),
             .start = io.out[kStart].row<std::int64_t>(),
             .metric = io.out[kMetric].row<float>(),
             .correlation = correlation.row<float>(),
             .correlated = {correlation.first - in.first, correlation.end() - in.first},
             .flywheel = io.out[kPut].row<std::uint8_t>(),
             .lock = io.out[kLock].row<float>()};
  const Positions fresh{io.first_new - in.first, io.end_new - in.first};
  Track own;
  Track& track = io.carry ? *reinterpret_cast<Track*>(io.carry) : own;
  if (io.fresh) track = {};
  run_cpu(pattern, in.as<const Sample>().row(0), fresh, in.first, track, io.scratch, most_new, out);
  const auto found = static_cast<std::int32_t>(out.events[kFound]);
  for (std::int32_t i = 0; i < found; ++i) out.start[i] += in.first;
  for (const Port port : {kWindows, kStart, kMetric}) *io.out[port].count = found;
  for (const Port port : {kPut, kLock}) *io.out[port].count = pattern.flywheel ? found : 0;
  io.out[kTally].put_tally(out.events);
}

class PreambleSearchStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    if (!telemetry::check_packets(config_.format, context.section)) return;
    const Pattern pattern(config_);
    element_ = context.in[0].element;
    most_new_ = context.most_new;
    context.footprint[0] = {.past = pattern.past(), .future = pattern.future()};
    context.scratch_bytes = scratch_bytes(pattern, most_new_);
    context.chunk_exempt = true;
    context.carry_bytes = pattern.keeps_track() ? sizeof(Track) : 0;

    context.out[kWindows].hold(Element::cf32, {{"window", pattern.window()}});
    context.out[kStart].hold(Element::i64, {});
    context.out[kMetric].hold(Element::f32, {});
    context.out[kPut].hold(Element::u8, {});
    context.out[kLock].hold(Element::f32, {});
    // rate_hz stays that of the samples: an offset in hertz is computed from it.
    for (const Port port : {kWindows, kStart, kMetric, kPut, kLock})
      context.out[port].count_items("packet", pattern.most_packets(most_new_));
    if (!pattern.flywheel) {  // these stay empty
      context.out[kPut].hold_per_block(Element::u8, {});
      context.out[kLock].hold_per_block(Element::f32, {});
    }
    context.out[kCorrelation].hold(Element::f32, {});
    context.out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    Pattern pattern(config_);
    if (auto* cuda = device_half<CudaHalf>(backend, "preamble_search")) return cuda(pattern, most_new_, element_);
    return cpu_run([pattern, most_new = most_new_, element = element_](const StageIo& io) noexcept {
      if (element == Element::sc16) return run_block<sc16>(pattern, most_new, io);
      run_block<cf32>(pattern, most_new, io);
    });
  }

 private:
  Element element_ = Element::cf32;
  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("threshold", threshold,
          {.help = "least T of a peak: the preamble's share of the energy", .low = 0, .high = 1, .live = true});
  v.field("chain", chain,
          {.help = "starts are chosen together: among those of the block and around it, or also after the last one of "
                   "the block before"});
  v.field("flywheel", flywheel,
          {.help = "put up to three missing starts in a row where they are due, after three found in a row"});
  v.field("template", form,
          {.help = "correlate with the exact waveform, or with its phases rounded to multiples of 45°"});
  telemetry::packet_fields(v, format);
}

StageEntry entry() {
  return {.family = "telemetry",
          .name = "preamble_search",
          .summary = "finds packets by their preamble and sync word and cuts them out",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::sc16}, .one_channel = true}},
          .outputs = {{.name = "windows"},
                      {.name = "start", .fact = "start"},
                      {.name = "metric", .fact = "metric"},
                      {.name = "correlation", .can_omit = true},
                      {.name = "events", .tally = kEvents},
                      {.name = "flywheel", .fact = "flywheel"},
                      {.name = "lock", .fact = "lock", .levels = true}},
          .make = make_stage<PreambleSearchStage>,
          .sample = "preamble_search: {}",
          .tolerance = 0};
}

}  // namespace iqd::preamble_search
