// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer_cpu.hpp"
#include "pipeline/stages/telemetry/packet_keys.hpp"
#include "signal/formats/soqpsk.hpp"

namespace iqd::equalizer {
namespace {

std::vector<float> floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// The tables at the bins of a transform whose size is set.
void fill(Bins& bins, std::int64_t samples_per_bit) {
  bins.detection = floats(soqpsk::detection_response(bins.size, samples_per_bit));
  bins.psi = floats(soqpsk::power_spectrum(bins.size, samples_per_bit));
}

/// The kinds by their names; reports what is wrong with them to the section.
std::vector<Setup::Output> read_kinds(const Config& config, const Section& section) {
  const auto names = enum_names(Kind{});
  std::vector<Setup::Output> outputs;
  for (const std::string& name : config.kinds) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      section.problem("kinds",
                      fmt::format("'{}' is not one of {}{}", name, fmt::join(names, ", "), did_you_mean(name, names)));
      return outputs;
    }
    const auto kind = static_cast<Kind>(found - names.begin());
    const bool twice = std::any_of(outputs.begin(), outputs.end(), [kind](const auto& o) { return o.kind == kind; });
    if (twice) {
      section.problem("kinds", fmt::format("'{}' is listed twice; list each kind once", name));
      return outputs;
    }
    outputs.push_back({kind, true});
  }
  if (config.kinds.empty()) section.problem("kinds", fmt::format("list one or more of {}", fmt::join(names, ", ")));
  return outputs;
}

void read_filters(const Config& config, const Section& section, std::vector<Setup::Output>& outputs) {
  const std::vector<std::string>& words = config.detection_filter;
  if (words.size() != 1 && words.size() != config.kinds.size())
    return section.problem("detection_filter",
                           fmt::format("has {} words for {} kinds; give one for all, or one for each in the order of "
                                       "`kinds`",
                                       words.size(), config.kinds.size()));
  for (const std::string& word : words)
    if (word != "on" && word != "off" && word != "true" && word != "false")
      return section.problem("detection_filter", fmt::format("'{}' is not on or off", word));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& word = words[words.size() == 1 ? 0 : std::min(i, words.size() - 1)];
    outputs[i].filtered = word == "on" || word == "true";
  }
}

class EqualizerStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    setup_.outputs = read_kinds(config_, context.section);
    read_filters(config_, context.section, setup_.outputs);
    setup_.format = config_.format;
    if (!telemetry::check_packets(setup_.format, context.section)) return;
    telemetry::check_items(context.in[0], "windows", setup_.format.window(), context.section);
    telemetry::check_items(context.in[1], "channel", kChannelTaps, context.section);
    telemetry::check_items(context.in[2], "noise", 1, context.section);
    setup_.cma_step = static_cast<float>(config_.cma_step);
    setup_.cma_iterations = config_.cma_iterations;
    setup_.zf_load = static_cast<float>(config_.zf_load);
    setup_.most = context.in[0].most;
    set_tracking(context);
    setup_.window.size = transform_size(setup_.format);
    shape_outputs(context.out[0], context.out[1]);
    context.scratch_bytes = Equalizer::scratch_bytes(setup_);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    Setup setup = setup_;
    fill(setup.window, setup.format.samples_per_bit);
    if (setup.track == Track::on) fill(setup.segment, setup.format.samples_per_bit);
    if (setup.track != Track::off) setup.modulator.emplace(setup.format.samples_per_bit);
    if (auto* cuda = device_half<CudaHalf>(backend, "equalizer")) return cuda(setup);
    return cpu_run([equalizer = Equalizer(std::move(setup))](const StageIo& io) noexcept { run_cpu(equalizer, io); });
  }

 private:
  void set_tracking(const ShapeContext& context) {
    setup_.track = config_.track;
    if (setup_.track == Track::off) return;
    if (setup_.format.payload_bits < kLeastPayload)
      context.section.problem("track", fmt::format("needs a payload of {} bits; `payload_bits` is {}", kLeastPayload,
                                                   setup_.format.payload_bits));
    if (setup_.track == Track::on && setup_.count_linear() > 0)
      context.section.problem("track",
                              "'on' equalizes by segments, which only fde1 and fde2 do; list no other `kinds`");
    setup_.segment.size = segment_size(setup_.format);
    setup_.gains = telemetry::gains_of(telemetry::usual_bandwidth(context.in[0]), 2);
    setup_.pilot.clear();
    for (const std::uint8_t bit : setup_.format.pilot()) setup_.pilot.push_back(bit != 0 ? 1.0f : -1.0f);
  }

  void shape_outputs(PortShape& symbols, PortShape& taps) const {
    Dim kinds{"kind", std::ssize(setup_.outputs), {}};
    Dim linear_kinds{"kind", setup_.count_linear(), {}};
    for (const Setup::Output& o : setup_.outputs) {
      const std::string name(enum_names(o.kind)[static_cast<std::size_t>(o.kind)]);
      kinds.labels.push_back(name);
      if (linear(o.kind)) linear_kinds.labels.push_back(name);
    }
    symbols.item = {kinds, {"symbol", setup_.format.bits()}};
    taps.item = {linear_kinds, {"tap", kTaps}};
  }

  static void run_cpu(const Equalizer& equalizer, const StageIo& io) noexcept {
    const auto item = [](const PortIo& port, std::int64_t p) {
      return reinterpret_cast<cf32*>(port.data) + p * port.item;
    };
    const auto* const noise = reinterpret_cast<const float*>(io.in[2].data);
    const std::int32_t count = std::min({*io.in[0].count, *io.in[1].count, *io.in[2].count});
    for (std::int64_t p = 0; p < count; ++p)
      equalizer.run({.window = item(io.in[0], p),
                     .channel = item(io.in[1], p),
                     .noise = noise[p],
                     .symbols = item(io.out[0], p),
                     .taps = io.out[1].data ? item(io.out[1], p) : nullptr},
                    io.scratch);
    *io.out[0].count = *io.out[1].count = count;
  }

  Setup setup_;  // without the tables, which `make` computes
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("kinds", kinds,
          {.help = "the equalizers, in the order of the output: zf, mmse, cma, fde1, fde2", .required = true});
  v.group("cma", cma_given, {.help = "the constant modulus algorithm", .live = true}, [this](FieldVisitor& inner) {
    inner.field("step", cma_step, {.help = "step size of an iteration", .low = 0, .high = 1, .live = true});
    inner.field("iterations", cma_iterations, {.help = "0 gives mmse", .low = 0, .high = 1000, .live = true});
  });
  v.field("zf_load", zf_load,
          {.help = "diagonal loading of zf, times the channel's energy", .low = 0, .high = 1, .live = true});
  v.field("detection_filter", detection_filter,
          {.help = "on or off for all kinds, or a list with one for each", .live = true});
  v.field("track", track,
          {.help = "decide a packet's bits, estimate the channel from them, and equalize once more: refine takes one "
                   "channel for a packet, on one for each 192 bits, of fde1 and fde2"});
  telemetry::packet_fields(v, format);
}

StageEntry entry() {
  return {
      .family = "telemetry",
      .name = "equalizer",
      .summary = "equalizes each packet's channel in up to five ways and applies the detection filter",
      .inputs =
          {{.name = "windows", .elements = {Element::cf32}, .dims = "[packet][sample]", .example = {{"sample", 13184}}},
           {.name = "channel", .elements = {Element::cf32}, .dims = "[packet][tap]", .example = {{"tap", 38}}},
           {.name = "noise", .elements = {Element::f32}, .dims = "[packet]", .variance = true}},
      .outputs = {{.name = "symbols"}, {.name = "taps", .can_omit = true}},
      .make = make_stage<EqualizerStage>,
      .sample = "equalizer: {kinds: [mmse, fde1]}",
      .tolerance = 1e-3};
}

}  // namespace iqd::equalizer
