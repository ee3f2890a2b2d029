// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "base/views.hpp"

namespace iqd::dsp {

/// A sample's contribution to a sum over a window: |x|^2, or 0 if that is not finite.
IQD_HOST_DEVICE inline double power_of(float re, float im) noexcept {
  const float power = re * re + im * im;
  return power <= std::numeric_limits<float>::max() ? static_cast<double>(power) : 0.0;
}

}  // namespace iqd::dsp
