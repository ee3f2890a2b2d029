// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "base/views.hpp"

namespace iqd::aph_estimator {

/// A complex number in double precision, for host and device. std::complex can be made, copied and read by a device;
/// but its sums and products compile there to nothing, without a word (nvcc 13.0), and on the host a product is a call
/// where NaN has to be looked after.
class Complex {
 public:
  constexpr Complex() = default;
  IQD_HOST_DEVICE constexpr Complex(double re, double im = 0) noexcept : re_(re), im_(im) {}
  template <class T> IQD_HOST_DEVICE constexpr Complex(std::complex<T> v) noexcept : re_(v.real()), im_(v.imag()) {}
  IQD_HOST_DEVICE constexpr double real() const noexcept { return re_; }
  IQD_HOST_DEVICE constexpr double imag() const noexcept { return im_; }
  template <class T> IQD_HOST_DEVICE constexpr explicit operator std::complex<T>() const noexcept {
    return {static_cast<T>(re_), static_cast<T>(im_)};
  }

  IQD_HOST_DEVICE constexpr Complex& operator+=(Complex o) noexcept { return *this = {re_ + o.re_, im_ + o.im_}; }
  IQD_HOST_DEVICE constexpr Complex& operator-=(Complex o) noexcept { return *this = {re_ - o.re_, im_ - o.im_}; }
  IQD_HOST_DEVICE constexpr Complex& operator*=(double f) noexcept { return *this = {re_ * f, im_ * f}; }
  IQD_HOST_DEVICE constexpr Complex& operator/=(double f) noexcept { return *this = {re_ / f, im_ / f}; }
  IQD_HOST_DEVICE friend constexpr Complex operator+(Complex a, Complex b) noexcept { return a += b; }
  IQD_HOST_DEVICE friend constexpr Complex operator-(Complex a, Complex b) noexcept { return a -= b; }
  IQD_HOST_DEVICE friend constexpr Complex operator*(double f, Complex a) noexcept { return a *= f; }

 private:
  double re_ = 0, im_ = 0;
};

IQD_HOST_DEVICE constexpr Complex conjugate(Complex a) noexcept {
  return {a.real(), -a.imag()};
}
IQD_HOST_DEVICE constexpr Complex product(Complex a, Complex b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
/// conj(a) b
IQD_HOST_DEVICE constexpr Complex conjugate_product(Complex a, Complex b) noexcept {
  return {a.real() * b.real() + a.imag() * b.imag(), a.real() * b.imag() - a.imag() * b.real()};
}
/// |a|^2
IQD_HOST_DEVICE constexpr double power_of(Complex a) noexcept {
  return a.real() * a.real() + a.imag() * a.imag();
}
/// a - b conj(c)
IQD_HOST_DEVICE constexpr Complex less(Complex a, Complex b, Complex c) noexcept {
  return {a.real() - (b.real() * c.real() + b.imag() * c.imag()),
          a.imag() - (b.imag() * c.real() - b.real() * c.imag())};
}

}  // namespace iqd::aph_estimator
