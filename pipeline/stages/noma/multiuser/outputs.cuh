// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>

#include <cfloat>
#include <cstdint>

#include "pipeline/stages/noma/multiuser/decide.hpp"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"

/// Parameters of all detection kernels, and how they write their results.
namespace iqd::noma {

/// The part of a Method that detection needs; small enough for kernel parameters.
struct DetectShape {
  int antennas;
  int users;
  int data;
  int dictionary;    // places; 0: the model is linear
  int first_kernel;  // places before it have no kernels
  int bits;
  SymbolMap map;
  LlrForm form;
  float llr_scale;
  float linear;
  float gaussian;
  float exponent;
  unsigned long long used;  // one bit per antenna

  explicit DetectShape(const Method& m)
      : antennas(m.antennas),
        users(m.users),
        data(static_cast<int>(m.data)),
        dictionary(m.passes == 0 || m.gaussian == 0 ? 0 : static_cast<int>(m.dictionary)),
        first_kernel(m.old_places() > 0 ? 0 : static_cast<int>(m.pilots - m.kernels)),
        bits(m.bits()),
        map(m.map),
        form(m.form),
        llr_scale(m.llr_scale),
        linear(m.linear),
        gaussian(m.gaussian),
        exponent(m.exponent),
        used(0) {
    for (int a = 0; a < m.antennas; ++a)
      used |= static_cast<unsigned long long>(m.used[static_cast<std::size_t>(a)]) << a;
  }
};

/// The model on the GPU, its complex values as kernels load them.
struct ModelView {
  const float2* x;
  const float* norm;
  const float2* gamma;
  const float2* c;
  const float* noise;
  const float* unit;
  const float* scale;

  explicit ModelView(const Model& m)
      : x(reinterpret_cast<const float2*>(m.x)),
        norm(m.norm),
        gamma(reinterpret_cast<const float2*>(m.gamma)),
        c(reinterpret_cast<const float2*>(m.c)),
        noise(m.noise),
        unit(m.unit),
        scale(m.scale) {}
};

/// One frame of a block; outputs may be null.
struct FrameJob {
  const float2* rx;
  const std::int32_t* frames;
  int frame;
  float2* symbols;
  void* llr;
  std::uint8_t* bits;
  unsigned long long* erased;

  FrameJob(const DetectShape& shape, const Job& job, int f, std::int64_t* erased_count)
      : rx(reinterpret_cast<const float2*>(job.rx) + std::int64_t{f} * shape.data * shape.antennas),
        frames(job.frames),
        frame(f),
        symbols(reinterpret_cast<float2*>(job.symbols)),
        llr(job.llr),
        bits(job.bits),
        erased(reinterpret_cast<unsigned long long*>(erased_count)) {}

  /// The frame does not exist, so nothing of it may be read.
  __device__ bool idle() const { return frame >= *frames; }
};

/// The gain times the sample of an antenna in use; 0 for other antennas, whatever they received.
__device__ inline float2 scaled_sample(const DetectShape& shape, const float2* row, int antenna, float scale) {
  if (antenna >= shape.antennas || !(shape.used >> antenna & 1)) return {0, 0};
  const float2 r = row[antenna];
  return {r.x * scale, r.y * scale};
}
__device__ inline bool is_finite(float2 x) {
  return fabsf(x.x) <= FLT_MAX && fabsf(x.y) <= FLT_MAX;
}

/// z + conj(c) x
__device__ inline float2 add_filtered(float2 c, float2 x, float2 z) {
  return {fmaf(c.x, x.x, fmaf(c.y, x.y, z.x)), fmaf(c.x, x.y, fmaf(-c.y, x.x, z.y))};
}

__device__ inline void put_llr(const DetectShape& shape, void* llr, std::int64_t i, float value) {
  const float held = held_by(shape.form, shape.llr_scale, value);
  if (shape.form == LlrForm::f32)
    static_cast<float*>(llr)[i] = held;
  else if (shape.form == LlrForm::f16)
    static_cast<__half*>(llr)[i] = __float2half_rn(held);
  else
    static_cast<std::int8_t*>(llr)[i] = static_cast<std::int8_t>(held);
}

/// Writes the results of a user's estimate z of data vector t.
__device__ inline void put_symbol(const DetectShape& shape, const FrameJob& job, float noise, int user, int t, float2 z,
                                  bool erased) {
  const std::int64_t n = (std::int64_t{job.frame} * shape.users + user) * shape.data + t;
  if (job.symbols != nullptr) job.symbols[n] = erased ? float2{0, 0} : z;
  if (job.llr == nullptr && job.bits == nullptr) return;
  const Decider decide(shape.map, noise);
  decide(z.x, z.y, [&](int bit, float value) {
    const float llr = erased ? 0 : value;
    if (job.llr != nullptr) put_llr(shape, job.llr, n * shape.bits + bit, llr);
    if (job.bits != nullptr) job.bits[n * shape.bits + bit] = llr < 0;
  });
}

}  // namespace iqd::noma
