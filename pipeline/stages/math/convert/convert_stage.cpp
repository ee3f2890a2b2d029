// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/convert/convert.hpp"

namespace iqd::convert {
namespace {

/// The conversion for fused CPU loops and for generated kernels.
class ConversionCode final : public ElementCode {
 public:
  ConversionCode(Element from, Element to) : from_(from), to_(to) {}

  void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t /*first*/,
             std::int64_t n) const noexcept override {
    convert_row(from_, in[0], to_, out[0], n);
  }
  std::optional<DeviceCode> device_code() const override {
    const std::string_view from = type_name(from_), to = type_name(to_);
    if (from.empty() || to.empty()) return std::nullopt;
    return DeviceCode{"#include \"pipeline/stages/math/convert/conversion.hpp\"\n",
                      fmt::format("iqd::convert::Conversion<{}, {}>", from, to),
                      {std::byte{0}}};
  }

 private:
  static std::string_view type_name(Element e) {
    switch (e) {
      case Element::sc16: return "iqd::elementwise::Complex16";
      case Element::cf32: return "iqd::elementwise::Complex";
      case Element::f32: return "float";
      case Element::i32: return "int";
      case Element::i16: return "short";
      case Element::i8: return "signed char";
      default: return {};
    }
  }
  Element from_;
  Element to_;
};

class ConvertStage final : public ConfiguredStage<Config> {
 public:
  using ConfiguredStage::ConfiguredStage;

  void shape(ShapeContext& context) override {
    from_ = context.in[0].element;
    to_ = *element_named(kDtypeNames[static_cast<std::size_t>(config_.dtype)]);
    if (!can_convert(from_, to_))
      context.section.problem("dtype", fmt::format("cannot convert {} to {}: {}", name_of(from_), name_of(to_),
                                                   "complex types (sc16, cf32) and real ones do not mix"));
    varies_ = context.in[0].axis != Axis::stream;
    context.out[0].element = to_;
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "convert")) return cuda(from_, to_, varies_);
    return cpu_run([from = from_, to = to_, varies = varies_](const StageIo& io) noexcept {
      std::int64_t positions = io.out[0].length;
      if (varies) *io.out[0].count = static_cast<std::int32_t>(positions = *io.in[0].count);
      run(from, io.in[0], to, io.out[0], positions);
    });
  }

  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override { return std::make_unique<ConversionCode>(from_, to_); }

 private:
  static void run(Element from, const PortIo& in, Element to, const PortIo& out, std::int64_t positions) noexcept {
    const std::int64_t offset = (out.first - in.first) * in.item * static_cast<std::int64_t>(size_of(from));
    for (std::int64_t row = 0; row < out.rows; ++row)
      convert_row(from, in.data + row * in.pitch + offset, to, out.data + row * out.pitch, positions * out.item);
  }

  Element from_ = Element::cf32;
  Element to_ = Element::cf32;
  bool varies_ = false;  // the input gives the number of positions, instead of the stream
};

std::unique_ptr<Stage> make_converter(Element to) {
  const auto at = std::ranges::find(kDtypeNames, name_of(to));
  if (at == kDtypeNames.end()) return nullptr;
  return std::make_unique<ConvertStage>(Config{static_cast<Dtype>(at - kDtypeNames.begin())});
}

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("dtype", dtype, {.help = "element type of the output", .required = true});
}

StageEntry entry() {
  using enum Element;
  return {.family = "math",
          .name = "convert",
          .summary = "changes the element type: scales, rounds, saturates",
          .inputs = {{.name = "in", .elements = {sc16, cf32, f32, f16, i32, i16, i8}, .dims = "any"}},
          .outputs = {{.name = "out"}},
          .make = make_stage<ConvertStage>,
          .sample = "convert: {dtype: cf32}",
          .tolerance = 0,
          .make_converter = make_converter};
}

}  // namespace iqd::convert
