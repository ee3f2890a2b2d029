// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/texts.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>

#include "base/files/file_cache.hpp"
#include "pipeline/stages/math/kernel/element_types.hpp"

namespace iqd::kernel {
namespace {

constexpr const char* kHostPrelude =
#include "pipeline/stages/math/kernel/host_prelude.inc"
    ;
constexpr const char* kHostAdapter =
#include "pipeline/stages/math/kernel/host_adapter.inc"
    ;
constexpr const char* kDevicePrelude =
#include "pipeline/stages/math/kernel/device_prelude.inc"
    ;
constexpr const char* kDeviceAdapter =
#include "pipeline/stages/math/kernel/device_adapter.inc"
    ;

std::string own_part(int line = 1) {
  return fmt::format("\n#line {} \"{}\"\n", line, kOwnPart);
}

/// The user's text, with its own file name and line numbers.
std::string users_part(const Program& p) {
  std::string name;
  for (const char c : p.name) name += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return fmt::format("\n#line {} \"{}\"\n{}\n", p.first_line, name, p.text);
}

std::string argument(const std::string& type, std::size_t i) {
  if (type == "float") return fmt::format("p[{}].re", i);
  if (type == "double") return fmt::format("p[{}].number", i);
  if (type == "float2") return fmt::format("make_float2(p[{0}].re, p[{0}].im)", i);
  return fmt::format("static_cast<{}>(p[{}].whole)", type, i);
}

/// The types and the call. iqd_call always takes pointers, so that the code around it is the same.
std::string call(const Program& p) {
  const std::string_view last = type_name(p.in.back());
  std::string text = fmt::format(
      "using IqdX0 = {};\nusing IqdX1 = {};\nusing IqdY = {};\n"
      "constexpr int kIqdInputs = {}, kIqdPast = {}, kIqdFuture = {};\n"
      "struct IqdParameter {{ double number; float re, im; long long whole; }};\n"
      "__device__ inline IqdY iqd_call(const IqdX0* x0, const IqdX1* x1, const IqdParameter* p) {{\n  return {}(",
      type_name(p.in.front()), last, type_name(p.out), p.in.size(), p.past, p.future, p.function);
  for (std::size_t i = 0; i < p.in.size(); ++i)
    text += fmt::format("{}{}x{}", i ? ", " : "", p.element_wise() ? "*" : "", i);
  for (std::size_t i = 0; i < p.types.size(); ++i) text += ", " + argument(p.types[i], i);
  return text + ");\n}\n";
}

/// Whether the text has directives, which would affect all the texts of a generated kernel.
bool has_directives(std::string_view text) {
  return text.find("#include") != text.npos || text.find("#define") != text.npos || text.find("# ") != text.npos ||
         text.find("#undef") != text.npos;
}

/// Contains a hash of the included texts, since the caches use the text as key.
std::string whole(const Program& program, const char* prelude, const char* adapter) {
  return fmt::format("// with {}\n#line 1 \"{}\"\n{}{}{}{}{}", content_key({program.included}), kOwnPart, prelude,
                     users_part(program), own_part(), call(program), adapter);
}

}  // namespace

std::string host_text(const Program& program) {
  return whole(program, kHostPrelude, kHostAdapter);
}

std::string device_text(const Program& program) {
  return whole(program, kDevicePrelude, kDeviceAdapter);
}

std::optional<ElementCode::DeviceCode> shared_text(const Program& program) {
  if (!program.element_wise() || has_directives(program.text)) return std::nullopt;
  const std::string body = users_part(program) + own_part() + call(program);
  const std::string space = "iqd_kernel_" + content_key({body});
  // The generated kernel has its own element types, with the same bytes.
  std::string text = fmt::format(
      "#ifndef IQD_KERNEL_PRELUDE\n#define IQD_KERNEL_PRELUDE\n{}"
      "template <class To, class From> __device__ To iqd_bytes(const From& from) {{\n"
      "  static_assert(sizeof(To) == sizeof(From));\n  return __builtin_bit_cast(To, from);\n}}\n#endif\n"
      "#ifndef {}\n#define {}\nnamespace {} {{{}",
      kDevicePrelude, space, space, space, body);
  const bool two = program.in.size() == 2;
  text += fmt::format(
      "struct Call {{\n  IqdParameter p[{}];\n"
      "  template <class A{}, class Y> __device__ void operator()(const A& a{}, Y& y, long long) const {{\n"
      "    const IqdX0 x0 = iqd_bytes<IqdX0>(a);\n    const IqdX1 x1 = iqd_bytes<IqdX1>({});\n"
      "    y = iqd_bytes<Y>(iqd_call(&x0, &x1, p));\n  }}\n}};\n}}  // namespace\n#endif\n",
      std::max<std::size_t>(program.values.size(), 1), two ? ", class B" : "", two ? ", const B& b" : "",
      two ? "b" : "a");
  std::vector<Parameter> values = program.values;
  values.resize(std::max<std::size_t>(values.size(), 1));
  const auto bytes = std::as_bytes(std::span(values));
  return ElementCode::DeviceCode{std::move(text), space + "::Call", {bytes.begin(), bytes.end()}};
}

}  // namespace iqd::kernel
