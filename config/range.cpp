// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/range.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config/quantity.hpp"

namespace iqd {

std::string range_fault(double value, const FieldInfo& info) {
  const std::string low = quantity_text(info.low, info.unit);
  const std::string high = quantity_text(info.high, info.unit);
  const std::string got = quantity_text(value, info.unit);
  if (std::isinf(info.high)) return fmt::format("must be at least {}, is {}", low, got);
  if (std::isinf(info.low)) return fmt::format("must be at most {}, is {}", high, got);
  return fmt::format("must be between {} and {}, is {}", low, high, got);
}

std::string unit_doubt(std::string_view text, double value, const FieldInfo& info) {
  const double size = std::fabs(value);
  if (value == 0 || (size >= info.bare_low && size <= info.bare_high) || has_unit(text)) return {};
  return fmt::format("{} has no unit, so it is {}; write the unit that you mean: {}", text,
                     quantity_text(value, info.unit), unit_choice(info.unit));
}

}  // namespace iqd
