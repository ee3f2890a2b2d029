// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/integer.hpp"
#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"

namespace iqd::ofdm_sync {
namespace {

constexpr double kMostCarriers = 32;  // of offset

template <class Sample> void run_block(const Search& search, const Grid& grid, const StageIo& io) noexcept {
  const PortIo& in = io.in[0];
  const Positions seen = seen_of(grid, io);
  const std::int64_t first = in.first + seen.first;
  const View<const Sample, 2> all = in.as<const Sample>();
  Output out{.frames = io.out[kFrames].row<cf32>(),
             .start = io.out[kStart].row<std::int64_t>(),
             .offset_hz = io.out[kOffset].row<float>(),
             .metric = io.out[kMetric].row<float>(),
             .most = io.out[kFrames].length};
  search.run(View<const Sample, 2>(all.data() + seen.first, {in.rows, seen.length()}, all.stride(0)),
             {io.first_new - first, io.end_new - first}, ceil_div(first, grid.step) * grid.step - first, io.scratch,
             out);
  const auto found = static_cast<std::int32_t>(out.events[kFound]);
  for (std::int32_t i = 0; i < found; ++i) out.start[i] += first;
  for (const Port port : {kFrames, kStart, kOffset, kMetric}) *io.out[port].count = found;
  io.out[kTally].put_tally(out.events);
}

class OfdmSyncStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    in_ = context.in[0];
    if (!check(context)) return;
    const Pattern pattern = this->pattern();
    most_new_ = context.most_new;
    context.footprint[0] = {.past = pattern.grid.past(), .future = pattern.grid.future()};
    context.scratch_bytes = scratch_bytes(pattern, most_new_);

    const auto set = [&](Port port, Element element, std::vector<Dim> item) {
      context.out[port].hold(element, std::move(item));
      context.out[port].count_items("frame", pattern.grid.most_frames(most_new_));
      context.out[port].rows.clear();
    };
    set(kFrames, Element::cf32, {{"rx", in_.row_count()}, {"sample", pattern.grid.given()}});
    set(kStart, Element::i64, {});
    set(kOffset, Element::f32, {});
    set(kMetric, Element::f32, {});
    context.out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "ofdm_sync")) return cuda(pattern(), most_new_, in_.element);
    const auto search = std::make_shared<const Search>(pattern(), most_new_);
    return cpu_run([search, grid = pattern().grid, element = in_.element](const StageIo& io) noexcept {
      if (element == Element::sc16) return run_block<sc16>(*search, grid, io);
      run_block<cf32>(*search, grid, io);
    });
  }

 private:
  Pattern pattern() const { return Pattern(config_, in_.rate_hz, in_.row_count()); }

  bool check(const ShapeContext& context) const {
    const Section& section = context.section;
    if (!ofdm::check_format(config_.format, section)) return false;
    if (in_.axis != Axis::stream || !in_.item.empty() || in_.row_count() > kMostAntennas) {
      section.problem("", fmt::format("takes samples of 1 to {} antennas, [channel][n]; its input is {}", kMostAntennas,
                                      in_.text()));
      return false;
    }
    if (!(in_.rate_hz > 0)) {
      section.problem("", "needs the sample rate of its input, which is not known");
      return false;
    }
    const double most = std::min<double>(kMostCarriers, static_cast<double>(config_.format.fft) / 4) * in_.rate_hz /
                        static_cast<double>(config_.format.fft);
    if (!(config_.max_offset > most)) return true;
    section.problem("max_offset",
                    fmt::format("must be at most {} with fft: {} at {}; it is {}", quantity_text(most, Unit::hertz),
                                config_.format.fft, quantity_text(in_.rate_hz, Unit::rate),
                                quantity_text(*config_.max_offset, Unit::hertz)));
    return false;
  }

  PortShape in_;
  std::int64_t most_new_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("threshold", threshold,
          {.help = "least similarity of a frame's halves, and of its known symbols: SNR / (1 + SNR)",
           .low = 0,
           .high = 1,
           .live = true});
  v.field("max_offset", max_offset,
          {.help = "largest frequency offset, to both sides; none: four carriers",
           .unit = Unit::hertz,
           .low = 0,
           .live = true});
  v.field("reject_tones", reject_tones, {.help = "finds frames beside steady tones, up to 30 dB above a carrier"});
  ofdm::format_fields(v, format);
  ofdm::tail_field(v, format);
}

StageEntry entry() {
  return {.family = "ofdm",
          .name = "ofdm_sync",
          .summary = "finds OFDM frames in the signals of several antennas and cuts them out",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::sc16}, .reread = true}},
          .outputs = {{.name = "frames"},
                      {.name = "start", .fact = "start"},
                      {.name = "offset_hz", .fact = "offset_hz"},
                      {.name = "metric", .fact = "metric"},
                      {.name = "events", .tally = kEvents}},
          .make = make_stage<OfdmSyncStage>,
          .sample = "ofdm_sync: {}",
          .tolerance = 1e-5};
}

}  // namespace iqd::ofdm_sync
