// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/transmit/test_waveform/test_waveform.hpp"

namespace iqd::test_waveform {
namespace {

class TestWaveformStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    waveform_ = config_.waveform(in.rate_hz);
    context.out[0].leave_air();
    if (const std::string fault = waveform_.fault(); !fault.empty())
      context.section.problem("", fault + ": change `frequencies`, `bandwidth` or the rate of the source");
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "test_waveform has no code for a GPU: leave its `backend` out");
    return cpu_run([period = waveform_.make()](const StageIo& io) noexcept {
      const PortIo& out = io.out[0];
      play(period, out.first, {out.row<cf32>(), static_cast<std::size_t>(out.length)});
    });
  }

 private:
  UplinkWaveform waveform_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("kind", kind, {.help = "`lte10`: one carrier of 10 MHz, as in an LTE uplink; `carriers`: several of 3 MHz"});
  v.field("frequencies", frequencies,
          {.help = "centre frequencies of the carriers; none: 0 for `lte10`, -5 MHz and 5 MHz for `carriers`",
           .unit = Unit::hertz});
  v.field("bandwidth", bandwidth,
          {.help = "bandwidth of each carrier, instead of 10 or 3 MHz; stretches or compresses the signal in time",
           .unit = Unit::hertz,
           .low = 1e3,
           .high = 1e9});
  v.field("rms", rms,
          {.help = "rms amplitude of all carriers together; none: 0.27 for `lte10`, 0.24 for `carriers`",
           .low = 0,
           .live = true});
  v.field("seed", seed, {.help = "seed of the random data", .low = 0});
}

StageEntry entry() {
  return {.family = "transmit",
          .name = "test_waveform",
          .summary = "generates test signals for transmitters: an LTE-like uplink carrier, or several narrower ones",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .one_channel = true}},
          .outputs = {{.name = "out"}},
          .make = make_stage<TestWaveformStage>,
          .sample = "test_waveform: {kind: carriers, frequencies: [-250 kHz, 250 kHz], bandwidth: 300 kHz}",
          .host_only = true,
          .tolerance = 2e-6};
}

}  // namespace iqd::test_waveform
