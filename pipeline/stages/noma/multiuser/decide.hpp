// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>

#include "base/views.hpp"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "signal/formats/symbol_map.hpp"

/// Decisions on a symbol's estimate, for host and GPU.
namespace iqd::noma {

/// Max-log LLRs of the bits of one map, for estimates with complex noise of the given variance:
///
///   LLR = (min over levels with bit 1 of (x - a)^2 - min over levels with bit 0 of (x - a)^2) / noise
///
/// x is the axis that the bit belongs to. Finite for all finite estimates, and negative where the level nearest to x
/// has bit 1.
class Decider {
 public:
  IQD_HOST_DEVICE Decider(SymbolMap map, float noise)
      : axes_(map == SymbolMap::bpsk ? 1 : 2), bits_(axis_bits(map)), to_odd_(1 / axis_scale(map)) {
    factor_ = 1 / (to_odd_ * to_odd_ * noise);
  }

  /// Calls put(bit, llr) for each bit of the symbol.
  template <class Put> IQD_HOST_DEVICE void operator()(float re, float im, Put&& put) const {
    for (int axis = 0; axis < axes_; ++axis) {
      float x = fmaxf(-kFar, fminf(kFar, (axis == 0 ? re : im) * to_odd_));
      for (int b = 0; b < bits_; ++b) {
        const auto half = static_cast<float>(1 << (bits_ - b));
        put(b * axes_ + axis, llr_of_sign(x, half - 1));
        x = half / 2 - fabsf(x);  // Gray maps fold: the next bit is again a sign
      }
    }
  }

 private:
  static constexpr float kFar = 1e30f;

  /// Levels are odd numbers up to `top`; bit 0 for those above 0.
  IQD_HOST_DEVICE float llr_of_sign(float x, float top) const {
    const float nearest = 2 * floorf(x / 2) + 1;
    const float zero = fmaxf(1.0f, fminf(top, nearest));
    const float one = fminf(-1.0f, fmaxf(-top, nearest));
    const float llr = (one - zero) * (one + zero - 2 * x) * factor_;
    return fmaxf(-FLT_MAX, fminf(FLT_MAX, llr));
  }

  int axes_;
  int bits_;      // per axis
  float to_odd_;  // makes the levels odd numbers
  float factor_;
};

/// An LLR as its element type can hold it; i8 holds integers.
IQD_HOST_DEVICE inline float held_by(LlrForm form, float llr_scale, float llr) {
  if (form == LlrForm::i8) return fmaxf(-127.0f, fminf(127.0f, rintf(llr / llr_scale)));
  if (form == LlrForm::f16) return fmaxf(-65504.0f, fminf(65504.0f, llr));
  return llr;
}

}  // namespace iqd::noma
