// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/stages/coding/failed_frames/failed_frames.hpp"

namespace iqd::failed_frames {
namespace {

class FailedFramesStage final : public Stage {
 public:
  void fields(FieldVisitor&) override {}

  void shape(ShapeContext& context) override {
    setup_.words = context.in[0].item_size();
    for (std::size_t o = 0; o < kCopies; ++o) {
      setup_.floats[o] = context.in[1 + o].item_bytes() / static_cast<std::int64_t>(sizeof(float));
      pass_on(context.in[1 + o], context.out[o], context.most_new);
    }
    const PortShape& sent = context.in[kModulationIn];
    const auto& llrs = context.in[2].item;
    const auto tx = std::ranges::find(llrs, "tx", &Dim::name);
    if (!sent.item.empty() && (tx == llrs.end() || sent.item_size() != tx->extent))
      return context.section.problem(
          "", fmt::format("input 'modulation' has to be [frame][tx], of the antennas of 'posterior'; it is {}, "
                          "'posterior' is {}",
                          sent.text(), context.in[2].text()));
    setup_.antennas = sent.item.empty() ? 0 : sent.item_size();
    if (setup_.antennas > 0)
      pass_on(sent, context.out[kModulation], context.most_new);
    else
      context.out[kModulation].hold_per_block(Element::u8, {});  // stays empty
    context.out[kTally].tally(kEvents);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "failed_frames")) return cuda(setup_);
    return cpu_run([setup = setup_](const StageIo& io) noexcept {
      const Job job = job_of(setup, io);
      const std::int64_t frames = job.frames();
      std::int64_t kept = 0;
      for (std::int64_t f = 0; f < frames; ++f) {
        if (!job.failed.any(f)) continue;
        for (std::size_t o = 0; o < kCopies; ++o)
          if (job.to[o])
            std::copy_n(job.from[o] + f * setup.floats[o], setup.floats[o], job.to[o] + kept * setup.floats[o]);
        if (job.sent_to)
          std::copy_n(job.sent + f * setup.antennas, setup.antennas, job.sent_to + kept * setup.antennas);
        ++kept;
      }
      job.put_counts(frames, kept);
    });
  }

 private:
  static void pass_on(const PortShape& in, PortShape& out, std::int64_t most) {
    out.hold(in.element, in.item);
    // Facts belong to frames by their number, which a frame loses here.
    out.axis_name = "retry";
    out.most = most;
  }

  Setup setup_;
};

}  // namespace

StageEntry entry() {
  const auto input = [](std::string_view name, Element element, std::string_view dims, std::vector<Dim> example) {
    return InputSpec{.name = name, .elements = {element}, .dims = dims, .nested = true, .example = std::move(example)};
  };
  return {.family = "coding",
          .name = "failed_frames",
          .summary = "takes out the frames in which a word failed, for a second pass",
          .inputs = {input("failed", Element::u8, "[frame][word]", {{"word", 5}}),
                     input("carriers", Element::cf32, "[frame][symbol][carrier][rx]",
                           {{"symbol", 14}, {"carrier", 300}, {"rx", 2}}),
                     input("posterior", Element::f32, "[frame][carrier][symbol][tx][bit]",
                           {{"carrier", 288}, {"symbol", 11}, {"tx", 2}, {"bit", 2}}),
                     input("extrinsic", Element::f32, "[frame][carrier][symbol][tx][bit]",
                           {{"carrier", 288}, {"symbol", 11}, {"tx", 2}, {"bit", 2}}),
                     {.name = "modulation", .elements = {Element::u8}, .dims = "[frame][tx]", .optional = true}},
          .outputs = {{.name = "carriers", .can_omit = true},
                      {.name = "posterior", .can_omit = true},
                      {.name = "extrinsic", .can_omit = true},
                      {.name = "events", .tally = kEvents},
                      {.name = "modulation", .can_omit = true}},
          .make = make_stage<FailedFramesStage>,
          .sample = "failed_frames:",
          .tolerance = 0};
}

}  // namespace iqd::failed_frames
