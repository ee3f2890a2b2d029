// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "signal/channels/white_noise.hpp"

namespace iqd::sim {

using cf32 = std::complex<float>;
using Noise = WhiteNoise;

}  // namespace iqd::sim
