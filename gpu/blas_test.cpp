// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/blas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "gpu/owned.hpp"

namespace iqd::gpu {
namespace {

float conjugate(float x) {
  return x;
}
cf32 conjugate(cf32 x) {
  return std::conj(x);
}

void set(float& x, std::mt19937& random) {
  x = std::normal_distribution<float>()(random);
}
void set(cf32& x, std::mt19937& random) {
  std::normal_distribution<float> normal;
  x = {normal(random), normal(random)};
}

/// A matrix on host and device; between its rows there are NaNs, which nothing may read or write.
template <class T> struct Pair {
  Pair(std::int64_t rows, std::int64_t columns, std::int64_t pitch, unsigned seed, As how = As::is)
      : host(static_cast<std::size_t>(rows * pitch), T(std::numeric_limits<float>::quiet_NaN())),
        view{nullptr, rows, columns, pitch, how} {
    std::mt19937 random(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) set(host[static_cast<std::size_t>(r * pitch + c)], random);
    check(cudaMalloc(reinterpret_cast<void**>(&view.data), bytes() + 256), "cudaMalloc");
    check(cudaMemcpy(view.data, host.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Pair() { cudaFree(view.data); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  std::size_t bytes() const { return host.size() * sizeof(T); }
  Matrix<const T> in() const { return {view.data, view.rows, view.columns, view.pitch, view.as}; }
  void fetch() { check(cudaMemcpy(host.data(), view.data, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy"); }
  /// An element as the product reads it.
  T at(std::int64_t r, std::int64_t c) const {
    if (view.as != As::is) std::swap(r, c);
    const T x = host[static_cast<std::size_t>(r * view.pitch + c)];
    return view.as == As::adjoint ? conjugate(x) : x;
  }

  std::vector<T> host;
  Matrix<T> view;
};

class BlasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
      GTEST_SKIP() << "CUBLAS WAS NOT TESTED: " << cudaGetErrorString(error);
    blas = std::make_unique<Blas>();
    stream = make_stream(0);
    check(cudaMalloc(reinterpret_cast<void**>(&memory), Blas::kWorkspace), "cudaMalloc");
  }
  void TearDown() override { cudaFree(memory); }

  StreamView view() const { return view_of(stream.get()); }
  std::span<std::byte> workspace() const { return {memory, Blas::kWorkspace}; }

  template <class T> void expect_product(std::int64_t m, std::int64_t n, std::int64_t k, As a_as, As b_as, T alpha,
                                         T beta, std::int64_t padding) {
    SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k << ", a " << int(a_as) << ", b " << int(b_as));
    const auto [a_rows, a_columns] = a_as == As::is ? std::pair{m, k} : std::pair{k, m};
    const auto [b_rows, b_columns] = b_as == As::is ? std::pair{k, n} : std::pair{n, k};
    const Pair<T> a(a_rows, a_columns, a_columns + padding, 1, a_as);
    const Pair<T> b(b_rows, b_columns, b_columns + padding, 2, b_as);
    Pair<T> c(m, n, n + padding, 3);
    const std::vector<T> before = c.host;
    ASSERT_TRUE(blas->multiply<T>(view(), workspace(), alpha, a.in(), b.in(), beta, c.view));
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
    c.fetch();
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t s = 0; s < n; ++s) {
        std::complex<double> due = 0;
        for (std::int64_t i = 0; i < k; ++i) due += std::complex<double>(a.at(r, i)) * std::complex<double>(b.at(i, s));
        const auto at = static_cast<std::size_t>(r * c.view.pitch + s);
        due *= std::complex<double>(alpha);
        if (beta != T(0)) due += std::complex<double>(beta) * std::complex<double>(before[at]);
        // k products of size one, summed in single precision in any order.
        const double tolerance = 1e-6 * static_cast<double>(k + 4);
        ASSERT_LT(std::abs(std::complex<double>(c.host[at]) - due), tolerance) << r << ", " << s;
      }
      for (std::int64_t s = n; s < c.view.pitch; ++s)
        ASSERT_TRUE(std::isnan(std::real(c.host[static_cast<std::size_t>(r * c.view.pitch + s)])));
    }
  }

  std::unique_ptr<Blas> blas;
  Stream stream;
  std::byte* memory = nullptr;
};

TEST_F(BlasTest, ProductsAreThoseOfAPlainLoop) {
  for (const As a : {As::is, As::transposed, As::adjoint}) {
    for (const As b : {As::is, As::transposed, As::adjoint}) {
      expect_product<float>(5, 7, 11, a, b, 1.5F, 0, 0);
      expect_product<cf32>(5, 7, 11, a, b, {0.5F, -2}, {0.25F, 1}, 3);
    }
  }
  expect_product<cf32>(64, 129, 685, As::adjoint, As::is, 1, 0, 0);
  expect_product<float>(129, 64, 300, As::is, As::transposed, 1, 1, 1);
}

TEST_F(BlasTest, EdgesOfAMatrix) {
  expect_product<float>(1, 1, 1, As::is, As::is, 2, 0, 0);
  expect_product<cf32>(1, 33, 1, As::is, As::is, 1, 1, 0);
  expect_product<cf32>(3, 4, 0, As::is, As::is, 1, {2, 1}, 1);  // c = beta c
  expect_product<float>(0, 4, 3, As::is, As::is, 1, 0, 0);
  expect_product<float>(4, 0, 3, As::is, As::is, 1, 0, 0);
}

TEST_F(BlasTest, WithABetaOfZeroTheOldContentsDoNotMatter) {
  const Pair<float> a(4, 4, 4, 1), b(4, 4, 4, 2);
  Pair<float> c(4, 4, 4, 3);
  check(cudaMemset(c.view.data, 0xff, c.bytes()), "cudaMemset");  // NaNs
  ASSERT_TRUE(blas->multiply<float>(view(), workspace(), 1, a.in(), b.in(), 0, c.view));
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  c.fetch();
  for (const float x : c.host) EXPECT_TRUE(std::isfinite(x));
}

TEST_F(BlasTest, MatricesThatDoNotFitAreRefused) {
  const Pair<float> a(4, 5, 5, 1), b(5, 6, 6, 2);
  Pair<float> c(4, 6, 6, 3);
  const auto refused = [&](Matrix<const float> x, Matrix<const float> y, Matrix<float> z) {
    return !blas->multiply<float>(view(), workspace(), 1, x, y, 0, z);
  };
  EXPECT_FALSE(refused(a.in(), b.in(), c.view));
  EXPECT_TRUE(refused(b.in(), a.in(), c.view));
  Matrix<const float> transposed = a.in();
  transposed.as = As::transposed;
  EXPECT_TRUE(refused(transposed, b.in(), c.view));
  Matrix<const float> narrow = a.in();
  narrow.pitch = 4;
  EXPECT_TRUE(refused(narrow, b.in(), c.view));
  Matrix<float> short_one = c.view;
  short_one.rows = 3;
  EXPECT_TRUE(refused(a.in(), b.in(), short_one));
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
}

TEST_F(BlasTest, AProductIsCapturedOnceAndLaunchedManyTimes) {
  const Pair<cf32> a(32, 48, 48, 1), b(48, 40, 40, 2);
  Pair<cf32> c(32, 40, 40, 3);
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  EXPECT_TRUE(blas->multiply<cf32>(view(), workspace(), 1, a.in(), b.in(), 1, c.view));
  check(cudaStreamEndCapture(stream.get(), &captured), "cudaStreamEndCapture");
  const Graph graph(captured);
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
  const GraphExec exec(made);
  const std::vector<cf32> before = c.host;
  for (int i = 0; i < 3; ++i) check(cudaGraphLaunch(exec.get(), stream.get()), "cudaGraphLaunch");
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  c.fetch();
  cf32 once = 0;
  for (std::int64_t i = 0; i < 48; ++i) once += a.at(1, i) * b.at(i, 2);
  const auto at = static_cast<std::size_t>(1 * 40 + 2);
  EXPECT_LT(std::abs(c.host[at] - (before[at] + 3.0F * once)), 2e-4F);
}

}  // namespace
}  // namespace iqd::gpu
