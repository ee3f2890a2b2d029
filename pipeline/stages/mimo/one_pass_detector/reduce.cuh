// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/mimo/paths.cuh"

namespace iqd::one_pass_detector {

/// Puts the path of least cost into every symbol, the first of equal ones; one thread per symbol.
template <class Paths> IQD_HOST_DEVICE int reduce(Paths& paths) {
  for (int q = paths.lane(); q < Paths::kPoints; q += paths.lanes()) {
    const int i = Paths::real_of(q), j = Paths::imag_of(q);
    float least = INFINITY;
    int parent = 0;
    for (int k = 0; k < paths.size(); ++k) {
      const float cost = paths.cost_re(k)[i] + paths.cost_im(k)[j];
      if (cost < least) {
        least = cost;
        parent = k;
      }
    }
    paths.put(q, parent, q, least);
  }
  return Paths::kPoints;
}

}  // namespace iqd::one_pass_detector
