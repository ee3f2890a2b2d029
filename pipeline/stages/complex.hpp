// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/element.hpp"

/// Complex numbers in the stages' CPU code.
namespace iqd::dsp {

/// a b. std::complex's product checks for infinities.
inline cf32 product(cf32 a, cf32 b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline std::complex<double> product(std::complex<double> a, std::complex<double> b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline cf32 product(cf32 a, float b) noexcept {
  return {a.real() * b, a.imag() * b};
}
/// |z|^2
inline double energy(cf32 z) noexcept {
  return double{z.real()} * double{z.real()} + double{z.imag()} * double{z.imag()};
}

}  // namespace iqd::dsp
