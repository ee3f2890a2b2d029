// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/quantity.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/elementwise/elementwise.hpp"

namespace iqd::elementwise {

/// An operation on inputs of one type, for fused CPU loops and for generated kernels.
template <class Op> class OperationCode final : public ElementCode {
 public:
  OperationCode(const Op& op, std::string_view name, Element in) : op_(op), name_(name), in_(in) {}

  void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t /*first*/,
             std::int64_t n) const noexcept override {
    elementwise::apply(op_, in_, in.data(), out.data(), n);
  }
  std::optional<DeviceCode> device_code() const override {
    return DeviceCode{"#include \"pipeline/stages/math/elementwise/operations.hpp\"\n",
                      fmt::format("iqd::elementwise::Called<iqd::elementwise::op::{}, {}>", name_, type_name()),
                      DeviceCode::bytes_of(op_)};
  }

 private:
  std::string_view type_name() const {
    if (in_ == Element::cf32) return "iqd::elementwise::Complex";
    if (in_ == Element::f32) return "float";
    return in_ == Element::i32 ? "int" : "short";
  }
  Op op_;
  std::string_view name_;
  Element in_;
};

template <class... X> std::vector<Element> elements_of(Types<X...>) {
  return {kElement<X>...};
}
template <class Op, class... X> Element output_of(Types<X...>, Element in) {
  Element out = in;
  ((in == kElement<X> ? void(out = kOutput<Op, X>) : void()), ...);
  return out;
}

/// Any operation as a stage. The inputs have the same type, rows, axis and items; the outputs differ from them at most
/// in type.
template <class Op, const std::string_view& name> class ElementwiseStage final : public Stage {
 public:
  void fields(FieldVisitor& visitor) override { keys_.fields(visitor); }

  void shape(ShapeContext& context) override {
    const PortShape& first = context.in[0];
    in_ = first.element;
    out_ = output_of<Op>(typename Op::Input(), in_);
    counted_ = first.axis != Axis::stream;
    for (PortShape& out : context.out) out.element = out_;
    if (first.axis == Axis::stream && first.item.empty()) place(context);
    keys_.check(in_, context.section);
    for (const PortShape& other : context.in.subspan(1)) {
      if (first.text() != other.text())
        context.section.problem(
            "", fmt::format("its two inputs have to match; they are {} and {}", first.text(), other.text()));
      else if (first.rate_hz != other.rate_hz)
        context.section.problem(
            "", fmt::format("its two inputs have to have the same rate; they have {} and {}",
                            quantity_text(first.rate_hz, Unit::rate), quantity_text(other.rate_hz, Unit::rate)));
    }
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const Op op = keys_.operation();
    if (const auto* cuda = device_half<CudaHalf>(backend, "elementwise")) return cuda->make(op, in_, counted_);
    return cpu_run(
        [op, type = in_, x = size_of(in_), y = size_of(out_), counted = counted_](const StageIo& io) noexcept {
          const std::int64_t positions = counted ? hand_on_count(io) : io.out[0].length;
          for (std::int64_t row = 0; row < io.out[0].rows; ++row) {
            std::array<const void*, Op::kInputs> in;
            std::array<void*, Op::kOutputs> out;
            for (std::size_t i = 0; i < in.size(); ++i) in[i] = at(io.in[i], row, io.out[0].first, x);
            for (std::size_t o = 0; o < out.size(); ++o) out[o] = at(io.out[o], row, io.out[0].first, y);
            apply(op, type, in.data(), out.data(), positions * io.out[0].item);
          }
        });
  }

  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override {
    return std::make_unique<OperationCode<Op>>(keys_.operation(), name, in_);
  }

 private:
  /// The conjugate is mirrored. A sum is where both inputs are, or the one that is on the air; a product has neither's
  /// frequency.
  static void place(ShapeContext& context) {
    PortShape& out = context.out[0];
    if constexpr (std::is_same_v<Op, op::conjugate>) out.mirrored = out.on_air && !out.mirrored;
    if constexpr (std::is_same_v<Op, op::multiply> || std::is_same_v<Op, op::multiply_conjugate>)
      out.leave_air();
    else if constexpr (Op::kInputs == 2)
      out.join(context.in[1]);
  }
  /// The count of two inputs is the smaller one.
  static std::int64_t hand_on_count(const StageIo& io) noexcept {
    std::int32_t count = *io.in[0].count;
    for (const PortIo& in : io.in) count = std::min(count, *in.count);
    for (const PortIo& out : io.out) *out.count = count;
    return count;
  }
  static std::byte* at(const PortIo& port, std::int64_t row, std::int64_t position, std::size_t element) noexcept {
    return port.data + row * port.pitch + (position - port.first) * port.item * static_cast<std::int64_t>(element);
  }

  decltype(keys_of(Op())) keys_;
  Element in_ = Element::cf32;
  Element out_ = Element::cf32;
  bool counted_ = false;  // the inputs give the number of positions, instead of the stream
};

/// The port names of a line of ops.def.
inline std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t blank = 0; blank != text.npos; text.remove_prefix(std::min(blank + 1, text.size()))) {
    blank = text.find(' ');
    names.push_back(text.substr(0, blank));
  }
  return names;
}

/// The registration of an operation.
template <class Op, const std::string_view& name>
StageEntry entry_of(std::string_view inputs, std::string_view outputs, std::string_view sample, std::string_view help) {
  StageEntry e;
  e.family = "math";
  e.name = name;
  e.summary = help;
  for (const std::string_view port : split(inputs))
    e.inputs.push_back({.name = port, .elements = elements_of(typename Op::Input()), .dims = "any"});
  for (const std::string_view port : split(outputs)) e.outputs.push_back({.name = port});
  e.make = make_stage<ElementwiseStage<Op, name>>;
  e.sample = sample;
  return e;
}

}  // namespace iqd::elementwise
