// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>

#include "pipeline/stages/noma/multiuser/working_set.hpp"

namespace iqd::noma {
namespace {

using Complex = std::complex<double>;

constexpr double kRegularization = 1e-6;    // times the number of rows, of least squares
constexpr double kLeastStartNoise = 1e-12;  // times the trace of H H^H
constexpr double kLeastPivot = 1e-15;       // relative to the original diagonal entry

/// R w = B for the antennas in use; R [m][m] Hermitian (diagonal and below), B [m][user] for all users.
struct Equations {
  Equations(const Method& method, std::byte* memory)
      : antennas(method.antennas), users(method.users), size(method.used_count), scratch(memory) {}

  void clear() const {
    std::fill_n(left, size * size, 0);
    std::fill_n(right, size * users, 0);
  }
  Complex& r(int m, int n) const { return left[m * size + n]; }
  Complex* b(int m) const { return right + m * users; }

  void add_to_diagonal(double x) const {
    for (int m = 0; m < size; ++m) r(m, m) += x;
  }
  double trace() const {
    double sum = 0;
    for (int m = 0; m < size; ++m) sum += r(m, m).real();
    return sum;
  }

  /// Replaces B by w, with the decomposition R = L L^H. A direction that R does not determine gets 0.
  void solve() const {
    for (int m = 0; m < size; ++m) {
      const double before = r(m, m).real();
      for (int n = 0; n <= m; ++n) {
        Complex sum = r(m, n);
        for (int k = 0; k < n; ++k) sum -= r(m, k) * std::conj(r(n, k));
        if (n < m)
          r(m, n) = sum * r(n, n);
        else
          r(m, m) = sum.real() > kLeastPivot * before ? 1 / std::sqrt(sum.real()) : 0;  // inverted
      }
    }
    for (int m = 0; m < size; ++m) eliminate(m, 0, m, [this, m](int k) { return r(m, k); });
    for (int m = size - 1; m >= 0; --m) eliminate(m, m + 1, size, [this, m](int k) { return std::conj(r(k, m)); });
  }

  int antennas;
  std::int64_t users;
  int size;
  Scratch scratch;
  Complex* left = scratch.take<Complex>(antennas * antennas);
  Complex* right = scratch.take<Complex>(antennas * users);

 private:
  template <class Factor> void eliminate(int m, int from, int to, Factor factor) const {
    for (int k = from; k < to; ++k)
      for (std::int64_t u = 0; u < users; ++u) b(m)[u] -= factor(k) * b(k)[u];
    for (std::int64_t u = 0; u < users; ++u) b(m)[u] *= r(m, m).real();
  }
};

/// R += x x^H, B += x conj(b). Written out because products of std::complex check for NaN.
void add_pilot(const Equations& e, const double* re, const double* im, const double* sent_re, const double* sent_im) {
  const auto add = [](Complex* to, double x, double y, const double* of_re, const double* of_im, std::int64_t count) {
    auto* const parts = reinterpret_cast<double*>(to);
    for (std::int64_t n = 0; n < count; ++n) {
      parts[2 * n] += x * of_re[n] + y * of_im[n];
      parts[2 * n + 1] += y * of_re[n] - x * of_im[n];
    }
  };
  for (int m = 0; m < e.size; ++m) {
    add(&e.r(m, 0), re[m], im[m], re, im, m + 1);
    add(e.b(m), re[m], im[m], sent_re, sent_im, e.users);
  }
}

/// Pilots left out are 0 here, and add nothing.
void least_squares(const WorkingSet& w, std::int64_t valid, const Equations& e) {
  double re[kMostAntennas], im[kMostAntennas], sent_re[kMostUsers], sent_im[kMostUsers];
  for (std::int64_t t = 0; t < w.method.pilots; ++t) {
    for (int k = 0; k < w.used_count; ++k) {
      re[k] = static_cast<double>(w.places.real(w.antenna(k))[w.place(t)]);
      im[k] = static_cast<double>(w.places.imag(w.antenna(k))[w.place(t)]);
    }
    for (int u = 0; u < w.method.users; ++u) {
      sent_re[u] = static_cast<double>(w.sent[w.row(t, 0) + u]);
      sent_im[u] = static_cast<double>(w.sent[w.row(t, 1) + u]);
    }
    add_pilot(e, re, im, sent_re, sent_im);
  }
  e.add_to_diagonal(kRegularization * 2 * static_cast<double>(valid));
  e.solve();
}

/// R = H H^H + N I, B = H.
void least_mean_squares(const WorkingSet& w, const Given& given, const Equations& e) {
  const int users = w.method.users;
  for (int m = 0; m < e.size; ++m) {
    const cf32* const row = given.h + w.antenna(m) * users;
    for (int u = 0; u < users; ++u) e.b(m)[u] = Complex(row[u]);
    for (int n = 0; n <= m; ++n)
      for (int u = 0; u < users; ++u) e.r(m, n) += e.b(m)[u] * std::conj(e.b(n)[u]);
  }
  e.add_to_diagonal(std::max(static_cast<double>(*given.noise), kLeastStartNoise * e.trace()));
  e.solve();
}

/// The filter z = conj(f) r for received vectors, or for scaled ones with start lls: [antenna in use][user].
void find_filter(const WorkingSet& w, const Given& given, std::int64_t valid, const Equations& e) {
  const Method& m = w.method;
  e.clear();
  if (m.start == Start::lls) least_squares(w, valid, e);
  if (m.start == Start::genie) least_mean_squares(w, given, e);
  for (int k = 0; m.start == Start::port && k < e.size; ++k)
    for (int u = 0; u < m.users; ++u) e.b(k)[u] = Complex(given.start[u * m.antennas + w.antenna(k)]);
}

bool all_finite(const WorkingSet& w, const Given& given) {
  const Method& m = w.method;
  bool finite = m.start != Start::genie || std::isfinite(*given.noise);
  for (int k = 0; k < w.used_count; ++k)
    for (int u = 0; u < m.users; ++u) {
      const int a = w.antenna(k);
      if (m.start == Start::genie) finite = finite && is_finite(given.h[a * m.users + u]);
      if (m.start == Start::port) finite = finite && is_finite(given.start[u * m.antennas + a]);
    }
  return finite;
}

}  // namespace

std::size_t begin_bytes(const Method& method) {
  return Equations(method, nullptr).scratch.bytes();
}

bool begin(const WorkingSet& w, const Given& given, std::int64_t valid, float scale, std::byte* memory) noexcept {
  const Method& m = w.method;
  std::fill_n(w.c, w.row(m.antennas, 0), 0.0f);
  if (!all_finite(w, given)) return false;
  if (m.start == Start::zero) return true;
  const Equations e(m, memory);
  find_filter(w, given, valid, e);
  const double of_scaled = m.start == Start::lls ? 1 : static_cast<double>(scale);
  const double to_c = 1 / (static_cast<double>(m.linear) * of_scaled);
  for (int k = 0; k < w.used_count; ++k) {
    const int a = w.antenna(k);
    for (int u = 0; u < m.users; ++u) {
      w.c[w.row(a, 0) + u] = static_cast<float>(e.b(k)[u].real() * to_c);
      w.c[w.row(a, 1) + u] = static_cast<float>(e.b(k)[u].imag() * to_c);
    }
  }
  return true;
}

}  // namespace iqd::noma
