// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/fft_radix.hpp"

namespace iqd::telemetry {

/// exp(-j 2 pi m / size), m = 0 … count - 1, on the device.
inline gpu::DeviceArray<gpu::Complex32> roots(int size, int count) {
  std::vector<gpu::Complex32> values;
  for (int m = 0; m < count; ++m) {
    const double angle = 2 * std::numbers::pi * m / size;
    values.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(-std::sin(angle))});
  }
  return gpu::DeviceArray<gpu::Complex32>(std::span<const gpu::Complex32>(values));
}

}  // namespace iqd::telemetry
