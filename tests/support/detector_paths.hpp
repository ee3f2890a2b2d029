// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/support/detector_under_test.hpp"

/// For the tests of detectors that search R of the sorted QR decomposition: lists of paths in double precision.
namespace iqd::testing {

/// Of vector v: H P = Q R, z = Q^H y; column j of R belongs to antenna perm[j], the weakest remaining column first.
struct SortedQr {
  SortedQr(const Transmission& x, std::int64_t v) : x(x), v(v), perm(static_cast<std::size_t>(x.tx)) {
    using complex = std::complex<double>;
    const auto tx = static_cast<std::size_t>(x.tx);
    std::vector<std::vector<complex>> q(tx);
    std::vector<complex> y;
    for (int n = 0; n < x.rx; ++n) y.push_back(x.y_at(v, n));
    for (std::size_t t = 0; t < tx; ++t)
      for (int n = 0; n < x.rx; ++n) q[t].push_back(x.h_at(v, n, static_cast<int>(t)) * x.gain_of(static_cast<int>(t)));
    std::iota(perm.begin(), perm.end(), 0);
    r.assign(tx, std::vector<complex>(tx));
    const auto inner = [](const auto& a, const auto& b) {
      complex sum = 0;
      for (std::size_t n = 0; n < a.size(); ++n) sum += std::conj(a[n]) * b[n];
      return sum;
    };
    const auto take_away = [](auto& from, const auto& a, complex factor) {
      for (std::size_t n = 0; n < a.size(); ++n) from[n] -= factor * a[n];
    };
    for (std::size_t i = 0; i < tx; ++i) {
      std::size_t best = i;
      for (std::size_t j = i + 1; j < tx; ++j)
        if (inner(q[j], q[j]).real() < inner(q[best], q[best]).real()) best = j;
      std::swap(q[i], q[best]);
      std::swap(perm[i], perm[best]);
      for (auto& row : r) std::swap(row[i], row[best]);
      r[i][i] = std::sqrt(inner(q[i], q[i]).real());
      for (complex& part : q[i]) part /= r[i][i];
      for (std::size_t j = i + 1; j < tx; ++j) {
        r[i][j] = inner(q[i], q[j]);
        take_away(q[j], q[i], r[i][j]);
      }
      z.push_back(inner(q[i], y));
      take_away(y, q[i], z[i]);
    }
    residual = inner(y, y).real();
  }

  const Transmission& x;
  std::int64_t v;
  std::vector<int> perm;
  std::vector<std::vector<std::complex<double>>> r;
  std::vector<std::complex<double>> z;
  double residual = 0;
};

struct Path {
  double distance = 0;
  std::vector<int> symbols;  // from the last row on
};

/// Every path with every symbol of the next row, by paths, then by symbols.
inline std::vector<Path> continued(const std::vector<Path>& paths, const SortedQr& qr) {
  const std::size_t tx = qr.z.size();
  std::vector<std::vector<std::complex<double>>> points;  // of each row
  for (const int t : qr.perm) {
    points.push_back(qr.x.points_of(t));
    for (auto& point : points.back()) point /= qr.x.gain_of(t);
  }
  std::vector<Path> all;
  for (const Path& path : paths) {
    const std::size_t m = tx - 1 - path.symbols.size();
    std::complex<double> rest = qr.z[m];
    for (std::size_t j = m + 1; j < tx; ++j)
      rest -= qr.r[m][j] * points[j][static_cast<std::size_t>(path.symbols[tx - 1 - j])];
    for (int q = 0; q < std::ssize(points[m]); ++q) {
      all.push_back(path);
      all.back().symbols.push_back(q);
      all.back().distance += std::norm(rest - qr.r[m][m] * points[m][static_cast<std::size_t>(q)]);
      all.back().distance += qr.x.prior_cost(qr.v, qr.perm[m], q);
    }
  }
  return all;
}

/// The LLR of bit b of antenna t, over whole paths; within +-clip, also if one value is missing.
inline double llr_of(const std::vector<Path>& paths, const SortedQr& qr, int t, int b, double noise, double clip) {
  if (b >= qr.x.bits_of(t)) return 0;
  const auto row = static_cast<std::size_t>(std::find(qr.perm.begin(), qr.perm.end(), t) - qr.perm.begin());
  double least[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (const Path& path : paths) {
    double& best = least[path.symbols[qr.z.size() - 1 - row] >> (qr.x.bits_of(t) - 1 - b) & 1];
    best = std::min(best, path.distance);
  }
  return std::clamp((least[1] - least[0]) / noise - qr.x.prior_at(qr.v, t, b), -clip, clip);
}

/// Expects a detector's results to match the lists that `choose` keeps of all continuations of a row; returns how many
/// LLRs are at the limit.
template <class Choose>
int expect_paths(const Detected& got, const Transmission& x, double clip, const Choose& choose) {
  std::size_t at = 0;
  int clipped = 0;
  for (std::int64_t v = 0; v < x.vectors(); ++v) {
    const SortedQr qr(x, v);
    std::vector<Path> paths(1);
    for (int m = 0; m < x.tx; ++m) paths = choose(continued(paths, qr));
    double best = std::numeric_limits<double>::infinity();
    for (const Path& path : paths) best = std::min(best, path.distance);
    EXPECT_NEAR(got.distance[static_cast<std::size_t>(v)], best + qr.residual, 1e-5 * std::max(best, 0.1));
    for (int t = 0; t < x.tx; ++t)
      for (int b = 0; b < x.bits; ++b, ++at) {
        const double want = llr_of(paths, qr, t, b, x.noise_at(v), clip);
        clipped += std::abs(want) == clip;
        // Rounding of distances up to some hundred, divided by the noise.
        EXPECT_NEAR(got.llr[at], want, 1e-4 * std::max(1.0, std::abs(want)) + 4e-6 / x.noise_at(v)) << v << " " << t;
        EXPECT_EQ(got.bits[at], b < x.bits_of(t) && got.llr[at] + x.prior_at(v, t, b) < 0);
      }
  }
  return clipped;
}

}  // namespace iqd::testing
