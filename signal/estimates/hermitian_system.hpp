// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "signal/filters/scratch.hpp"

namespace iqd {

/// M x = q for a Hermitian positive definite M and several right sides, in precision T, by Cholesky's method.
///
/// Real and imaginary parts are planes of `order` columns. Column j has M(i, j) at i = j … order-1; in the rows behind
/// it, order + s, it has the conjugate of element j of right side s. So the factorisation also solves L y = q.
template <class T> class HermitianSystemOf {
 public:
  /// `most_sides`: with `order` more if the inverse is wanted.
  HermitianSystemOf(std::int64_t most_order, std::int64_t most_sides, Scratch& scratch);

  /// The elements are not set. `inverse`: its diagonal is wanted, which takes the unit vectors as further right sides.
  void begin(std::int64_t order, std::int64_t sides, bool inverse = false) noexcept;
  void copy(const HermitianSystemOf& from) noexcept;
  std::int64_t order() const noexcept { return order_; }
  T* re(std::int64_t column) noexcept { return re_ + column * pitch_; }
  T* im(std::int64_t column) noexcept { return im_ + column * pitch_; }
  const T* re(std::int64_t column) const noexcept { return re_ + column * pitch_; }
  const T* im(std::int64_t column) const noexcept { return im_ + column * pitch_; }

  /// M = L L^H: L replaces M, and conj(y) of L y = q the right sides. A pivot is at least `least`.
  void factor(T least) noexcept;
  /// Of the first `sides`: element i of the solution of side s becomes x_re[s * pitch() + i], x_im[…].
  void substitute(std::int64_t sides, T* x_re, T* x_im) const noexcept;
  /// The same for the right sides of `other`, a system of this order that has not been factored.
  void substitute(const HermitianSystemOf& other, std::int64_t sides, T* x_re, T* x_im) const noexcept;
  /// [order]: element l is |L^-1 e_l|^2.
  void read_inverse(T* diagonal) const noexcept;
  std::int64_t pitch() const noexcept { return pitch_; }
  std::int64_t most_pitch() const noexcept { return most_pitch_; }

 private:
  std::int64_t rows() const noexcept { return order_ + sides_; }
  void read_side(std::int64_t side, T* x_re, T* x_im) const noexcept;

  std::int64_t most_pitch_;
  T* re_;
  T* im_;
  std::int64_t order_ = 0;
  std::int64_t sides_ = 0;
  std::int64_t pitch_ = 0;
  bool inverse_ = false;
};
using HermitianSystem = HermitianSystemOf<float>;

}  // namespace iqd
