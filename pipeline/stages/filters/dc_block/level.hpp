// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

namespace iqd::dc_block {

/// The sum of the weights length - |k| of what there is, `before` samples before one and `behind` behind it.
IQD_HOST_DEVICE inline double weight_of(std::int64_t length, std::int64_t before, std::int64_t behind) noexcept {
  const std::int64_t a = before < length - 1 ? before : length - 1, b = behind < length - 1 ? behind : length - 1;
  return static_cast<double>(length * (1 + a + b) - a * (a + 1) / 2 - b * (b + 1) / 2);
}

}  // namespace iqd::dc_block
