// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "pipeline/stages/noma/multiuser/multiuser.hpp"

/// Multiuser detection by adaptive projections, by definition: rows of real numbers, one after the other, in double.
namespace iqd::testing {

using Row = std::vector<double>;

inline double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// A w = b, A symmetric and positive definite, by elimination.
inline Row solved(std::vector<Row> a, Row b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double f = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= f * a[k][j];
      b[i] -= f * b[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

/// One user's model. A frame's `start` is used if nothing was learned yet.
class ApsmDefinition {
 public:
  ApsmDefinition(const noma::Method& m, int user)
      : m_(m), user_(user), x_(2 * places(m.old_places()), Row(rows())), gamma_(x_.size()), c_(rows()) {}

  /// False if no pilot can be used. `h` is [antenna][user], `filter` [user][antenna].
  bool learn(const cf32* train_rx, const cf32* train_tx, const cf32* filter = nullptr, const cf32* h = nullptr,
             double noise = 0) {
    read_pilots(train_rx, train_tx);
    if (valid_ == 0 || power_ == 0) return false;
    scale_ = m_.agc ? 1 / std::sqrt(power_ / static_cast<double>(valid_ * m_.used_count)) : 1;
    forget_oldest();
    for (Row& v : pilots_)
      for (double& value : v) value *= scale_;
    x_.insert(x_.end(), pilots_.begin(), pilots_.end());
    gamma_.resize(x_.size(), 0);
    if (!learned_) begin(filter, h, noise);
    learned_ = true;
    for (int pass = 0; pass < m_.passes; ++pass)
      for (std::int64_t t = 0; t < m_.pilots; ++t) project(t);
    return true;
  }

  /// The estimate for one received vector.
  std::complex<double> operator()(const cf32* r) const {
    Row v1 = row(r, 0), v2 = row(r, 1);
    for (Row* v : {&v1, &v2})
      for (double& value : *v) value *= scale_;
    return {f(v1), f(v2)};
  }

  const Row& gamma() const { return gamma_; }
  const Row& c() const { return c_; }
  double scale() const { return scale_; }

  /// The mean of |b - f|^2 over the last frame's pilots, with the pilot's own kernel or without.
  double mean_square(bool with_own) const {
    double sum = 0;
    for (std::size_t i = 0; i < pilots_.size(); ++i) {
      if (!usable_[i / 2]) continue;
      const double own = with_own ? 0 : w_g() * gamma_[first() + i];
      sum += std::pow(b_[i] - f(pilots_[i]) + own, 2);
    }
    return sum / static_cast<double>(valid_);
  }
  double gaussian_norm() const {
    double sum = 0;
    for (std::size_t i = 0; i < x_.size(); ++i)
      for (std::size_t j = 0; j < x_.size(); ++j) sum += gamma_[i] * gamma_[j] * kernel(x_[i], x_[j]);
    return std::sqrt(sum);
  }

 private:
  static std::size_t places(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::size_t rows() const { return 2 * static_cast<std::size_t>(m_.antennas); }
  std::size_t first() const { return 2 * places(m_.old_places()); }
  double w_l() const { return static_cast<double>(m_.linear); }
  double w_g() const { return static_cast<double>(m_.gaussian); }
  bool used(int a) const { return m_.used[static_cast<std::size_t>(a)]; }

  /// v1 = [Re r; Im r] or v2 = [Im r; -Re r]; antennas that are not in use are 0.
  Row row(const cf32* r, int part) const {
    Row v(rows());
    for (int a = 0; a < m_.antennas; ++a) {
      const std::complex<double> value = used(a) ? std::complex<double>(r[a]) : 0;
      v[static_cast<std::size_t>(a)] = part == 0 ? value.real() : value.imag();
      v[static_cast<std::size_t>(m_.antennas + a)] = part == 0 ? value.imag() : -value.real();
    }
    return v;
  }

  void read_pilots(const cf32* train_rx, const cf32* train_tx) {
    pilots_.clear(), b_.clear(), usable_.clear();
    power_ = 0;
    valid_ = 0;
    for (std::int64_t t = 0; t < m_.pilots; ++t) {
      const cf32 *const r = train_rx + t * m_.antennas, *const sent = train_tx + t * m_.users;
      const Row v = row(r, 0);
      bool usable = std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); });
      for (int u = 0; u < m_.users; ++u) usable = usable && std::isfinite(std::abs(sent[u]));
      usable_.push_back(usable);
      valid_ += usable;
      if (usable) power_ += dot(v, v);
      for (int part = 0; part < 2; ++part) {
        pilots_.push_back(usable ? row(r, part) : Row(rows()));
        const double b = static_cast<double>(part == 0 ? sent[user_].real() : sent[user_].imag());
        b_.push_back(usable ? b : 0);
      }
    }
  }

  void forget_oldest() {
    const auto beyond = static_cast<std::ptrdiff_t>(x_.size() - first());
    x_.erase(x_.begin(), x_.begin() + beyond);
    gamma_.erase(gamma_.begin(), gamma_.begin() + beyond);
  }

  void begin(const cf32* filter, const cf32* h, double noise) {
    if (m_.start == noma::Start::zero) return;
    if (m_.start == noma::Start::lls) c_ = least_squares();
    if (m_.start == noma::Start::port) c_ = of_filter(filter + user_ * m_.antennas);
    if (m_.start == noma::Start::genie) c_ = least_mean_squares(h, noise);
    const bool scaled = m_.start == noma::Start::lls;
    for (double& value : c_) value /= w_l() * (scaled ? 1 : scale_);
  }
  /// (X'X + 1e-6 n I)^-1 X'y
  Row least_squares() const {
    std::vector<Row> a(rows(), Row(rows()));
    Row right(rows());
    for (std::size_t i = 0; i < pilots_.size(); ++i)
      for (std::size_t m = 0; m < rows(); ++m) {
        right[m] += pilots_[i][m] * b_[i];
        for (std::size_t n = 0; n < rows(); ++n) a[m][n] += pilots_[i][m] * pilots_[i][n];
      }
    for (std::size_t m = 0; m < rows(); ++m) a[m][m] += 1e-6 * 2 * static_cast<double>(valid_);
    return solved(a, right);
  }
  Row of_filter(const cf32* filter) const { return row(filter, 0); }
  /// (A A' + N I)^-1 a, A the real channel [Re H, -Im H; Im H, Re H], a its column of the user.
  Row least_mean_squares(const cf32* h, double noise) const {
    std::vector<Row> a(rows(), Row(rows()));
    Row right(rows());
    for (int u = 0; u < m_.users; ++u) {
      std::vector<cf32> column;
      for (int m = 0; m < m_.antennas; ++m) column.push_back(h[m * m_.users + u]);
      Row one = row(column.data(), 0), other = row(column.data(), 1);
      for (double& value : other) value = -value;
      for (std::size_t m = 0; m < rows(); ++m)
        for (std::size_t n = 0; n < rows(); ++n) a[m][n] += one[m] * one[n] + other[m] * other[n];
      if (u == user_) right = one;
    }
    for (std::size_t m = 0; m < rows(); ++m) a[m][m] += noise;
    return solved(a, right);
  }

  double kernel(const Row& a, const Row& b) const {
    double distance = 0;
    for (std::size_t i = 0; i < a.size(); ++i) distance += (a[i] - b[i]) * (a[i] - b[i]);
    return std::exp(-distance * static_cast<double>(m_.exponent));
  }
  double f(const Row& v) const {
    double sum = w_l() * dot(c_, v);
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (gamma_[i] != 0) sum += w_g() * gamma_[i] * kernel(v, x_[i]);
    return sum;
  }

  void project(std::int64_t t) {
    const std::int64_t oldest = std::max<std::int64_t>(0, t - m_.window + 1);
    double weights = 0;
    for (std::int64_t s = oldest; s <= t; ++s) weights += 2 * static_cast<double>(m_.weight[places(t - s)]);
    Row delta;
    for (std::int64_t i = 2 * oldest; i < 2 * t + 2; ++i) {
      const Row& x = pilots_[places(i)];
      const double e = b_[places(i)] - f(x);
      const double beta = std::copysign(std::max(std::abs(e) - static_cast<double>(m_.epsilon), 0.0), e);
      const double size = w_l() * dot(x, x) + (may_have_kernel(i / 2) ? w_g() : 0);
      delta.push_back(size > 0 ? beta / size * static_cast<double>(m_.weight[places(t - i / 2)]) / weights : 0);
    }
    for (std::int64_t i = 2 * oldest; i < 2 * t + 2; ++i) {
      const double d = delta[places(i - 2 * oldest)];
      if (may_have_kernel(i / 2)) gamma_[first() + places(i)] += d;
      for (std::size_t m = 0; m < rows(); ++m) c_[m] += d * pilots_[places(i)][m];
    }
  }
  bool may_have_kernel(std::int64_t t) const { return usable_[places(t)] && t >= m_.pilots - m_.kernels; }

  noma::Method m_;
  int user_;
  std::vector<Row> x_;  // [row of the dictionary]
  Row gamma_;
  Row c_;
  bool learned_ = false;
  double scale_ = 0;
  double power_ = 0;
  std::int64_t valid_ = 0;
  std::vector<Row> pilots_;  // of this frame, as x_
  Row b_;
  std::vector<bool> usable_;  // [pilot]
};

}  // namespace iqd::testing
