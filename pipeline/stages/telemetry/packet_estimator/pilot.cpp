// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <complex>

#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "signal/formats/soqpsk.hpp"

namespace iqd::packet_estimator {
namespace {

using complex = std::complex<double>;
using Column = std::array<complex, kTaps>;

/// The conjugate of a row of X: p*(n - m) for all m, n = kTapsBehind + row.
Column conjugate_row(const std::vector<complex>& p, std::int64_t row) {
  Column x;
  for (std::int64_t tap = 0; tap < kTaps; ++tap)
    x[static_cast<std::size_t>(tap)] = std::conj(p[static_cast<std::size_t>(row + kTaps - 1 - tap)]);
  return x;
}

/// The Cholesky factor L L^H of a Hermitian positive definite matrix.
class Cholesky {
 public:
  /// False if the matrix is not positive definite to double precision.
  bool factor(const std::array<Column, kTaps>& a) {
    for (std::size_t i = 0; i < kTaps; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        complex sum = a[i][j];
        for (std::size_t k = 0; k < j; ++k) sum -= l_[i][k] * std::conj(l_[j][k]);
        if (i != j) {
          l_[i][j] = sum / l_[j][j];
        } else if (sum.real() > 1e-12 * a[i][i].real()) {
          l_[i][i] = std::sqrt(sum.real());
        } else {
          return false;
        }
      }
    return true;
  }
  Column solve(Column x) const {
    for (std::size_t i = 0; i < kTaps; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= l_[i][k] * x[k];
      x[i] /= l_[i][i];
    }
    for (std::size_t i = kTaps; i-- > 0;) {
      for (std::size_t k = i + 1; k < kTaps; ++k) x[i] -= std::conj(l_[k][i]) * x[k];
      x[i] /= l_[i][i];
    }
    return x;
  }

 private:
  std::array<Column, kTaps> l_{};
};

/// X^H X + lambda I
std::array<Column, kTaps> normal_matrix(const std::vector<complex>& p, std::int64_t rows, double lambda) {
  std::array<Column, kTaps> a{};
  for (std::size_t i = 0; i < kTaps; ++i) a[i][i] = lambda;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Column x = conjugate_row(p, row);
    for (std::size_t i = 0; i < kTaps; ++i)
      for (std::size_t j = 0; j <= i; ++j) a[i][j] += x[i] * std::conj(x[j]);
  }
  return a;
}

/// I - X G has the eigenvalues lambda / (lambda + mu) for each mu of X^H X, and 1 for the remaining rows.
double residual_weight(const Cholesky& factors, std::int64_t rows, double lambda) {
  double sum = 0;
  for (std::size_t i = 0; i < kTaps; ++i) {
    Column unit{};
    unit[i] = lambda;
    for (const complex v : factors.solve(unit)) sum += std::norm(v);
  }
  return static_cast<double>(rows - kTaps) + sum;
}

}  // namespace

std::optional<Pilot> make_pilot(const PacketFormat& format, double lambda) {
  const std::vector<complex> p = soqpsk::pilot_waveform(format);
  Pilot pilot;
  pilot.window = format.window();
  pilot.lag = format.period();
  pilot.terms = (format.repeats - 3) * pilot.lag;
  pilot.rows = std::ssize(p) - (kTaps - 1);
  pilot.columns = (pilot.rows + kSums - 1) / kSums * kSums;
  Cholesky factors;
  if (!factors.factor(normal_matrix(p, pilot.rows, lambda))) return {};
  pilot.rho = residual_weight(factors, pilot.rows, lambda);
  for (const complex v : p) {
    pilot.wave_re.push_back(static_cast<float>(v.real()));
    pilot.wave_im.push_back(static_cast<float>(v.imag()));
  }
  pilot.solve_re.resize(static_cast<std::size_t>(kTaps * pilot.columns));
  pilot.solve_im.resize(pilot.solve_re.size());
  for (std::int64_t row = 0; row < pilot.rows; ++row) {
    const Column g = factors.solve(conjugate_row(p, row));
    for (std::size_t tap = 0; tap < kTaps; ++tap) {
      const std::size_t at = tap * static_cast<std::size_t>(pilot.columns) + static_cast<std::size_t>(row);
      pilot.solve_re[at] = static_cast<float>(g[tap].real());
      pilot.solve_im[at] = static_cast<float>(g[tap].imag());
    }
  }
  return pilot;
}

}  // namespace iqd::packet_estimator
