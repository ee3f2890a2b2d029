// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/align_channels/align_channels.hpp"

namespace iqd::align_channels {
namespace {

constexpr double kLongestDelay = 100'000;

/// Processes a block of a row: corrects samples or passes them on.
void run_row(const Correction& correction, const StageIo& io, std::int64_t row, bool follows) noexcept {
  static const Correction kNone(0, 0, 0);
  const PortIo& in = io.in[0];
  const PortIo& out = io.out[0];
  const std::span<const cf32> x(&in.as<const cf32>()(row, 0), static_cast<std::size_t>(in.length));
  const std::span<cf32> y(&out.as<cf32>()(row, 0), static_cast<std::size_t>(out.length));
  const Calibrated calibrated = calibrated_in(follows ? io.block : nullptr, out.first, out.length);
  const auto split = static_cast<std::size_t>(calibrated.split);
  const auto put = [&](bool corrects, std::int64_t first, std::span<cf32> to) {
    if (!to.empty()) run_cpu(corrects ? correction : kNone, x, in.first, first, to, io.scratch);
  };
  put(calibrated.before, out.first, y.first(split));
  put(calibrated.after, out.first + calibrated.split, y.subspan(split));
}

class AlignChannelsStage final : public ConfiguredStage<Config> {
 public:
  using ConfiguredStage::ConfiguredStage;

  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (in.axis != Axis::stream || !in.item.empty())
      return context.section.problem("", fmt::format("the input has to be samples, [n]; it is {}", in.text()));
    channels_ = in.row_count();
    check("gain", config_.gain_db, 200, context.section);
    check("phase", config_.phase_deg, 1e6, context.section);
    check("delay", config_.delay, kLongestDelay, context.section);
    if (!context.section.problems().empty()) return;
    for (const Correction& c : corrections()) {
      context.footprint[0].past = std::max(context.footprint[0].past, c.past());
      context.footprint[0].future = std::max(context.footprint[0].future, c.future());
    }
    context.scratch_bytes = scratch_bytes();
    if (config_.while_calibrated) context.out[0].marks.emplace_back(kCalibratedMark);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "align_channels"))
      return cuda(corrections(), config_.while_calibrated);
    return cpu_run([all = corrections(), follows = config_.while_calibrated](const StageIo& io) noexcept {
      for (std::size_t c = 0; c < all.size(); ++c) run_row(all[c], io, static_cast<std::int64_t>(c), follows);
    });
  }

 private:
  void check(std::string_view key, const std::vector<double>& values, double most, const Section& section) const {
    if (values.size() > 1 && std::ssize(values) != channels_)
      section.problem(key, fmt::format("has {} value(s) for {} channel(s): give one for each, or one for all",
                                       values.size(), channels_));
    const auto bad = std::ranges::find_if(values, [most](double v) { return !(std::fabs(v) <= most); });
    if (bad != values.end()) section.problem(key, fmt::format("{} is not from {} to {}", *bad, -most, most));
  }
  std::vector<Correction> corrections() const {
    const auto of = [](const std::vector<double>& values, std::size_t c) {
      return values.empty() ? 0 : values[values.size() > 1 ? c : 0];
    };
    std::vector<Correction> all;
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c)
      all.emplace_back(of(config_.gain_db, c), of(config_.phase_deg, c), of(config_.delay, c));
    return all;
  }

  std::int64_t channels_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("gain", gain_db, {.help = "by how much each channel is too strong", .unit = Unit::decibel, .live = true});
  v.field("phase", phase_deg, {.help = "by how many degrees each channel is rotated", .live = true});
  v.field("delay", delay, {.help = "by how many samples each channel is late; may be fractional"});
  v.field("while_calibrated", while_calibrated,
          {.help = "correct only while the source's `calibration` holds: after a retune pass samples on unchanged"});
}

StageEntry entry() {
  return {.family = "filters",
          .name = "align_channels",
          .summary = "corrects channels in gain, phase and delay",
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<AlignChannelsStage>,
          .sample = "align_channels: {gain: [1 dB], phase: [90], delay: [0.5]}",
          .tolerance = 2e-6,
          .make_aligner = [](ChannelErrors errors) -> std::unique_ptr<Stage> {
            return std::make_unique<AlignChannelsStage>(
                Config{std::move(errors.gains_db), std::move(errors.phases_deg), std::move(errors.delays), true});
          }};
}

}  // namespace iqd::align_channels
