// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files/file_cache.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"
#include "pipeline/stages/math/kernel/kernel_cpu.hpp"
#include "pipeline/stages/math/kernel/texts.hpp"

namespace iqd::kernel {
namespace {

/// The compiler's first error as an exception.
UsageError mistake(const std::vector<Message>& messages, const Program& program) {
  Problems problems;
  add_problems(messages, program, Section("kernel", {}, problems));
  return UsageError(problems.empty() ? "the kernel cannot be compiled" : problems.front().text());
}

class Elements final : public ElementCode {
 public:
  /// `code` is null if the program is for a GPU.
  Elements(const Program& program, std::shared_ptr<const HostCode> code) : program_(program), code_(std::move(code)) {}

  void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t,
             std::int64_t n) const noexcept override {
    const void* const both[2] = {in.front(), in.back()};
    code_->apply(both, out.front(), n, program_);
  }
  std::optional<DeviceCode> device_code() const override { return shared_text(program_); }

 private:
  Program program_;
  std::shared_ptr<const HostCode> code_;
};

class KernelStage final : public ConfiguredStage<Config> {
 public:
  bool has_program() const override { return true; }
  bool load(const Section& section) override {
    if (!loaded_) loaded_ = read_program(config_, section, program_);
    text_ = program_.text + program_.included;
    program_.label = fmt::format("{}: {}{}{}", program_.name, program_.function, section.path().empty() ? "" : " of ",
                                 section.path());
    return loaded_;
  }
  void keep_program(const Stage& of) override {
    text_ = of.program();
    const Program& read = dynamic_cast<const KernelStage&>(of).program_;
    program_.name = read.name;
    program_.folder = read.folder;
    program_.text = read.text;
    program_.is_code = read.is_code;
    program_.first_line = read.first_line;
    program_.included = read.included;
  }
  std::string program() const override { return text_; }

  std::vector<InputSpec> inputs(const StageEntry&) const override {
    std::vector<InputSpec> specs;
    constexpr std::string_view kNames[] = {"in0", "in1"};
    for (const Element e : program_.in)
      specs.push_back({.name = program_.in.size() == 1 ? "in" : kNames[specs.size() % 2],
                       .elements = {e},
                       .dims = program_.element_wise() ? "any" : "[n]"});
    return specs;
  }

  void shape(ShapeContext& context) override {
    if (!load(context.section)) return;
    check_inputs(context);
    varies_ = context.in[0].axis != Axis::stream;
    context.out[0].element = program_.out;
    for (Footprint& f : context.footprint) {
      f.past = program_.past;
      f.future = program_.future;
    }
    context.scratch_bytes = scratch_bytes(program_);
  }

  void compile(bool for_device, const Section& section) override {
    const auto* cuda = for_device ? static_cast<const CudaHalf*>(find_cuda_half("kernel")) : nullptr;
    std::vector<Message> messages;
    if (cuda) {
      if (const std::string log = cuda->check(device_program()); !log.empty()) messages = errors_in(log);
    } else if (!host_compiler().empty()) {
      code_ = compile_for_host(program_, messages);
    } else if (!for_device) {
      untried_ = kNoCompiler;
    }
    for_device_ = for_device;
    add_problems(messages, program_, section);
  }

  std::string untried() const override { return untried_; }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (const auto* cuda = device_half<CudaHalf>(backend, "kernel")) return make_cuda(*cuda);
    std::vector<Message> messages;
    auto code = code_ ? code_ : compile_for_host(program_, messages);
    if (!code) throw mistake(messages, program_);
    return cpu_run(
        [host = HostProgram{program_, std::move(code), varies_}](const StageIo& io) noexcept { run_cpu(host, io); });
  }

  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override {
    if (!program_.element_wise() || (!code_ && !for_device_)) return nullptr;
    return std::make_unique<Elements>(program_, code_);
  }

 private:
  void check_inputs(const ShapeContext& context) const {
    const PortShape& first = context.in[0];
    for (std::size_t i = 0; i < program_.in.size() && i < context.in.size(); ++i)
      if (context.in[i].element != program_.in[i])
        context.section.problem(
            "in", fmt::format("names {}, but the input is {}", name_of(program_.in[i]), context.in[i].text()));
    if (context.in.size() != program_.in.size())
      context.section.problem(
          "in", fmt::format("names {} input(s), but there are {}", program_.in.size(), context.in.size()));
    PortShape other = context.in.back();
    other.element = first.element;
    if (other.text() != first.text())
      context.section.problem(
          "", fmt::format("its two inputs have to match; they are {} and {}", first.text(), context.in.back().text()));
    if (!program_.element_wise() && (first.axis != Axis::stream || !first.item.empty()))
      context.section.problem("", fmt::format("with a halo the input has to be samples, [n]; it is {}", first.text()));
  }

  DeviceProgram device_program() const {
    return {device_text(program_),   program_.name, program_.folder, program_.in,
            program_.element_wise(), varies_,       program_.values};
  }
  std::unique_ptr<StageRun> make_cuda(const CudaHalf& cuda) const {
    try {
      return cuda.make(device_program());
    } catch (const SetupError& e) {
      // A mistake in the text is the operator's, who needs its place.
      const std::vector<Message> messages = errors_in(e.what());
      if (messages.front().place.file.empty()) throw;
      throw mistake(messages, program_);
    }
  }

  Program program_;
  std::string text_;
  std::string untried_;
  std::shared_ptr<const HostCode> code_;
  bool loaded_ = false;
  bool for_device_ = false;
  bool varies_ = false;
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("file", file, {.help = "the CUDA C++ file with the function; a relative path starts at the pipeline's file"});
  v.field("code", code, {.help = "the function's text, instead of `file`"});
  v.field("function", function, {.help = "the function's name"});
  v.field("in", in, {.help = "the inputs' types, one or two of cf32 sc16 f32 i32 i16 i8 u8"});
  v.field("out", out, {.help = "the type that the function returns"});
  v.field("past", past,
          {.help = "how many elements before x[0] it reads; it then gets pointers", .low = 0, .high = kMostHalo});
  v.field("future", future,
          {.help = "how many elements after x[0] it reads; it then gets pointers", .low = 0, .high = kMostHalo});
  v.field("params", params, {.help = "values of the function's other arguments, by name", .live = true});
}

StageEntry entry() {
  return {.family = "math",
          .name = "kernel",
          .summary = "a function of your own in CUDA C++, for CPU and GPU",
          .inputs = {{.name = "in", .elements = {Element::cf32}, .dims = "any"}},
          .outputs = {{.name = "out"}},
          .make = make_stage<KernelStage>,
          .sample =
              "kernel: {code: \"__device__ float2 f(float2 x, float k) { return make_float2(k * x.x, -k * x.y); }\", "
              "params: {k: 2}}",
          .tolerance = 1e-6};
}

}  // namespace iqd::kernel
