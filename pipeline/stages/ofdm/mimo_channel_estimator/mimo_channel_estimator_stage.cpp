// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/modulations.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/track_design.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

enum Output : std::size_t { kY, kH, kNoise, kPhase, kLevel, kCovariance, kDoppler, kInterference };

class MimoChannelEstimatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const OfdmFormat& f = config_.format;
    if (!ofdm::check_format(f, context.section)) return;
    if (config_.delay_spread > f.prefix - f.early())
      return context.section.problem(
          "delay_spread", fmt::format("must be at most {} samples: later paths exceed the prefix and disturb the "
                                      "next symbol; it is {}",
                                      f.prefix - f.early(), config_.delay_spread));
    const PortShape& in = context.in[0];
    if (!ofdm::check_carriers(f, in, context.section)) return;
    const std::int64_t rx = in.item[2].extent;
    if (rx < 1 || rx > kMostAntennas)
      return context.section.problem("", fmt::format("takes 1 to {} receive antennas, not {}", kMostAntennas, rx));
    if (f.tail && config_.track != Track::frame)
      return context.section.problem(
          "tail", "is for `track: frame`: a channel that is held does not use the beginning of the next frame");
    if (config_.track == Track::frame && f.symbols() - 1 > kMostSymbols)
      return context.section.problem(
          "track",
          fmt::format("follows the channel in at most {} symbols of a frame, not {}", kMostSymbols + 1, f.symbols()));
    if (config_.track == Track::frame && delays_of(config_) > kMostDelays)
      return context.section.problem(
          "step", fmt::format("must be at least {}: {} delays are the most",
                              std::ceil(100.0 * static_cast<double>(f.prefix + 1) / kMostDelays) / 100, kMostDelays));
    const double rate_hz = in.rate_hz > 0 ? in.rate_hz : in.source_rate_hz;
    if (config_.track == Track::frame && !(rate_hz > 0))
      return context.section.problem("track", "needs the sample rate of its input, which is not known");
    const PortShape& soft = context.in[1];
    const std::int64_t symbols_sent = f.data_carriers() * f.data_symbols() * f.tx;
    const std::int64_t bits = soft.item.empty() ? 0 : soft.item_size() / symbols_sent;
    if (!soft.item.empty() && (soft.item_size() % symbols_sent != 0 || bits % 2 != 0 || bits < 2 || bits > 8))
      return context.section.problem(
          "", fmt::format("input 'soft' has to have 2, 4, 6 or 8 LLRs for each of the frame's {} symbols, "
                          "[carrier][symbol][tx][bit]; it is {}",
                          symbols_sent, soft.text()));
    const PortShape& modulation = context.in[2];
    const bool by_port = config_.modulation == std::vector<std::string>{"port"};
    if (by_port == modulation.item.empty() || (by_port && modulation.item_size() != f.tx))
      return context.section.problem(
          "modulation", by_port ? fmt::format("'port' needs the input 'modulation', [frame][tx {}]; it is {}", f.tx,
                                              modulation.item.empty() ? "not connected" : modulation.text())
                                : "the input 'modulation' is read with `modulation: port` only");
    std::optional<AntennaBits> sent;
    if (!config_.modulation.empty() && !by_port) {
      sent = ofdm::modulation_of(config_.modulation, f.tx, context.section);
      if (!sent) return;
      if (bits > 0 && sent->most() > bits)
        return context.section.problem(
            "modulation", fmt::format("has more bits than the {} LLRs of each symbol of the input 'soft'", bits));
    }
    if (bits > 0 && config_.track != Track::frame)
      return context.section.problem("track", "has to be `frame` if something is connected to the input 'soft'");
    design_ = make_design(config_, rx, static_cast<double>(f.symbol()) / rate_hz);
    design_.soft_bits = static_cast<std::int32_t>(bits);
    design_.by_port = by_port;
    design_.sent = sent ? Alphabets::of(*sent, design_.soft_bits) : dsp::alike(f.tx, design_.soft_bits);
    most_ = context.most_new;
    const bool moves = config_.track == Track::frame;
    for (PortShape& out : context.out) out.most = most_;
    context.out[kY].item = {{"carrier", f.data_carriers()}, {"symbol", f.data_symbols()}, {"rx", rx}};
    const Dim carrier{"carrier", f.data_carriers()}, symbol{"symbol", f.data_symbols()};
    context.out[kH].item = {carrier, {"rx", rx}, {"tx", f.tx}};
    context.out[kNoise].hold(Element::f32, {});
    if (moves) {
      context.out[kH].item = {carrier, symbol, {"rx", rx}, {"tx", f.tx}};
      context.out[kNoise].hold(Element::f32, {carrier, symbol});
    }
    context.out[kPhase].hold(Element::f32, {symbol});
    context.out[kCovariance].item = {{"group", design_.extents.groups()}, {"rx", rx}, {"other", rx}};
    for (const Output o : {kLevel, kDoppler, kInterference}) context.out[o].hold(Element::f32, {});
    // These stay empty.
    if (!moves) context.out[kDoppler].hold_per_block(Element::f32, {});
    if (config_.whiten == Whiten::off) context.out[kInterference].hold_per_block(Element::f32, {});
    context.scratch_bytes = scratch_bytes(design_);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "mimo_channel_estimator")) return cuda(design_, most_);
    return cpu_run([design = design_](const StageIo& io) noexcept {
      const std::int32_t frames = *io.in[0].count;
      const bool knows_data =
          design.soft_bits > 0 && *io.in[1].count == frames && (!design.by_port || *io.in[2].count == frames);
      run_cpu(design, io.in[0].row<const cf32>(),
              {.llr = knows_data ? io.in[1].row<const float>() : nullptr,
               .sent = design.by_port ? io.in[2].row<const std::uint8_t>() : nullptr},
              frames,
              {.y = io.out[kY].row<cf32>(),
               .h = io.out[kH].row<cf32>(),
               .noise = io.out[kNoise].row<float>(),
               .phase = io.out[kPhase].row<float>(),
               .level = io.out[kLevel].row<float>(),
               .covariance = io.out[kCovariance].row<cf32>(),
               .doppler = design.track == Track::frame ? io.out[kDoppler].row<float>() : nullptr,
               .interference = design.whiten == Whiten::off ? nullptr : io.out[kInterference].row<float>()},
              io.scratch);
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
      if (design.track == Track::hold) *io.out[kDoppler].count = 0;
      if (design.whiten == Whiten::off) *io.out[kInterference].count = 0;
    });
  }

 private:
  Design design_;
  std::int64_t most_ = 1;
};

}  // namespace

std::span<const std::string_view> enum_names(Track) {
  static constexpr std::string_view kNames[] = {"hold", "frame"};
  return kNames;
}
std::span<const std::string_view> enum_names(Whiten) {
  static constexpr std::string_view kNames[] = {"off", "band", "groups"};
  return kNames;
}

void Config::fields(FieldVisitor& v) {
  ofdm::format_fields(v, format);
  ofdm::tail_field(v, format);
  v.field("delay_spread", delay_spread,
          {.help = "delay of the last path behind the frame's timing, in samples; 0: as much as the prefix allows",
           .low = 0,
           .high = 8192});
  v.field("snr", snr,
          {.help = "SNR that the channel's smoothing is designed for", .unit = Unit::decibel, .low = 0, .high = 80});
  v.field("track_phase", track_phase, {.help = "remove the pilots' common phase from each data symbol"});
  v.field("track", track,
          {.help = "hold: the channel stands still during a frame; frame: it is estimated at all times"});
  v.field("doppler", doppler, {.help = "track: the fastest movement", .unit = Unit::hertz, .low = 0, .high = 100e3});
  v.field("time_functions", time_functions,
          {.help = "track: functions of time that describe the channel; 4 below 500 Hz, 6 from 900 Hz",
           .low = 1,
           .high = kMostFunctions});
  v.field("step", step, {.help = "track: distance of delays, in samples", .low = 0.5, .high = 64});
  v.field("span", span,
          {.help = "track: delays of less power, against the strongest, are left out",
           .unit = Unit::decibel,
           .low = 0,
           .high = 100});
  v.field("max_taps", max_taps, {.help = "track: most delays", .low = 1, .high = 256});
  v.field("em", em, {.help = "track: steps that learn the powers of delays and functions", .low = 0, .high = 16});
  v.field("whiten", whiten, {.help = "make the noise white: not at all, that of the band, or of groups of carriers"});
  v.field("group", group, {.help = "whiten: carriers of a group", .low = 1, .high = 8190});
  v.field(
      "modulation", modulation,
      {.help = "of all antennas or, as a list, of each, if the input `soft` has the LLRs of several; port: the input "
               "`modulation` has it frame by frame; empty: as many bits as LLRs"});
}

StageEntry entry() {
  return {.family = "ofdm",
          .name = "mimo_channel_estimator",
          .summary = "estimates channel and noise of OFDM frames and removes the pilots' common phase",
          .inputs = {{.name = "carriers",
                      .elements = {Element::cf32},
                      .dims = "[frame][symbol][carrier][rx]",
                      .example = {{"symbol", 14}, {"carrier", 300}, {"rx", 2}}},
                     {.name = "soft",
                      .elements = {Element::f32},
                      .dims = "[frame][carrier][symbol][tx][bit]",
                      .optional = true},
                     {.name = "modulation", .elements = {Element::u8}, .dims = "[frame][tx]", .optional = true}},
          .outputs = {{.name = "y"},
                      {.name = "h"},
                      {.name = "noise"},
                      {.name = "phase", .can_omit = true},
                      {.name = "level", .fact = "noise", .levels = true},
                      {.name = "covariance", .can_omit = true},
                      {.name = "doppler", .fact = "doppler", .levels = true},
                      {.name = "interference", .fact = "interference", .levels = true}},
          .make = make_stage<MimoChannelEstimatorStage>,
          .sample = "mimo_channel_estimator: {tx: 2}",
          .tolerance = 2e-6};
}

}  // namespace iqd::mimo_channel_estimator
