// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/estimates/hermitian_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <random>
#include <vector>

namespace iqd {
namespace {

using Complex = std::complex<double>;

/// M = A A^H of random A, and random right sides.
struct Problem {
  Problem(int order, int sides, int columns) : n(order), s(sides), m(index(n * n)), q(index(n * s)) {
    std::mt19937 engine(static_cast<unsigned>(n));
    std::normal_distribution<double> normal;
    std::vector<Complex> a(index(n * columns));
    for (Complex& v : a) v = {normal(engine), normal(engine)};
    for (Complex& v : q) v = {normal(engine), normal(engine)};
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < columns; ++k)
          m[index(i * n + j)] += a[index(i * columns + k)] * std::conj(a[index(j * columns + k)]);
  }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  template <class T> void write(HermitianSystemOf<T>& to, bool inverse = false) const {
    to.begin(n, s, inverse);
    for (int j = 0; j < n; ++j) {
      for (int i = j; i < n; ++i) {
        to.re(j)[i] = static_cast<T>(m[index(i * n + j)].real());
        to.im(j)[i] = static_cast<T>(m[index(i * n + j)].imag());
      }
      for (int k = 0; k < s; ++k) {
        to.re(j)[n + k] = static_cast<T>(q[index(j * s + k)].real());
        to.im(j)[n + k] = -static_cast<T>(q[index(j * s + k)].imag());
      }
    }
  }
  /// |M x - q| over |q|, of side k.
  template <class T> double error(const T* x_re, const T* x_im, int k) const {
    double left = 0, all = 0;
    for (int i = 0; i < n; ++i) {
      Complex sum = -q[index(i * s + k)];
      for (int j = 0; j < n; ++j) sum += m[index(i * n + j)] * Complex(x_re[j], x_im[j]);
      left += std::norm(sum), all += std::norm(q[index(i * s + k)]);
    }
    return std::sqrt(left / all);
  }
  int n, s;
  std::vector<Complex> m, q;
};

/// Memory full of NaN for two systems.
template <class T = float> struct Memory {
  Memory(int order, int sides) {
    Scratch count(nullptr);
    HermitianSystemOf<T>(order, sides, count), HermitianSystemOf<T>(order, sides, count);
    bytes.assign(count.bytes(), std::byte{0xff});
  }
  std::vector<std::byte> bytes;
};

TEST(HermitianSystem, SolvesAnyOrder) {
  for (const int n : {1, 2, 3, 15, 16, 17, 31, 37, 64, 130, 163}) {
    const Problem problem(n, 3, 2 * n);
    Memory memory(n, 3);
    Scratch scratch(memory.bytes.data());
    HermitianSystem given(n, 3, scratch), system(n, 3, scratch);
    problem.write(given);
    system.copy(given);
    system.factor(0);
    std::vector<float> re(static_cast<std::size_t>(3 * system.pitch())), im(re.size());
    system.substitute(3, re.data(), im.data());
    for (int k = 0; k < 3; ++k)
      EXPECT_LT(problem.error(re.data() + k * system.pitch(), im.data() + k * system.pitch(), k), 1e-5)
          << n << " " << k;
  }
}

TEST(HermitianSystem, OtherSidesNeedNoOtherFactor) {
  for (const int n : {1, 2, 15, 16, 17, 37, 130}) {
    Problem problem(n, 3, 2 * n);
    Memory memory(n, 3);
    Scratch scratch(memory.bytes.data());
    HermitianSystem given(n, 3, scratch), system(n, 3, scratch);
    problem.write(given);
    system.copy(given);
    system.factor(0);
    for (Complex& q : problem.q) q = std::conj(q) * 2.0 + 1.0;
    problem.write(given);
    std::vector<float> re(static_cast<std::size_t>(3 * system.pitch())), im(re.size());
    system.substitute(given, 3, re.data(), im.data());
    for (int k = 0; k < 3; ++k)
      EXPECT_LT(problem.error(re.data() + k * system.pitch(), im.data() + k * system.pitch(), k), 1e-5)
          << n << " " << k;
  }
}

template <class T> void check_inverse(int n, double limit) {
  const Problem problem(n, 2, 3 * n);
  Problem units(n, n, 3 * n);  // the same matrix
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) units.q[Problem::index(i * n + k)] = i == k;
  Memory<T> memory(n, 2 + n);
  Scratch scratch(memory.bytes.data());
  HermitianSystemOf<T> system(n, 2 + n, scratch), inverse(n, n, scratch);
  problem.write(system, true);
  units.write(inverse);
  system.factor(0), inverse.factor(0);
  std::vector<T> re(static_cast<std::size_t>(n * inverse.pitch())), im(re.size()), diagonal(Problem::index(n));
  inverse.substitute(n, re.data(), im.data());
  system.read_inverse(diagonal.data());
  for (int k = 0; k < n; ++k)
    EXPECT_NEAR(diagonal[Problem::index(k)] / re[static_cast<std::size_t>(k * inverse.pitch() + k)], 1, limit) << n;
  std::vector<T> x_re(static_cast<std::size_t>(2 * system.pitch())), x_im(x_re.size());
  system.substitute(2, x_re.data(), x_im.data());
  for (int k = 0; k < 2; ++k)
    EXPECT_LT(problem.error(x_re.data() + k * system.pitch(), x_im.data() + k * system.pitch(), k), limit) << n;
}

TEST(HermitianSystem, GivesTheInversesDiagonal) {
  for (const int n : {1, 16, 20, 37, 145}) check_inverse<float>(n, 1e-5), check_inverse<double>(n, 1e-13);
}

TEST(HermitianSystem, ASingularMatrixGivesNumbers) {
  const Problem problem(24, 1, 10);  // of rank 10
  Memory memory(24, 1);
  Scratch scratch(memory.bytes.data());
  HermitianSystem system(24, 1, scratch);
  problem.write(system);
  for (int j = 0; j < 24; ++j) system.re(j)[j] += 1e-4f;
  system.factor(1e-4f);
  std::vector<float> re(static_cast<std::size_t>(system.pitch())), im(re.size());
  system.substitute(1, re.data(), im.data());
  for (int i = 0; i < 24; ++i) EXPECT_TRUE(std::isfinite(re[Problem::index(i)] + im[Problem::index(i)]));
}

}  // namespace
}  // namespace iqd
