// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/blas.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "gpu/late_library.hpp"
#include "gpu/runtime.hpp"

namespace iqd::gpu {
namespace {

struct Cublas {
  LateLibrary library{"libcublas.so.13", "cuBLAS"};
  IQD_LATE_FUNCTION(cublasCreate_v2);
  IQD_LATE_FUNCTION(cublasDestroy_v2);
  IQD_LATE_FUNCTION(cublasSetStream_v2);
  IQD_LATE_FUNCTION(cublasSetWorkspace_v2);
  IQD_LATE_FUNCTION(cublasSgemm_v2);
  IQD_LATE_FUNCTION(cublasCgemm_v2);
  IQD_LATE_FUNCTION(cublasGetStatusString);
};

const Cublas& cublas() {
  static const Cublas table;
  return table;
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as, int m, int n, int k,
                    const float* alpha, const float* a, int a_pitch, const float* b, int b_pitch, const float* beta,
                    float* c, int c_pitch) {
  return cublas().cublasSgemm_v2(handle, a_as, b_as, m, n, k, alpha, a, a_pitch, b, b_pitch, beta, c, c_pitch);
}
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as, int m, int n, int k,
                    const cf32* alpha, const cf32* a, int a_pitch, const cf32* b, int b_pitch, const cf32* beta,
                    cf32* c, int c_pitch) {
  const auto in = [](const cf32* x) { return reinterpret_cast<const cuComplex*>(x); };
  return cublas().cublasCgemm_v2(handle, a_as, b_as, m, n, k, in(alpha), in(a), a_pitch, in(b), b_pitch, in(beta),
                                 reinterpret_cast<cuComplex*>(c), c_pitch);
}

constexpr cublasOperation_t operation(As as) {
  return as == As::is ? CUBLAS_OP_N : as == As::transposed ? CUBLAS_OP_T : CUBLAS_OP_C;
}

/// Rows and columns of the matrix as the product reads it.
template <class T> std::pair<std::int64_t, std::int64_t> extents(const Matrix<T>& x) {
  return x.as == As::is ? std::pair{x.rows, x.columns} : std::pair{x.columns, x.rows};
}

template <class T> bool fits(const Matrix<T>& x) {
  return x.rows >= 0 && x.columns >= 0 && x.pitch >= x.columns &&
         std::max(x.rows, x.pitch) <= std::numeric_limits<int>::max();
}

/// cuBLAS requires at least 1, even for empty matrices.
int pitch_of(std::int64_t pitch) {
  return static_cast<int>(std::max<std::int64_t>(pitch, 1));
}

}  // namespace

struct Blas::Handle {
  Handle() {
    const Quiet quiet;
    if (const cublasStatus_t s = cublas().cublasCreate_v2(&handle); s != CUBLAS_STATUS_SUCCESS)
      throw SetupError(fmt::format("cublasCreate: {}", cublas().cublasGetStatusString(s)));
  }
  ~Handle() {
    const Quiet quiet;
    cublas().cublasDestroy_v2(handle);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasHandle_t handle = nullptr;
};

Blas::Blas() : handle_(std::make_unique<Handle>()) {}
Blas::~Blas() = default;
Blas::Blas(Blas&&) noexcept = default;
Blas& Blas::operator=(Blas&&) noexcept = default;

/// Consecutive rows are columns to cuBLAS, so it computes the transposed product, c' = b' a'.
template <class T> bool Blas::multiply(StreamView stream, std::span<std::byte> workspace, std::type_identity_t<T> alpha,
                                       const Matrix<const T>& a, const Matrix<const T>& b, std::type_identity_t<T> beta,
                                       const Matrix<T>& c) noexcept {
  const auto [m, k] = extents(a);
  const auto [b_rows, n] = extents(b);
  if (!fits(a) || !fits(b) || !fits(c) || b_rows != k || c.rows != m || c.columns != n || c.as != As::is) return false;
  if (m == 0 || n == 0) return true;
  // Setting the stream resets the workspace, so the workspace comes second.
  cublasHandle_t handle = handle_->handle;
  if (cublas().cublasSetStream_v2(handle, stream_of(stream)) != CUBLAS_STATUS_SUCCESS) return false;
  if (cublas().cublasSetWorkspace_v2(handle, workspace.data(), workspace.size()) != CUBLAS_STATUS_SUCCESS) return false;
  return gemm(handle, operation(b.as), operation(a.as), static_cast<int>(n), static_cast<int>(m), static_cast<int>(k),
              &alpha, b.data, pitch_of(b.pitch), a.data, pitch_of(a.pitch), &beta, c.data,
              pitch_of(c.pitch)) == CUBLAS_STATUS_SUCCESS;
}

template bool Blas::multiply<float>(StreamView, std::span<std::byte>, float, const Matrix<const float>&,
                                    const Matrix<const float>&, float, const Matrix<float>&) noexcept;
template bool Blas::multiply<cf32>(StreamView, std::span<std::byte>, cf32, const Matrix<const cf32>&,
                                   const Matrix<const cf32>&, cf32, const Matrix<cf32>&) noexcept;

}  // namespace iqd::gpu
