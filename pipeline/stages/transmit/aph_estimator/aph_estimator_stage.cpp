// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/aph_estimator/aph_estimator.hpp"

namespace iqd::aph_estimator {
namespace {

std::span<const cf32> samples_at(const Positions& positions, const PortIo& port) noexcept {
  return {port.row<const cf32>() + (positions.first - port.first), static_cast<std::size_t>(positions.length())};
}

void train(const Trainer& trainer, const StageIo& io) noexcept {
  const PortIo& coefficients = io.out[kCoefficients];
  const PortIo& report = io.out[kReport];
  const std::span into(coefficients.row<cf32>(), static_cast<std::size_t>(coefficients.item));
  const Positions both = io.new_in_all();
  const Report result = trainer.train(samples_at(both, io.in[0]), samples_at(both, io.in[1]), into, io.scratch);
  result.write(report.row<float>());
  std::array<std::int64_t, kOutcomes.size()> events{};
  events[static_cast<std::size_t>(result.outcome)] = 1;
  io.out[kEvents].put_tally(events);
  *coefficients.count = result.has_coefficients ? 1 : 0;
  *report.count = 1;
}

class AphEstimatorStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    if (context.in[0].rate_hz != context.in[1].rate_hz)
      return context.section.problem("", fmt::format("needs both inputs at one rate; sent has {}, "
                                                     "received {}",
                                                     quantity_text(context.in[0].rate_hz, Unit::rate),
                                                     quantity_text(context.in[1].rate_hz, Unit::rate)));
    const AphOrders orders = config_.orders.orders();
    if (!aph::check(orders, config_.coefficients, context.section)) return;
    if (config_.gain && !(*config_.gain > 0))
      return context.section.problem("gain", fmt::format("must be more than 0; it is {}", *config_.gain));
    if (config_.above && !config_.measured)
      return context.section.problem("above", "needs the group `aclr` with the carriers");
    rate_hz_ = context.in[0].rate_hz;
    if (config_.measured) acpr_meter::check(config_.aclr, rate_hz_, context.section, "aclr.");
    context.out[kCoefficients].hold_per_block(Element::cf32, {{"coefficient", orders.coefficients()}});
    context.out[kReport].hold_per_block(Element::f32,
                                        {{"value", std::ssize(kValues), {kValues.begin(), kValues.end()}}});
    context.out[kEvents].tally(kOutcomes);
    context.chunk_exempt = true;
    context.scratch_bytes = Trainer::scratch_bytes(config_);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "aph_estimator")) return cuda(setup_of(config_, rate_hz_));
    return cpu_run([trainer = Trainer(config_, rate_hz_)](const StageIo& io) noexcept { train(trainer, io); });
  }

 private:
  double rate_hz_ = 0;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  orders.fields(v);
  v.field(
      "samples", samples,
      {.help = "samples that a training uses, from the beginning of a block", .low = kFewestSamples, .high = 1 << 22});
  v.field("search", search,
          {.help = "largest delay searched, in samples, in either direction", .low = 0, .high = 1 << 20});
  v.field("gain", gain,
          {.help = "magnitude of the gain G of the predistorted transmitter; none: the transmitter's gain in this "
                   "training"});
  v.field("coefficients", coefficients,
          {.help = "coefficients applied now (monomial), as a list or \"@file.npy\"; output again if a training is "
                   "refused. None: the identity, and a refused training outputs nothing",
           .live = true});
  v.field("above", above,
          {.help = "train only if the measured ACLR is worse than this; none: always. Needs `aclr`",
           .unit = Unit::decibel,
           .low = acpr_meter::kFloorDb,
           .high = 0,
           .live = true});
  v.group("aclr", measured, {.help = "carriers and channels, to report the ACLR"},
          [this](FieldVisitor& inner) { aclr.fields(inner); });
}

StageEntry entry() {
  return {
      .family = "transmit",
      .name = "aph_estimator",
      .summary = "learns a predistorter's coefficients from the sent signal and that of a feedback receiver",
      .inputs = {{.name = "sent", .elements = {Element::cf32}, .one_channel = true, .reread = true},
                 {.name = "received", .elements = {Element::cf32}, .one_channel = true, .reread = true}},
      .outputs = {{.name = "coefficients"}, {.name = "report", .levels = true}, {.name = "events", .tally = kOutcomes}},
      .make = make_stage<AphEstimatorStage>,
      .sample = "aph_estimator: {samples: 65536}",
      .tolerance = 1e-3};
}

}  // namespace iqd::aph_estimator
