// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_encoder/ldpc_encoder.hpp"

namespace iqd::ldpc_encoder {
namespace {

class LdpcEncoderStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (!check_code(config_.code, false, context.section)) return;
    const WordCode code = *config_.code.words();
    if (!check_frame(config_.frame, code.code, context.section)) return;
    frame_ = config_.frame.frame(code.code);
    if (in.axis != Axis::counted || !in.rows.empty() || in.item_size() < 1 || in.item_size() % code.information() != 0)
      return context.section.problem(
          "", fmt::format("needs items of {} bits or a multiple, such as [word][k]; its input is {}",
                          code.information(), in.text()));
    encoder_ = std::make_shared<const WordEncoder>(code);
    context.scratch_bytes = encoder_->scratch_bytes();
    words_ = in.item_size() / code.information();
    context.out[0].item = {{"bit", frame_.size(code.n())}};
    if (words_ > 1) context.out[0].item.insert(context.out[0].item.begin(), {"word", words_});
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "ldpc_encoder")) return cuda(*encoder_, frame_, words_);
    return cpu_run([encoder = encoder_, frame = frame_, of_item = words_](const StageIo& io) noexcept {
      const WordCode& code = encoder->code();
      const auto k = static_cast<std::size_t>(code.information()), n = static_cast<std::size_t>(code.n());
      const auto size = static_cast<std::size_t>(frame.size(code.n()));
      const auto words = static_cast<std::size_t>(*io.in[0].count * of_item);
      const auto* const bits = io.in[0].row<const std::uint8_t>();
      auto* const coded = io.out[0].row<std::uint8_t>();
      const std::span scratch(reinterpret_cast<std::uint8_t*>(io.scratch), encoder->scratch_bytes());
      for (std::size_t w = 0; w < words; ++w) {
        const std::span to(coded + w * size, size);
        encoder->encode({bits + w * k, k}, to.last(n), scratch);
        frame.close(to);
      }
      *io.out[0].count = *io.in[0].count;
    });
  }

 private:
  std::shared_ptr<const WordEncoder> encoder_;
  WordFrame frame_;
  std::int64_t words_ = 1;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  code_fields(v, code);
  frame_fields(v, frame);
}

StageEntry entry() {
  return {
      .family = "coding",
      .name = "ldpc_encoder",
      .summary = "encodes LDPC words",
      .inputs =
          {{.name = "bits", .elements = {Element::u8}, .dims = "[word][k]", .nested = true, .example = {{"k", 1152}}}},
      .outputs = {{.name = "words"}},
      .make = make_stage<LdpcEncoderStage>,
      .sample = "ldpc_encoder: {code: 80216e_2304_1_2}",
      .tolerance = 0};
}

}  // namespace iqd::ldpc_encoder
