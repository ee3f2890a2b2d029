// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "signal/formats/qam.hpp"

namespace iqd::mtt_detector {

/// The levels of an axis by label, and of both axes of a symbol by its number.
template <int kAxis> struct Points {
  static constexpr int kLevels = 1 << kAxis;
  static constexpr int kCount = kLevels * kLevels;

  float level[kLevels];
  std::uint8_t real[kCount], imag[kCount];  // labels
  float re[kCount], im[kCount];

  constexpr Points() : level(), real(), imag(), re(), im() {
    for (unsigned i = 0; i < kLevels; ++i) level[i] = static_cast<float>(qam::amplitude(kAxis, i));
    for (unsigned i = 0; i < kLevels; ++i)
      for (unsigned j = 0; j < kLevels; ++j) {
        const unsigned q = qam::weave(kAxis, i, j);
        real[q] = static_cast<std::uint8_t>(i);
        imag[q] = static_cast<std::uint8_t>(j);
        re[q] = level[i];
        im[q] = level[j];
      }
  }
};

}  // namespace iqd::mtt_detector
