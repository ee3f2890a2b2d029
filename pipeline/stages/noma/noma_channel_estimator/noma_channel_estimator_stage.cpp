// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/modulations.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "pipeline/stages/noma/noma_keys.hpp"

namespace iqd::noma_channel_estimator {
namespace {

class NomaChannelEstimatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const NomaFormat& format = config_.format;
    const Section& section = context.section;
    if (!noma::check_format(format, section)) return;
    const std::vector<SymbolMap> maps = dsp::maps_of(config_.modulation, format.users, section);
    const PortShape& in = context.in[0];
    if (maps.empty() || !noma::check_carriers(format, in, section)) return;
    const std::int64_t rx = in.item[2].extent;
    if (rx < 1 || rx > kMostAntennas)
      return section.problem("", fmt::format("takes 1 to {} receive antennas, not {}", kMostAntennas, rx));
    if (format.training > kMostTraining)
      return section.problem("training",
                             fmt::format("takes at most {} pilot symbols, not {}", kMostTraining, format.training));
    if (2 * format.users * delays_of(config_) > kMostUnknowns)
      return section.problem(
          "step", fmt::format("leaves {} users at {} delays, but {} of both together are the most: set a larger one",
                              format.users, delays_of(config_), kMostUnknowns / 2));
    const double rate_hz = in.rate_hz > 0 ? in.rate_hz : in.source_rate_hz;
    if (!(rate_hz > 0)) return section.problem("", "needs the sample rate of its input, which is not known");
    design_ = make_design(config_, maps, rx, static_cast<double>(format.air.symbol()) / rate_hz);
    if (!context.in[1].item.empty() && !set_soft(context.in[1], section)) return;
    most_ = context.most_new;
    context.scratch_bytes = scratch_bytes(design_);
    const auto& out = context.out;
    for (PortShape& port : out) port.most = context.most_new;
    const Dim user{"user", format.users}, t{"t", format.data}, bit{"bit", design_.extents.bits};
    out[kSymbols].hold(Element::cf32, {user, t});
    out[kLlr].hold(Element::f32, {user, t, bit});
    out[kBits].hold(Element::u8, {user, t, bit});
    out[kModel].hold(Element::f32, {user, {"value", std::ssize(kModelValues)}});
    out[kH].hold(Element::cf32, {{"carrier", format.air.carriers}, {"rx", rx}, user});
    out[kModulation].hold(Element::u8, {user});
    out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "noma_channel_estimator")) return cuda(design_, most_);
    return cpu_run([design = design_](const StageIo& io) noexcept {
      const std::int32_t frames = *io.in[0].count;
      auto* const events = io.out[kTally].row<std::int64_t>();
      events[kFrames] = frames;
      const float* const soft = design.extents.words > 0 ? io.in[1].row<const float>() : nullptr;
      events[kErased] = run_cpu(design, io.in[0].row<const cf32>(), soft, frames, outputs_of(io), io.scratch);
      for (const PortIo& out : io.out) *out.count = frames;
      *io.out[kTally].count = 1;
    });
  }

 private:
  /// For words from a decoder; false if it reported a problem.
  bool set_soft(const PortShape& soft, const Section& section) {
    const std::int64_t n = soft.item.back().extent;
    set_words(design_, config_.format, n);
    for (std::size_t u = 0; u < design_.soft.size(); ++u)
      if (design_.soft[u].words == 0) {
        section.problem("soft", fmt::format("a word has {} bits, more than user {} has in a frame", n, u));
        return false;
      }
    if (soft.item.size() == 2 && soft.item[0].extent == design_.extents.words) return true;
    section.problem("soft",
                    fmt::format("input 'soft' has to be [frame][word {}][n]; it is {}: set the same modulations "
                                "for the decoder and this stage",
                                design_.extents.words, soft.text()));
    return false;
  }

  Design design_;
  std::int64_t most_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("modulation", modulation, {.help = "of all users or, as a list, of each: bpsk, qpsk, 16qam, 64qam, 256qam"});
  v.field("step", step,
          {.help = "distance of the delays that make up a channel, in samples", .low = 0.25, .high = 1024});
  v.field("rounds", rounds,
          {.help = "how often the users' offsets are estimated, each time better", .low = 0, .high = 8});
  v.field("em", em, {.help = "steps that learn the powers of users and delays", .low = 0, .high = 16});
  noma::format_fields(v, format);
  v.field(
      "early", format.air.window,
      {.help = "that of ofdm_demod, for the delays in `model`; -1: an eighth of the prefix", .low = -1, .high = 4096});
}

StageEntry entry() {
  return {
      .family = "noma",
      .name = "noma_channel_estimator",
      .summary = "separates NOMA users of different delays, offsets and modulations by filters of each carrier",
      .inputs = {{.name = "carriers",
                  .elements = {Element::cf32},
                  .dims = "[frame][symbol][carrier][rx]",
                  .example = {{"symbol", 7}, {"carrier", 24}, {"rx", 2}}},
                 {.name = "soft",
                  .elements = {Element::f32},
                  .dims = "[frame][word][n]",
                  .optional = true,
                  .example = {{"word", 6}, {"n", 40}}}},
      .outputs = {{.name = "symbols", .can_omit = true},
                  {.name = "llr", .can_omit = true},
                  {.name = "bits", .can_omit = true},
                  {.name = "model", .can_omit = true},
                  {.name = "h", .can_omit = true},
                  {.name = "modulation", .can_omit = true},
                  {.name = "events", .tally = kEvents}},
      .make = make_stage<NomaChannelEstimatorStage>,
      .sample =
          "noma_channel_estimator: {fft: 64, carriers: 24, prefix: 9, frame: 512, users: 2, training: 2, pilots: 40, "
          "data: 60}",
      .tolerance = 1e-3};
}

}  // namespace iqd::noma_channel_estimator
