// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd::fusion {
namespace {

constexpr std::size_t kWidest = 16;        // bytes per access
constexpr std::size_t kMostAccesses = 4;   // per thread and port
constexpr std::size_t kMostElements = 16;  // per thread, so that the code stays short
constexpr std::size_t kAlign = 16;         // of a call's parameters

std::string_view type_of(const ElementProgram& p, std::size_t value) {
  return device_type(p.values[value]);
}

/// The lines of a body that makes every value of the program.
std::string body_of(const ElementProgram& p) {
  std::string text;
  for (std::size_t c = 0; c < p.calls.size(); ++c) {
    const ElementProgram::Call& call = p.calls[c];
    std::string arguments;
    for (const std::size_t v : call.in) arguments += fmt::format("v{}, ", v);
    for (const std::size_t v : call.out) arguments += fmt::format("v{}, ", v);
    for (const std::size_t v : call.out)
      if (std::ranges::find(p.outputs, v) == p.outputs.end()) text += fmt::format("    {} v{};\n", type_of(p, v), v);
    text += fmt::format("    call{}({}n);\n", c, arguments);
  }
  return text;
}

/// The kernel's argument, and what it does with an element.
std::string struct_of(const ElementProgram& p, const std::vector<ElementCode::DeviceCode>& codes) {
  std::vector<std::string> inputs, outputs, parameters;
  std::string members;
  for (std::size_t v = 0; v < p.inputs; ++v) {
    inputs.push_back(fmt::format("iqd::fusion::Port<{}, {}>", v, type_of(p, v)));
    parameters.push_back(fmt::format("{} v{}", type_of(p, v), v));
  }
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    outputs.push_back(fmt::format("iqd::fusion::Port<{}, {}>", o, type_of(p, p.outputs[o])));
    parameters.push_back(fmt::format("{}& v{}", type_of(p, p.outputs[o]), p.outputs[o]));
  }
  for (std::size_t c = 0; c < codes.size(); ++c)
    members += fmt::format("  alignas({}) {} call{};\n  static_assert(sizeof call{} == {});\n", kAlign, codes[c].type,
                           c, c, std::max<std::size_t>(codes[c].parameters.size(), 1));
  return fmt::format(
      "struct Fused {{\n"
      "  using Inputs = iqd::fusion::Ports<{}>;\n  using Outputs = iqd::fusion::Ports<{}>;\n{}"
      "  __device__ void operator()({}, [[maybe_unused]] long long n) const {{\n{}  }}\n}};\n",
      fmt::join(inputs, ", "), fmt::join(outputs, ", "), members, fmt::join(parameters, ", "), body_of(p));
}

}  // namespace

std::string_view device_type(Element element) noexcept {
  switch (element) {
    case Element::sc16: return "iqd::elementwise::Complex16";
    case Element::cf32: return "iqd::elementwise::Complex";
    case Element::f32: return "float";
    case Element::i64: return "long long";
    case Element::i32: return "int";
    case Element::i16: return "short";
    case Element::i8: return "signed char";
    case Element::u8: return "unsigned char";
    case Element::f16: break;
  }
  return {};
}

KernelText kernel_text(const ElementProgram& program) {
  KernelText kernel;
  std::size_t widest = 1;
  for (std::size_t v = 0; v < program.inputs; ++v) widest = std::max(widest, size_of(program.values[v]));
  for (const std::size_t v : program.outputs) widest = std::max(widest, size_of(program.values[v]));
  const std::size_t width = kWidest / widest;
  kernel.width = static_cast<int>(width);
  kernel.accesses = static_cast<int>(std::clamp<std::size_t>(kMostElements / width, 1, kMostAccesses));

  std::vector<ElementCode::DeviceCode> codes;
  std::vector<std::string> texts{"#include \"pipeline/plan/fusion/fused_rows.cuh\"",
                                 "#include \"pipeline/stages/arithmetic.hpp\""};
  for (const ElementProgram::Call& call : program.calls) {
    codes.push_back(call.code->device_code().value());
    const ElementCode::DeviceCode& code = codes.back();
    if (std::ranges::find(texts, code.text) == texts.end()) texts.push_back(code.text);
    const std::size_t at = kernel.parameters.size();
    kernel.parameters.resize(at + (std::max<std::size_t>(code.parameters.size(), 1) + kAlign - 1) / kAlign * kAlign);
    std::ranges::copy(code.parameters, kernel.parameters.begin() + static_cast<std::ptrdiff_t>(at));
  }
  kernel.source = fmt::format(
      "{}\n{}\n"
      "extern \"C\" __global__ void __launch_bounds__(iqd::fusion::kJobThreads)\n"
      "    iqd_fused(const __grid_constant__ Fused fused, const __grid_constant__ iqd::fusion::Job job) {{\n"
      "  iqd::fusion::map_elements<{}, {}>(fused, job);\n}}\n",
      fmt::join(texts, "\n"), struct_of(program, codes), kernel.accesses, kernel.width);
  return kernel;
}

}  // namespace iqd::fusion
