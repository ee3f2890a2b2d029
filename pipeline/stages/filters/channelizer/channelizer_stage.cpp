// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/channelizer/channelizer.hpp"

namespace iqd::channelizer {
namespace {

constexpr std::int64_t kMostTaps = 1 << 20;

class ChannelizerStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    const std::size_t before = context.section.problems().size();
    check(context.section);
    if (context.section.problems().size() > before) return;
    const std::int64_t decimation = config_.channels / config_.oversample;
    context.footprint[0] = {.past = std::ssize(prototype(config_)) - 1, .granule = decimation};
    PortShape& out = context.out[0];
    out.rate_hz = in.rate_hz / static_cast<double>(decimation);
    place(in, out);
    channelizer_ = std::make_shared<const Channelizer>(config_);
    context.scratch_bytes = channelizer_->scratch_bytes();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "channelizer"))
      return cuda(config_.channels, config_.channels / config_.oversample, prototype(config_), selected(config_));
    return cpu_run([channelizer = channelizer_](const StageIo& io) noexcept {
      channelizer->run(io.in[0].as<const cf32>().row(0), io.in[0].first, io.out[0].as<cf32>(), io.out[0].first,
                       io.scratch);
    });
  }

 private:
  /// Each channel has a frequency of its own, and a band as wide as the distance to the next.
  void place(const PortShape& in, PortShape& out) const {
    const double spacing = in.rate_hz / static_cast<double>(config_.channels);
    if (selected(config_).size() > 1) out.rows = {{"channel", std::ssize(selected(config_))}};
    if (!(spacing > 0)) return;
    std::vector<double> centres;
    for (const std::int64_t k : selected(config_))
      centres.push_back(spacing * static_cast<double>(2 * k > config_.channels ? k - config_.channels : k));
    out.span_hz = spacing;
    if (centres.size() == 1) return out.centre_on(centres[0]);
    out.rows[0].frequencies = in.at(std::move(centres));
  }
  void check(const Section& section) const {
    if (config_.oversample < 1 || config_.channels % config_.oversample != 0)
      section.problem("oversample",
                      fmt::format("{} does not divide the {} channels", config_.oversample, config_.channels));
    const auto last = std::ranges::max_element(config_.select);
    if (last != config_.select.end() && *last >= config_.channels)
      section.problem("select", fmt::format("there is no channel {}: of {} channels the last is {}", *last,
                                            config_.channels, config_.channels - 1));
    const std::int64_t taps =
        config_.taps.empty() ? config_.channels * config_.taps_per_channel : std::ssize(config_.taps);
    if (taps > kMostTaps) section.problem("", fmt::format("{} taps; the maximum is {}", taps, kMostTaps));
    const auto bad =
        std::find_if_not(config_.taps.begin(), config_.taps.end(), [](double h) { return std::isfinite(h); });
    if (bad != config_.taps.end())
      section.problem("taps", fmt::format("tap {} is not a finite number", bad - config_.taps.begin()));
  }

  std::shared_ptr<const Channelizer> channelizer_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("channels", channels,
          {.help = "K: the number of channels to split the band into", .low = 2, .high = 32768, .required = true});
  v.field("oversample", oversample,
          {.help = "each channel's rate as a multiple of the channel spacing; divides channels", .low = 1, .high = 64});
  v.field("taps", taps, {.help = "taps of each channel's low pass; instead of the next two keys"});
  v.field("taps_per_channel", taps_per_channel,
          {.help = "taps of the default low pass, divided by channels", .low = 1, .high = 4096});
  v.field("attenuation", attenuation_db,
          {.help = "stop-band attenuation of the default low pass", .unit = Unit::decibel, .low = 20, .high = 120});
  v.field("select", select, {.help = "channels in the order of the output; default: all", .low = 0});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "channelizer",
          .summary = "splits a band into adjacent channels",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .one_channel = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<ChannelizerStage>,
          .sample = "channelizer: {channels: 8}",
          .tolerance = 2e-6};
}

}  // namespace iqd::channelizer
