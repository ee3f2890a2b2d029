// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "base/element.hpp"
#include "base/views.hpp"
#include "pipeline/stages/transmit/aph_estimator/products.hpp"
#include "signal/transmit/aph.hpp"

namespace iqd::aph_estimator {

/// z(n) - (Psi(u) h)(n) by the sum of the definition, in double precision. `u` points to sample n, after `taps` - 1
/// others.
IQD_HOST_DEVICE inline Complex64 unexplained(const AphOrders& orders, cf32 z, const Complex64* u,
                                             const cf32* h) noexcept {
  const int mains = orders.main_branches(), branches = orders.branches(), taps = orders.taps;
  const cf32 c = h[orders.constant_at()];
  double re = static_cast<double>(z.real()) - c.real(), im = static_cast<double>(z.imag()) - c.imag();
  for (int k = 0; k < taps; ++k) {
    const Complex64 x = u[-k];
    const double a = power_of(x);
    double main_re = 0, main_im = 0, other_re = 0, other_im = 0;
    for (int b = mains - 1; b >= 0; --b) {
      main_re = main_re * a + h[b * taps + k].real();
      main_im = main_im * a + h[b * taps + k].imag();
    }
    for (int b = branches - 1; b >= mains; --b) {
      other_re = other_re * a + h[b * taps + k].real();
      other_im = other_im * a + h[b * taps + k].imag();
    }
    re -= x.real() * (main_re + other_re) - x.imag() * (main_im - other_im);
    im -= x.real() * (main_im + other_im) + x.imag() * (main_re - other_re);
  }
  return {re, im};
}

/// |z - Psi(u) h|^2 / |z|^2
struct Residual {
  double error = 0, energy = 0;
  IQD_HOST_DEVICE void add(cf32 z, Complex64 wrong) noexcept {
    error += power_of(wrong);
    energy += power_of(z);
  }
  IQD_HOST_DEVICE Residual& operator+=(const Residual& o) noexcept {
    error += o.error;
    energy += o.energy;
    return *this;
  }
  IQD_HOST_DEVICE double ratio() const noexcept { return error / energy; }
};

/// G = <z, u> / <z, z>, for a u that is not yet divided by it.
struct Cross {
  Complex64 both;
  double z_energy = 0, u_energy = 0;
  IQD_HOST_DEVICE void add(cf32 z, Complex64 u) noexcept {
    both += conjugate_product(z, u);
    z_energy += power_of(z);
    u_energy += power_of(u);
  }
  IQD_HOST_DEVICE Cross& operator+=(const Cross& o) noexcept {
    both += o.both;
    z_energy += o.z_energy;
    u_energy += o.u_energy;
    return *this;
  }
  /// With this magnitude, unless it is NaN.
  IQD_HOST_DEVICE Complex64 gain(double magnitude) const noexcept {
    const Complex64 g(both.real() / z_energy, both.imag() / z_energy);
    const double factor = magnitude > 0 ? magnitude / sqrt(power_of(g)) : 1;
    return factor * g;
  }
};
/// The factor of u.
IQD_HOST_DEVICE inline Complex64 inverse(Complex64 gain) noexcept {
  const double power = power_of(gain);
  return {gain.real() / power, -gain.imag() / power};
}

}  // namespace iqd::aph_estimator
