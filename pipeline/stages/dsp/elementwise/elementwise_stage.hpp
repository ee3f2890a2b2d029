// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stage.hpp"
#include "pipeline/stages/dsp/elementwise/elementwise.hpp"
#include "pipeline/stages/dsp/elementwise/elementwise_cuda.hpp"

namespace iqd::elementwise {

/// What a word of ops.def takes or gives.
template <class Types> std::vector<Element> elements_of() {
  std::vector<Element> elements;
  if (Types::template kContain<Complex>) elements.push_back(Element::cf32);
  if (Types::template kContain<float>) elements.push_back(Element::f32);
  return elements;
}

/// Any operation as a stage. The inputs agree in type, rows, axis and items; so does the output, but for its type.
template <class Op> class ElementwiseStage final : public Stage {
 public:
  explicit ElementwiseStage(std::string_view name) : name_(name) {}

  void fields(FieldVisitor& visitor) override { read_fields(config_, visitor); }

  void shape(ShapeContext& context) override {
    in_ = context.in[0].element;
    varies_ = context.in[0].axis != Axis::stream;
    const std::vector<Element> out = elements_of<typename Op::Output>();
    context.out[0].element = out.size() == 1 ? out[0] : in_;
    if constexpr (Op::kInputs == 2)
      if (context.in[0].text() != context.in[1].text())
        context.section.problem("", fmt::format("its two inputs have to be alike; they are {} and {}",
                                                context.in[0].text(), context.in[1].text()));
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const Op op{rounded(config_)};
    if (const auto* cuda = device_half<CudaHalf>(backend, "elementwise")) return make_cuda(*cuda, op);
    return cpu_run([op, in = in_, out = out_size(), varies = varies_](const StageIo& io) noexcept {
      const PortIo& to = io.out[0];
      std::int64_t positions = to.length;
      if (varies) *to.count = static_cast<std::int32_t>(positions = *io.in[0].count);
      for (std::int64_t row = 0; row < to.rows; ++row)
        apply(op, in, at(io.in[0], row, to.first, size_of(in)),
              Op::kInputs == 2 ? at(io.in.back(), row, to.first, size_of(in)) : nullptr, at(to, row, to.first, out),
              positions * to.item);
    });
  }

 private:
  std::unique_ptr<StageRun> make_cuda(const CudaHalf& cuda, const Op& op) const {
    if (const MakeCuda<Op> make = cuda.make_for(op)) return make(op, in_, varies_);
    throw SetupError(fmt::format("{} has no code for a GPU: give it `backend: cpu`", name_));
  }
  static std::byte* at(const PortIo& port, std::int64_t row, std::int64_t position, std::size_t element) noexcept {
    return port.data + row * port.pitch + (position - port.first) * port.item * static_cast<std::int64_t>(element);
  }
  std::size_t out_size() const {
    const std::vector<Element> out = elements_of<typename Op::Output>();
    return size_of(out.size() == 1 ? out[0] : in_);
  }

  std::string_view name_;
  typename Op::Config config_;
  Element in_ = Element::cf32;
  bool varies_ = false;  // as many positions as the input says, instead of those of a stream
};

template <class Op, const std::string_view& name> std::unique_ptr<Stage> make_stage() {
  return std::make_unique<ElementwiseStage<Op>>(name);
}

/// An operation's registration.
template <class Op, const std::string_view& name> StageEntry entry_of(std::string_view sample, std::string_view help) {
  const std::vector<Element> in = elements_of<typename Op::Input>();
  StageEntry e;
  e.family = "dsp";
  e.name = name;
  e.summary = help;
  for (int i = 0; i < Op::kInputs; ++i) {
    constexpr std::string_view kNames[] = {"in0", "in1"};
    e.inputs.push_back({.name = Op::kInputs == 1 ? "in" : kNames[i], .elements = in, .dims = "any"});
  }
  e.outputs = {{.name = "out"}};
  e.make = make_stage<Op, name>;
  e.sample = sample;
  return e;
}

}  // namespace iqd::elementwise
