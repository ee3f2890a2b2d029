// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "base/views.hpp"

namespace iqd::aph_estimator {

/// A complex number in double precision, for host and device. Device code can create, copy and read std::complex, but
/// its sums and products silently compile to nothing there (nvcc 13.0), and on the host a product is a function call
/// that checks for NaN.
class Complex64 {
 public:
  constexpr Complex64() = default;
  IQD_HOST_DEVICE constexpr Complex64(double re, double im = 0) noexcept : re_(re), im_(im) {}
  template <class T> IQD_HOST_DEVICE constexpr Complex64(std::complex<T> v) noexcept : re_(v.real()), im_(v.imag()) {}
  IQD_HOST_DEVICE constexpr double real() const noexcept { return re_; }
  IQD_HOST_DEVICE constexpr double imag() const noexcept { return im_; }
  template <class T> IQD_HOST_DEVICE constexpr explicit operator std::complex<T>() const noexcept {
    return {static_cast<T>(re_), static_cast<T>(im_)};
  }

  IQD_HOST_DEVICE constexpr Complex64& operator+=(Complex64 o) noexcept { return *this = {re_ + o.re_, im_ + o.im_}; }
  IQD_HOST_DEVICE constexpr Complex64& operator-=(Complex64 o) noexcept { return *this = {re_ - o.re_, im_ - o.im_}; }
  IQD_HOST_DEVICE constexpr Complex64& operator*=(double f) noexcept { return *this = {re_ * f, im_ * f}; }
  IQD_HOST_DEVICE constexpr Complex64& operator/=(double f) noexcept { return *this = {re_ / f, im_ / f}; }
  IQD_HOST_DEVICE friend constexpr Complex64 operator+(Complex64 a, Complex64 b) noexcept { return a += b; }
  IQD_HOST_DEVICE friend constexpr Complex64 operator-(Complex64 a, Complex64 b) noexcept { return a -= b; }
  IQD_HOST_DEVICE friend constexpr Complex64 operator*(double f, Complex64 a) noexcept { return a *= f; }

 private:
  double re_ = 0, im_ = 0;
};

IQD_HOST_DEVICE constexpr Complex64 conjugate(Complex64 a) noexcept {
  return {a.real(), -a.imag()};
}
IQD_HOST_DEVICE constexpr Complex64 product(Complex64 a, Complex64 b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
/// conj(a) b
IQD_HOST_DEVICE constexpr Complex64 conjugate_product(Complex64 a, Complex64 b) noexcept {
  return {a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real()};
}
/// |a|^2
IQD_HOST_DEVICE constexpr double power_of(Complex64 a) noexcept {
  return a.real() * a.real() + a.imag() * a.imag();
}
/// a - b conj(c)
IQD_HOST_DEVICE constexpr Complex64 less(Complex64 a, Complex64 b, Complex64 c) noexcept {
  return {a.real() - (b.real() * c.real() + b.imag() * c.imag()),
          a.imag() - (b.imag() * c.real() - b.real() * c.imag())};
}

}  // namespace iqd::aph_estimator
