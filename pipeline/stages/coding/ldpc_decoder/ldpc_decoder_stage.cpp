// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"

namespace iqd::ldpc_decoder {
namespace {

class LdpcDecoderStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (!check_code(config_.code, false, context.section)) return;
    code_ = *config_.code.words();
    const std::int64_t words = in.item_size() / code_.n();
    if (in.axis != Axis::counted || !in.rows.empty() || words < 1)
      return context.section.problem(
          "", fmt::format("needs items of at least {} LLRs, such as [word][n]; its input is {}", code_.n(), in.text()));
    if (context.most_new > std::numeric_limits<std::int32_t>::max() / words)
      return context.section.problem(
          "", fmt::format("has too many words in a block; set a smaller `block`; its input is {}", in.text()));
    const bool interleaved = config_.interleave == Interleave::frame;
    setup_ = {.iterations = static_cast<int>(config_.iterations),
              .scale = static_cast<float>(config_.scale),
              .early_stop = config_.early_stop,
              .element = in.element,
              .item = in.item_size(),
              .words = words,
              .step = interleaved ? words : 1,
              .most = context.most_new * words,
              .unit = in.llr_scale > 0 ? static_cast<float>(in.llr_scale) : 1.0f};
    context.scratch_bytes = Decoder::scratch_bytes(code_.code);
    declare(context.out, code_.information(), words, setup_.item == code_.n());
    for (const std::size_t o : {kPosterior, kExtrinsic}) context.out[o].hold(Element::f32, in.item);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "ldpc_decoder")) return cuda(setup_, code_);
    return cpu_run([decoder = Decoder(setup_, code_), words = setup_.words](const StageIo& io) noexcept {
      const std::int64_t all = *io.in[0].count * words;
      auto* const events = io.out[kTally].row<std::int64_t>();
      events[kWords] = all;
      events[kFailed] = decoder.decode(job_of(io), all, io.scratch);
      for (const PortIo& out : io.out) *out.count = *io.in[0].count;
      *io.out[kTally].count = 1;
    });
  }

 private:
  static void declare(std::span<PortShape> out, std::int64_t information, std::int64_t words, bool item_is_word) {
    for (PortShape& port : out) port.item.clear(), port.llr_scale = 0;
    out[kBits].element = out[kFailedWords].element = Element::u8;
    out[kIterations].element = Element::i32;
    if (!item_is_word)
      for (const std::size_t o : {kBits, kIterations, kFailedWords}) out[o].item = {{"word", words}};
    out[kBits].item.push_back({"bit", information});
    out[kTally].tally(kEvents);
  }

  Setup setup_;
  WordCode code_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  code_fields(v, code);
  v.field("iterations", iterations, {.help = "most iterations for a word", .low = 1, .high = 1000, .live = true});
  v.field("scale", scale,
          {.help = "factor of a check's message, which min-sum overestimates", .low = 0, .high = 1, .live = true});
  v.field("early_stop", early_stop, {.help = "end a word as soon as all its checks hold", .live = true});
  v.field("interleave", interleave,
          {.help = "frame: the words of an item are interleaved bit by bit, as in the frames of ofdm_modulator"});
}

StageEntry entry() {
  return {.family = "coding",
          .name = "ldpc_decoder",
          .summary = "decodes LDPC words by layered min-sum",
          .inputs = {{.name = "llr",
                      .elements = {Element::f32, Element::f16, Element::i8},
                      .dims = "[word][n]",
                      .nested = true,
                      .example = {{"n", 2304}}}},
          .outputs = {{.name = "bits"},
                      {.name = "iterations", .can_omit = true},
                      {.name = "events", .tally = kEvents},
                      {.name = "posterior", .can_omit = true},
                      {.name = "extrinsic", .can_omit = true},
                      {.name = "failed", .can_omit = true}},
          .make = make_stage<LdpcDecoderStage>,
          .sample = "ldpc_decoder: {iterations: 15}",
          .tolerance = 0};
}

}  // namespace iqd::ldpc_decoder
