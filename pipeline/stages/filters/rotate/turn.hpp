// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/arithmetic.hpp"

namespace iqd::rotate {

/// One element's rotation for generated kernels, by its index alone; for NVRTC too. Phases in units of 2^-64 turns.
struct Turn {
  unsigned long long step;
  unsigned long long start;

  IQD_HOST_DEVICE constexpr void operator()(elementwise::Complex x, elementwise::Complex& y, long long n) const {
    y = elementwise::product(x, elementwise::phasor(start + step * static_cast<unsigned long long>(n)));
  }
};

}  // namespace iqd::rotate
