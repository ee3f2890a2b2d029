// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/element.hpp"

namespace iqd::mimo_channel_estimator {

/// The channel of one frame, as a sum of parts that move as known functions of time:
/// h(carrier c, symbol s, r, a) = sum over k of phi(s, k) parts(c, k, r, a).
struct FrameChannel {
  int functions;          // 1: it stands still
  const float* phi;       // [symbol 1 …][function]; null: the function is 1
  const float* data_phi;  // [data symbol][function]
  cf32* parts;            // [carrier][function][rx][tx]
};

}  // namespace iqd::mimo_channel_estimator
