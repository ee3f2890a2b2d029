// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "base/views.hpp"

/// What the expressions of ops.def are made of; host and device code, no standard complex numbers, whose products look
/// for NaN and infinity and are slow for it.
namespace iqd::elementwise {

/// As cf32 in memory.
struct Complex {
  float re = 0;
  float im = 0;
};

IQD_HOST_DEVICE constexpr Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
IQD_HOST_DEVICE constexpr Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
/// A sum on both sides: of a difference beside a sum GCC 12 makes a fused multiply-add, -ffp-contract=off or not.
IQD_HOST_DEVICE constexpr Complex operator*(Complex a, Complex b) {
  return {a.re * b.re + a.im * -b.im, a.re * b.im + a.im * b.re};
}
IQD_HOST_DEVICE constexpr Complex operator*(Complex a, float b) {
  return {a.re * b, a.im * b};
}
IQD_HOST_DEVICE constexpr Complex conj(Complex x) {
  return {x.re, -x.im};
}
IQD_HOST_DEVICE constexpr float norm(Complex x) {
  return x.re * x.re + x.im * x.im;
}
IQD_HOST_DEVICE inline float root(float x) {
  return sqrtf(x);
}

}  // namespace iqd::elementwise
