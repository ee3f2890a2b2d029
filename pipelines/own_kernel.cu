// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Two functions for own_kernel.yaml. Each is called once per sample.

/// Limits the magnitude to `most` and keeps the phase.
__device__ float2 limit(float2 x, float most) {
  const float length = sqrtf(x.x * x.x + x.y * x.y);
  const float scale = length > most ? most / length : 1.0f;
  return make_float2(scale * x.x, scale * x.y);
}

/// gain (x(n) - x(n-1)); needs `past: 1`, which makes x[-1] the sample before.
__device__ float2 slope(const float2* x, float gain) {
  return make_float2(gain * (x[0].x - x[-1].x), gain * (x[0].y - x[-1].y));
}
