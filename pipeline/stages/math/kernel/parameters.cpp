// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "config/quantity.hpp"

namespace iqd::kernel {
namespace {

struct ParameterType {
  std::string_view name;
  bool is_complex;
  bool is_whole;
  double low;
  double high;
};
constexpr double kFloat = std::numeric_limits<float>::max();
constexpr double kDouble = std::numeric_limits<double>::max();
constexpr ParameterType kTypes[] = {{"float", false, false, -kFloat, kFloat},
                                    {"double", false, false, -kDouble, kDouble},
                                    {"float2", true, false, -kFloat, kFloat},
                                    {"int", false, true, -0x1p31, 0x1p31 - 1},
                                    {"int32_t", false, true, -0x1p31, 0x1p31 - 1},
                                    {"short", false, true, -0x1p15, 0x1p15 - 1},
                                    {"unsigned", false, true, 0, 0x1p32 - 1},
                                    {"unsigned int", false, true, 0, 0x1p32 - 1},
                                    {"uint32_t", false, true, 0, 0x1p32 - 1},
                                    {"long long", false, true, -0x1p53, 0x1p53},
                                    {"bool", false, true, 0, 1}};

const ParameterType* parameter_type(std::string_view name) {
  const auto at = std::ranges::find(kTypes, name, &ParameterType::name);
  return at == std::end(kTypes) ? nullptr : &*at;
}

/// `2.0`, `0.3-0.1j`, `[0.3, -0.1]`, `true`
std::optional<std::complex<double>> parse_value(std::string_view text) {
  if (text == "true" || text == "false") return text == "true" ? 1.0 : 0.0;
  if (!text.starts_with('[')) return parse_complex(text);
  const std::size_t comma = text.find(',');
  if (comma == text.npos || !text.ends_with(']')) return std::nullopt;
  const auto re = parse_complex(text.substr(1, comma - 1));
  std::string_view rest = text.substr(comma + 1, text.size() - comma - 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto im = parse_complex(rest);
  if (!re || !im || re->imag() != 0 || im->imag() != 0) return std::nullopt;
  return std::complex<double>(re->real(), im->real());
}

/// Why a parameter cannot have a value; empty if it can.
std::string misfit(const ParameterType& type, std::complex<double> value) {
  const auto in_range = [&](double x) { return x >= type.low && x <= type.high; };
  if (value.imag() != 0 && !type.is_complex) return fmt::format("is complex, but the parameter is {}", type.name);
  if (!in_range(value.real()) || (type.is_complex && !in_range(value.imag())))
    return fmt::format("is out of range for {}", type.name);
  if (type.is_whole && value.real() != std::floor(value.real()))
    return fmt::format("is not a whole number, but the parameter is {}", type.name);
  return {};
}

}  // namespace

bool is_parameter_type(std::string_view type) noexcept {
  return parameter_type(type) != nullptr;
}

std::optional<Parameter> read_parameter(std::string_view type, std::string_view text, std::string& why) {
  const ParameterType& into = *parameter_type(type);
  const auto value = parse_value(text);
  why = value ? misfit(into, *value) : "is not a number (2.5, 0.3-0.1j or [0.3, -0.1])";
  if (!why.empty()) return std::nullopt;
  return Parameter{value->real(), static_cast<float>(value->real()), static_cast<float>(value->imag()),
                   into.is_whole ? static_cast<std::int64_t>(value->real()) : 0};
}

std::string_view type_for(std::string_view text) {
  const auto value = parse_value(text);
  return value && value->imag() != 0 ? "float2" : "float";
}

}  // namespace iqd::kernel
