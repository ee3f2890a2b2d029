// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_demod/ofdm_demod.hpp"
#include "pipeline/stages/ofdm/ofdm_keys.hpp"

namespace iqd::ofdm_demod {
namespace {

class OfdmDemodStage final : public Stage {
 public:
  void fields(FieldVisitor& visitor) override {
    ofdm::format_fields(visitor, format_);
    ofdm::tail_field(visitor, format_);
    ofdm::window_field(visitor, format_);
  }

  void shape(ShapeContext& context) override {
    if (!ofdm::check_format(format_, context.section) || !ofdm::check_window(format_, context.section)) return;
    const PortShape& in = context.in[0];
    const std::int64_t samples = format_.frame + format_.tail_samples();
    if (in.axis != Axis::counted || in.item.size() != 2 || in.item[1].extent != samples)
      return context.section.problem(
          "frame", fmt::format("input 'frames' must be [frame][rx][sample {}]; it is {}; set the same "
                               "frame keys in ofdm_sync and in this stage",
                               samples, in.text()));
    rx_ = in.item[0].extent;
    PortShape& out = context.out[0];
    out.most = context.most_new;
    out.item = {{"symbol", format_.symbols() + format_.tail_symbols()}, {"carrier", format_.carriers}, {"rx", rx_}};
    context.scratch_bytes = Demodulator::scratch_bytes(format_, rx_);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "ofdm_demod")) return cuda(format_, rx_, scale_of(format_));
    return cpu_run([demodulator = Demodulator(format_, rx_)](const StageIo& io) noexcept {
      *io.out[0].count = *io.in[0].count;
      demodulator.run(io.in[0].row<const cf32>(), *io.in[0].count, io.out[0].row<cf32>(), io.scratch);
    });
  }

 private:
  OfdmFormat format_;
  std::int64_t rx_ = 1;
};

}  // namespace

StageEntry entry() {
  return {.family = "ofdm",
          .name = "ofdm_demod",
          .summary = "removes the cyclic prefixes of OFDM frames and transforms their symbols into carriers",
          .inputs = {{.name = "frames",
                      .elements = {Element::cf32},
                      .dims = "[frame][rx][sample]",
                      .example = {{"rx", 2}, {"sample", 7680}}}},
          .outputs = {{.name = "carriers"}},
          .make = make_stage<OfdmDemodStage>,
          .sample = "ofdm_demod: {fft: 512}",
          .tolerance = 2e-6};
}

}  // namespace iqd::ofdm_demod
