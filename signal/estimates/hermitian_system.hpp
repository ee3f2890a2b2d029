// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "signal/filters/scratch.hpp"

namespace iqd {

/// M x = q for a Hermitian positive definite M and several right sides, in single precision, by Cholesky's method.
///
/// Real and imaginary parts are planes of `order` columns. Column j has M(i, j) at i = j … order-1; in the rows behind
/// it, order + s, it has the conjugate of element j of right side s. So the factorisation also solves L y = q.
class HermitianSystem {
 public:
  HermitianSystem(std::int64_t most_order, std::int64_t most_sides, Scratch& scratch);

  /// The elements are not set.
  void begin(std::int64_t order, std::int64_t sides) noexcept;
  void copy(const HermitianSystem& from) noexcept;
  std::int64_t order() const noexcept { return order_; }
  std::int64_t rows() const noexcept { return order_ + sides_; }
  float* re(std::int64_t column) noexcept { return re_ + column * pitch_; }
  float* im(std::int64_t column) noexcept { return im_ + column * pitch_; }
  const float* re(std::int64_t column) const noexcept { return re_ + column * pitch_; }
  const float* im(std::int64_t column) const noexcept { return im_ + column * pitch_; }

  /// M = L L^H: L replaces M, and conj(y) of L y = q the right sides. A pivot is at least `least`.
  void factor(float least) noexcept;
  /// Of the first `sides`: element i of the solution of side s becomes x_re[s * pitch() + i], x_im[…].
  void substitute(std::int64_t sides, float* x_re, float* x_im) const noexcept;
  /// The same for the right sides of `other`, a system of this order that has not been factored.
  void substitute(const HermitianSystem& other, std::int64_t sides, float* x_re, float* x_im) const noexcept;
  std::int64_t pitch() const noexcept { return pitch_; }
  std::int64_t most_pitch() const noexcept { return most_pitch_; }

 private:
  void read_side(std::int64_t side, float* x_re, float* x_im) const noexcept;

  std::int64_t most_pitch_;
  float* re_;
  float* im_;
  std::int64_t order_ = 0;
  std::int64_t sides_ = 0;
  std::int64_t pitch_ = 0;
};

}  // namespace iqd
