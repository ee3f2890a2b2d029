// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "base/backend.hpp"
#include "base/element.hpp"

namespace iqd::gpu {

/// How a product reads a matrix.
enum class As : std::uint8_t { is, transposed, adjoint };

/// Device memory `[rows][columns]`, rows `pitch` elements apart. The extents are those in memory, whatever `as` is.
template <class T> struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t pitch = 0;
  As as = As::is;
};

/// Matrix products by cuBLAS, on the stream and with the workspace given in each call: it allocates nothing, and a
/// graph may capture it. One thread at a time, on the device that was current when it was made.
class Blas {
 public:
  /// Recommended size of a workspace in bytes of device memory, aligned to 256: NVIDIA's figure for Hopper and later.
  static constexpr std::size_t kWorkspace = std::size_t{32} << 20;

  /// Opens cuBLAS if it is not open yet. Throws SetupError.
  Blas();
  ~Blas();
  Blas(Blas&&) noexcept;
  Blas& operator=(Blas&&) noexcept;

  /// c = alpha a b + beta c, T being cf32 or f32; c is written as it is. Without columns in a, c = beta c; where beta
  /// is 0, c is not read. Returns whether cuBLAS took it: it refuses matrices that do not fit, and more than 2^31 - 1
  /// rows, columns or pitch.
  template <class T> [[nodiscard]] bool multiply(StreamView stream, std::span<std::byte> workspace,
                                                 std::type_identity_t<T> alpha, const Matrix<const T>& a,
                                                 const Matrix<const T>& b, std::type_identity_t<T> beta,
                                                 const Matrix<T>& c) noexcept;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace iqd::gpu
