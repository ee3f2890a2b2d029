// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>

#include "base/views.hpp"

namespace iqd::framer {

/// T from the sums over the chips of weight x, x and x^2. If the samples hardly differ, their variance is rounding
/// noise, and T is 0.
IQD_HOST_DEVICE inline float metric_of(float weighted, float plain, float squares, float chips) noexcept {
  const float variance = squares - plain * plain / chips;
  if (!(variance > 1e-5f * squares) || !(squares <= FLT_MAX)) return 0;
  const float t = weighted / sqrtf(variance);
  return t <= FLT_MAX ? t : 0;
}

}  // namespace iqd::framer
