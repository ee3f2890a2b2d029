// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "base/views.hpp"

/// Covariances of a few antennas, for host and device, in double precision.
namespace iqd {

inline constexpr int kMostCovariance = 8;

/// A lower triangle: of a Hermitian matrix, or alone.
struct Covariance {
  double re[kMostCovariance][kMostCovariance] = {};
  double im[kMostCovariance][kMostCovariance] = {};

  /// + x x^H
  template <class T> IQD_HOST_DEVICE void add(const T* x_re, const T* x_im, int order) noexcept {
    for (int i = 0; i < order; ++i)
      for (int j = 0; j <= i; ++j) {
        re[i][j] += double{x_re[i]} * x_re[j] + double{x_im[i]} * x_im[j];
        im[i][j] += double{x_im[i]} * x_re[j] - double{x_re[i]} * x_im[j];
      }
  }
  IQD_HOST_DEVICE void scale(double factor, int order) noexcept {
    for (int i = 0; i < order; ++i)
      for (int j = 0; j <= i; ++j) re[i][j] *= factor, im[i][j] *= factor;
  }
  IQD_HOST_DEVICE double trace(int order) const noexcept {
    double sum = 0;
    for (int i = 0; i < order; ++i) sum += re[i][i];
    return sum;
  }
  /// The trace of the square.
  IQD_HOST_DEVICE double square(int order) const noexcept {
    double sum = 0;
    for (int i = 0; i < order; ++i) {
      sum += re[i][i] * re[i][i];
      for (int j = 0; j < i; ++j) sum += 2 * (re[i][j] * re[i][j] + im[i][j] * im[i][j]);
    }
    return sum;
  }
};

/// The covariance of `count` samples moves as far towards white as that many samples of white noise stray from it.
/// `antennas`: those that are not silent; the others' rows are 0 and stay so.
IQD_HOST_DEVICE inline void shrink(Covariance& s, double count, int order, int antennas) noexcept {
  if (antennas == 0) return;
  const double trace = s.trace(order), mean = trace / antennas;
  const double apart = s.square(order) - trace * mean;
  const double strays = trace * trace / count;
  if (!(trace > 0)) return;
  const double share = apart > strays ? strays / apart : 1;
  for (int i = 0; i < order; ++i) {
    for (int j = 0; j < i; ++j) s.re[i][j] *= 1 - share, s.im[i][j] *= 1 - share;
    if (s.re[i][i] > 0) s.re[i][i] += share * (mean - s.re[i][i]);
  }
}

/// L of S = L L^H replaces S. An antenna without power (a zero on the diagonal) gets a row and a column of zeros.
IQD_HOST_DEVICE inline void take_root(Covariance& s, int order) noexcept {
  for (int j = 0; j < order; ++j) {
    double d = s.re[j][j];
    for (int k = 0; k < j; ++k) d -= s.re[j][k] * s.re[j][k] + s.im[j][k] * s.im[j][k];
    const double own = d > 0 ? sqrt(d) : 0;
    s.re[j][j] = own, s.im[j][j] = 0;
    for (int i = j + 1; i < order; ++i) {
      double re = s.re[i][j], im = s.im[i][j];
      for (int k = 0; k < j; ++k) {
        re -= s.re[i][k] * s.re[j][k] + s.im[i][k] * s.im[j][k];
        im -= s.im[i][k] * s.re[j][k] - s.re[i][k] * s.im[j][k];
      }
      s.re[i][j] = own > 0 ? re / own : 0;
      s.im[i][j] = own > 0 ? im / own : 0;
    }
  }
}

/// L^-1 replaces L; rows and columns of zeros stay.
IQD_HOST_DEVICE inline void invert_root(Covariance& s, int order) noexcept {
  // Row i of the inverse, from the rows above it: - (sum over k of L(i, k) inverse(k, j)) / L(i, i)
  for (int i = 0; i < order; ++i) {
    const double scale = s.re[i][i] > 0 ? 1 / s.re[i][i] : 0;
    double row_re[kMostCovariance], row_im[kMostCovariance];
    for (int j = 0; j < i; ++j) {
      double re = 0, im = 0;
      for (int k = j; k < i; ++k) {
        re += s.re[i][k] * s.re[k][j] - s.im[i][k] * s.im[k][j];
        im += s.re[i][k] * s.im[k][j] + s.im[i][k] * s.re[k][j];
      }
      row_re[j] = -scale * re, row_im[j] = -scale * im;
    }
    for (int j = 0; j < i; ++j) s.re[i][j] = row_re[j], s.im[i][j] = row_im[j];
    s.re[i][i] = scale;
  }
}

/// An antenna's power over what the other antennas do not show of it, mean of all that are not silent: 1 if they have
/// nothing in common. `inverse`: L^-1 of S = L L^H.
IQD_HOST_DEVICE inline double common_power(const Covariance& s, const Covariance& inverse, int order) noexcept {
  double sum = 0, antennas = 0;
  for (int r = 0; r < order; ++r) {
    if (!(s.re[r][r] > 0)) continue;
    double own = 0;  // of S^-1 on the diagonal
    for (int i = r; i < order; ++i) own += inverse.re[i][r] * inverse.re[i][r] + inverse.im[i][r] * inverse.im[i][r];
    sum += s.re[r][r] * own, ++antennas;
  }
  return antennas > 0 ? sum / antennas : 1;
}

/// L S L^H of a lower triangle L.
IQD_HOST_DEVICE inline Covariance colour(const Covariance& l, const Covariance& s, int order) noexcept {
  Covariance c;
  for (int i = 0; i < order; ++i) {
    double row_re[kMostCovariance], row_im[kMostCovariance];  // of L S
    for (int j = 0; j < order; ++j) {
      row_re[j] = row_im[j] = 0;
      for (int k = 0; k <= i; ++k) {
        const double re = k >= j ? s.re[k][j] : s.re[j][k], im = k >= j ? s.im[k][j] : -s.im[j][k];
        row_re[j] += l.re[i][k] * re - l.im[i][k] * im;
        row_im[j] += l.re[i][k] * im + l.im[i][k] * re;
      }
    }
    for (int j = 0; j <= i; ++j)
      for (int k = 0; k <= j; ++k) {  // times conj(L(j, k))
        c.re[i][j] += row_re[k] * l.re[j][k] + row_im[k] * l.im[j][k];
        c.im[i][j] += row_im[k] * l.re[j][k] - row_re[k] * l.im[j][k];
      }
  }
  return c;
}

}  // namespace iqd
