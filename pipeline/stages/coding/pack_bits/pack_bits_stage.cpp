// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/coding/pack_bits/pack_bits.hpp"

namespace iqd::pack_bits {
namespace {

class PackBitsStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (in.axis != Axis::counted || !in.rows.empty() || in.item.empty())
      return context.section.problem(
          "", fmt::format("takes items of bits, such as [packet][bit]; its input is {}", in.text()));
    setup_ = {.bits = in.item.back().extent,
              .rows = in.item_size() / in.item.back().extent,
              .msb = config_.order == Order::msb};
    context.out[0].item.back() = {"byte", setup_.bytes()};
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "pack_bits")) return cuda(setup_);
    return cpu_run([setup = setup_](const StageIo& io) noexcept {
      const auto* bits = io.in[0].row<const std::uint8_t>();
      auto* to = io.out[0].row<std::uint8_t>();
      const std::int64_t rows = *io.in[0].count * setup.rows, bytes = setup.bytes();
      for (std::int64_t r = 0; r < rows; ++r, bits += setup.bits)
        for (std::int64_t at = 0; at < bytes; ++at) *to++ = setup.byte(bits, at);
      *io.out[0].count = *io.in[0].count;
    });
  }

 private:
  Setup setup_;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("order", order, {.help = "msb: the first of eight bits is the highest of its byte; lsb: the lowest"});
}

StageEntry entry() {
  return {.family = "coding",
          .name = "pack_bits",
          .summary = "packs bits into bytes",
          .inputs = {{.name = "bits",
                      .elements = {Element::u8},
                      .dims = "[packet][bit]",
                      .nested = true,
                      .example = {{"kind", 2}, {"bit", 6144}}}},
          .outputs = {{.name = "bytes"}},
          .make = make_stage<PackBitsStage>,
          .sample = "pack_bits: {order: msb}",
          .tolerance = 0};
}

}  // namespace iqd::pack_bits
