// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/element_types.hpp"

#include <algorithm>
#include <vector>

namespace iqd::kernel {
namespace {

/// The types that an element may have in a declaration; messages show the first.
struct ElementName {
  Element element;
  std::vector<std::string_view> types;
};
const std::vector<ElementName>& element_names() {
  static const std::vector<ElementName> names{{Element::cf32, {"float2"}},
                                              {Element::sc16, {"short2"}},
                                              {Element::f32, {"float"}},
                                              {Element::i32, {"int", "int32_t"}},
                                              {Element::i16, {"short", "int16_t"}},
                                              {Element::i8, {"signed char", "int8_t"}},
                                              {Element::u8, {"unsigned char", "uint8_t"}}};
  return names;
}

const ElementName* name_for(Element element) {
  const auto at = std::ranges::find(element_names(), element, &ElementName::element);
  return at == element_names().end() ? nullptr : &*at;
}

}  // namespace

std::string_view type_name(Element element) noexcept {
  const ElementName* name = name_for(element);
  return name ? name->types.front() : std::string_view{};
}

bool is_type_of(Element element, std::string_view type) noexcept {
  const ElementName* name = name_for(element);
  return name && std::ranges::find(name->types, type) != name->types.end();
}

}  // namespace iqd::kernel
