// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "tests/support/detector_under_test.hpp"

/// The expected results of mtt_detector for one vector, step by step by definition, in double precision.
namespace iqd::testing {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

class MttDefinition {
 public:
  using Complex = std::complex<double>;
  using Column = std::vector<Complex>;

  MttDefinition(const Transmission& x, std::int64_t v) : x_(x), v_(v), noise_(x.noise_at(v)) {
    for (int t = 0; t < x.tx; ++t) {
      antenna_.push_back(t);
      h_.emplace_back();
      points_.push_back(x.points_of(t));
      // A smaller alphabet's column is sorted as if it were the largest one's.
      for (Complex& point : points_.back()) point /= std::max(x.gain_of(t), 1e-300);
      for (int n = 0; n < x.rx; ++n) h_.back().push_back(x.h_at(v, n, t) * x.gain_of(t));
    }
    for (int n = 0; n < x.rx; ++n) y_.push_back(x.y_at(v, n));
    sorted_qr();
  }

  /// [tx][bit]
  std::vector<double> llrs(bool pooled) {
    std::vector<std::vector<Path>> lists;
    std::vector<Path> survivors = start();
    for (int row = x_.tx - 1;; --row) {
      lists.push_back(survivors);
      for (int below = row - 1; below >= 0; --below) extend(lists.back(), below);
      if (row == 0) break;
      reduce(survivors, row - 1);
    }
    std::vector<Path> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    best_ = std::min_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.cost < b.cost; })->cost;
    std::vector<double> llrs(static_cast<std::size_t>(x_.tx * x_.bits));
    for (int row = 0; row < x_.tx; ++row)
      for (int b = 0; b < x_.bits_of(antenna_[at(row)]); ++b)
        llrs[at(antenna_[at(row)] * x_.bits + b)] = llr(pooled ? all : lists[at(x_.tx - 1 - row)], row, b);
    return llrs;
  }
  /// After llrs().
  double distance() const {
    double beside = 0;
    for (const Complex& rest : y_) beside += std::norm(rest);
    return best_ + beside;
  }

 private:
  /// The number of the symbol in each row so far.
  struct Path {
    double cost = 0;
    std::vector<int> symbols;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static Complex inner(const Column& a, const Column& b) {
    Complex sum = 0;
    for (std::size_t n = 0; n < a.size(); ++n) sum += std::conj(a[n]) * b[n];
    return sum;
  }
  static void subtract(Column& from, Complex factor, const Column& what) {
    for (std::size_t n = 0; n < from.size(); ++n) from[n] -= factor * what[n];
  }

  void sorted_qr() {
    r_.assign(h_.size(), Column(h_.size()));
    std::vector<double> whole;
    for (const Column& c : h_) whole.push_back(inner(c, c).real());
    for (std::size_t i = 0; i < h_.size(); ++i) {
      std::size_t least = i;
      for (std::size_t j = i; j < h_.size(); ++j)
        if (inner(h_[j], h_[j]).real() < inner(h_[least], h_[least]).real()) least = j;
      std::swap(h_[i], h_[least]);
      std::swap(whole[i], whole[least]);
      std::swap(antenna_[i], antenna_[least]);
      for (std::size_t row = 0; row < i; ++row) std::swap(r_[row][i], r_[row][least]);
      const double norm = inner(h_[i], h_[i]).real();
      const bool depends = norm <= 1e-20 * whole[i];
      r_[i][i] = depends ? 0 : std::sqrt(norm);
      for (Complex& q : h_[i]) q = depends ? 0 : q / r_[i][i];
      for (std::size_t j = i + 1; j < h_.size(); ++j) subtract(h_[j], r_[i][j] = inner(h_[i], h_[j]), h_[i]);
      z_.push_back(inner(h_[i], y_));
      subtract(y_, z_[i], h_[i]);
    }
  }

  const Column& points(int row) const { return points_[at(antenna_[at(row)])]; }
  double cost(const Path& path, int row, int q) const {
    Complex left = z_[at(row)];
    for (int j = row + 1; j < x_.tx; ++j) left -= r_[at(row)][at(j)] * points(j)[at(path.symbols[at(j)])];
    return path.cost + std::norm(left - r_[at(row)][at(row)] * points(row)[at(q)]) +
           x_.prior_cost(v_, antenna_[at(row)], q);
  }
  Path continued(const Path& path, int row, int q) const {
    Path longer{cost(path, row, q), path.symbols};
    longer.symbols[at(row)] = q;
    return longer;
  }
  std::vector<Path> start() const {
    std::vector<Path> paths;
    const Path none{0, std::vector<int>(at(x_.tx))};
    for (int q = 0; q < std::ssize(points(x_.tx - 1)); ++q) paths.push_back(continued(none, x_.tx - 1, q));
    return paths;
  }
  void extend(std::vector<Path>& paths, int row) const {
    for (Path& path : paths) {
      int best = 0;
      for (int q = 1; q < std::ssize(points(row)); ++q)
        if (cost(path, row, q) < cost(path, row, best)) best = q;
      path = continued(path, row, best);
    }
  }
  void reduce(std::vector<Path>& paths, int row) const {
    std::vector<Path> reduced;
    for (int q = 0; q < std::ssize(points(row)); ++q) {
      const Path* best = &paths[0];
      for (const Path& path : paths)
        if (cost(path, row, q) < cost(*best, row, q)) best = &path;
      reduced.push_back(continued(*best, row, q));
    }
    paths = reduced;
  }
  double llr(const std::vector<Path>& paths, int row, int b) const {
    double least[2] = {kNever, kNever};
    for (const Path& path : paths) {
      double& of_bit = least[path.symbols[at(row)] >> (x_.bits_of(antenna_[at(row)]) - 1 - b) & 1];
      of_bit = std::min(of_bit, path.cost);
    }
    return (least[1] - least[0]) / noise_ - x_.prior_at(v_, antenna_[at(row)], b);
  }

  const Transmission& x_;
  std::int64_t v_;
  std::vector<Column> points_;  // of each antenna
  double noise_;
  std::vector<Column> h_, r_;  // columns; rows
  Column y_, z_;
  std::vector<int> antenna_;
  double best_ = 0;
};

/// The same where each antenna has an alphabet of its own.
inline std::vector<double> exhaustive_mixed(const Transmission& x, std::int64_t v) {
  std::vector<std::array<double, 2>> least(static_cast<std::size_t>(x.tx * x.bits), {kNever, kNever});
  std::vector<int> symbols(static_cast<std::size_t>(x.tx));
  for (bool more = true; more;) {
    double distance = 0;
    for (int n = 0; n < x.rx; ++n) {
      std::complex<double> rest = x.y_at(v, n);
      for (int t = 0; t < x.tx; ++t)
        rest -= x.h_at(v, n, t) * x.points_of(t)[static_cast<std::size_t>(symbols[static_cast<std::size_t>(t)])];
      distance += std::norm(rest);
    }
    for (int t = 0; t < x.tx; ++t) distance += x.prior_cost(v, t, symbols[static_cast<std::size_t>(t)]);
    more = false;
    for (int t = 0; t < x.tx; ++t) {
      int& symbol = symbols[static_cast<std::size_t>(t)];
      for (int b = 0; b < x.bits_of(t); ++b) {
        double& of_bit = least[static_cast<std::size_t>(t * x.bits + b)][symbol >> (x.bits_of(t) - 1 - b) & 1];
        of_bit = std::min(of_bit, distance);
      }
    }
    for (int t = 0; t < x.tx && !more; ++t) {
      int& symbol = symbols[static_cast<std::size_t>(t)];
      more = ++symbol < 1 << x.bits_of(t);
      if (!more) symbol = 0;
    }
  }
  std::vector<double> llrs;
  for (int t = 0; t < x.tx; ++t)
    for (int b = 0; b < x.bits; ++b) {
      const auto& of_bit = least[static_cast<std::size_t>(t * x.bits + b)];
      llrs.push_back(b < x.bits_of(t) ? (of_bit[1] - of_bit[0]) / x.noise_at(v) - x.prior_at(v, t, b) : 0);
    }
  return llrs;
}

/// All combinations of symbols, for one vector.
inline std::vector<double> exhaustive(const Transmission& x, std::int64_t v) {
  if (!x.sent.empty()) return exhaustive_mixed(x, v);
  const auto points = constellation(x.bits);
  const std::size_t values = static_cast<std::size_t>(x.tx) * static_cast<std::size_t>(x.bits);
  std::vector<std::array<double, 2>> least(values, {kNever, kNever});
  for (unsigned all = 0; all < 1u << values; ++all) {
    double distance = 0;
    for (int n = 0; n < x.rx; ++n) {
      std::complex<double> rest = x.y_at(v, n);
      for (int t = 0; t < x.tx; ++t)
        rest -= x.h_at(v, n, t) * points[all >> (x.tx - 1 - t) * x.bits & ((1u << x.bits) - 1)];
      distance += std::norm(rest);
    }
    for (int t = 0; t < x.tx; ++t)
      distance += x.prior_cost(v, t, static_cast<int>(all >> (x.tx - 1 - t) * x.bits & ((1u << x.bits) - 1)));
    for (std::size_t i = 0; i < values; ++i) {
      double& of_bit = least[i][all >> (values - 1 - i) & 1];
      of_bit = std::min(of_bit, distance);
    }
  }
  std::vector<double> llrs;
  for (std::size_t i = 0; i < values; ++i) {
    const int place = static_cast<int>(i);
    llrs.push_back((least[i][1] - least[i][0]) / x.noise_at(v) - x.prior_at(v, place / x.bits, place % x.bits));
  }
  return llrs;
}

}  // namespace iqd::testing
