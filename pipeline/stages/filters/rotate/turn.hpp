// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/arithmetic.hpp"

namespace iqd::rotate {

/// The rotation of one element on a GPU, from its index alone; NVRTC compiles this too. Phases are in units of 2^-64
/// turns.
struct Turn {
  using Input = elementwise::Complex;
  using Output = elementwise::Complex;
  static constexpr int kInputs = 1;
  static constexpr int kOutputs = 1;

  unsigned long long step;
  unsigned long long start;

  IQD_HOST_DEVICE constexpr void operator()(Input x, Output& y, long long n) const {
    y = elementwise::product(x, elementwise::phasor(start + step * static_cast<unsigned long long>(n)));
  }
};

}  // namespace iqd::rotate
