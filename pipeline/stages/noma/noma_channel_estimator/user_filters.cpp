// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/noma_channel_estimator/user_filters.hpp"

#include <algorithm>
#include <cmath>

#include "pipeline/stages/complex.hpp"

namespace iqd::noma_channel_estimator {
namespace {

using wide = std::complex<double>;

using dsp::product;

/// L of a positive definite matrix replaces its lower triangle.
void take_lower_root(wide* m, int order) noexcept {
  for (int j = 0; j < order; ++j) {
    for (int i = j; i < order; ++i)
      for (int k = 0; k < j; ++k) m[i * order + j] -= product(m[i * order + k], std::conj(m[j * order + k]));
    const double own = std::sqrt(m[j * order + j].real());
    m[j * order + j] = own;
    for (int i = j + 1; i < order; ++i) m[i * order + j] /= own;
  }
}
/// x of L x = y replaces y.
void solve_lower(const wide* l, int order, wide* x) noexcept {
  for (int i = 0; i < order; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= product(l[i * order + k], x[k]);
    x[i] /= l[i * order + i].real();
  }
}
/// x of L^H x = y replaces y.
void solve_upper(const wide* l, int order, wide* x) noexcept {
  for (int i = order; i-- > 0;) {
    for (int k = i + 1; k < order; ++k) x[i] -= product(std::conj(l[k * order + i]), x[k]);
    x[i] /= l[i * order + i].real();
  }
}

}  // namespace

UserFilters::UserFilters(const Design& design, Scratch& scratch)
    : e_(design.extents),
      root_(scratch.take<complex>(std::int64_t{e_.rx} * e_.rx)),
      white_(scratch.take<complex>(e_.pairs())),
      gram_(scratch.take<complex>(std::int64_t{e_.users} * e_.users)),
      factor_(scratch.take<complex>(std::int64_t{e_.users} * e_.users)),
      inverse_(scratch.take<complex>(e_.users)),
      column_(scratch.take<complex>(std::max(e_.rx, e_.users))),
      filters_(scratch.take<cf32>(std::int64_t{e_.carriers} * e_.pairs())),
      through_(scratch.take<cf32>(std::int64_t{e_.carriers} * e_.users * e_.users)),
      noise_(scratch.take<float>(std::int64_t{e_.carriers} * e_.users)) {}

void UserFilters::design_for(const UserChannels& channels, const double* left) noexcept {
  measure_noise(channels);
  for (int c = 0; c < e_.carriers; ++c) separate(channels, c, left);
}

/// The covariance of what is left of the pilots without all users; as many samples of white noise keep it definite as
/// there are antennas. What is not known of the channels counts by half: the fit took a part of it away.
void UserFilters::measure_noise(const UserChannels& channels) noexcept {
  std::fill_n(root_, std::int64_t{e_.rx} * e_.rx, complex(0));
  for (std::int64_t i = 0; i < std::int64_t{e_.training} * e_.carriers; ++i) {
    if (channels.weights()[i] == 0) continue;
    const cf32* const h = channels.channel() + i % e_.carriers * e_.pairs();
    std::copy_n(channels.white() + i * e_.rx, e_.rx, column_);
    for (int u = 0; u < e_.users; ++u) {
      const complex x(channels.sent()[i * e_.users + u]);
      for (int r = 0; r < e_.rx; ++r) column_[r] -= product(complex(h[u * e_.rx + r]), x);
    }
    for (int r = 0; r < e_.rx; ++r)
      for (int j = 0; j <= r; ++j) root_[r * e_.rx + j] += product(column_[r], std::conj(column_[j]));
  }
  const double count = channels.known() + e_.rx;
  for (int i = 0; i < e_.rx; ++i) {
    for (int j = 0; j <= i; ++j) root_[i * e_.rx + j] /= count;
    root_[i * e_.rx + i] += e_.rx / count + 0.5 * channels.unknown();
  }
  take_lower_root(root_, e_.rx);
}

/// Column `user` of A^-1, with A = 1 + d b^H b d; d is 1 for this user, and the root of what is left for others.
void UserFilters::invert(int user, const double* left) noexcept {
  const int users = e_.users;
  const auto share = [&](int v) { return left == nullptr || v == user ? 1.0 : std::sqrt(left[v]); };
  if (left != nullptr || user == 0) {
    for (int v = 0; v < users; ++v)
      for (int w = 0; w <= v; ++w)
        factor_[v * users + w] = gram_[v * users + w] * (share(v) * share(w)) + (v == w ? 1.0 : 0.0);
    take_lower_root(factor_, users);
  }
  std::fill_n(inverse_, users, complex(0));
  inverse_[user] = 1;
  solve_lower(factor_, users, inverse_);
  solve_upper(factor_, users, inverse_);
}

/// With b = L^-1 h, the filters are L^-H b d A^-1. A user's share in its output is 1 - A^-1(u, u), so A^-1(u, u) over
/// that share is the noise of its symbols.
void UserFilters::separate(const UserChannels& channels, int carrier, const double* left) noexcept {
  const int users = e_.users, rx = e_.rx;
  const cf32* const h = channels.channel() + std::int64_t{carrier} * e_.pairs();
  for (int u = 0; u < users; ++u) {
    complex* const b = white_ + u * rx;
    std::copy_n(h + u * rx, rx, b);
    solve_lower(root_, rx, b);
    for (int v = 0; v <= u; ++v) {
      complex sum = 0;
      for (int r = 0; r < rx; ++r) sum += product(std::conj(white_[v * rx + r]), b[r]);
      gram_[u * users + v] = std::conj(sum);
    }
  }
  for (int u = 0; u < users; ++u) {
    invert(u, left);
    std::fill_n(column_, rx, complex(0));
    for (int v = 0; v < users; ++v) {
      const complex own = inverse_[v] * (left == nullptr || v == u ? 1.0 : std::sqrt(left[v]));
      for (int r = 0; r < rx; ++r) column_[r] += product(white_[v * rx + r], own);
    }
    double share = 0;
    for (int r = 0; r < rx; ++r) share += product(std::conj(column_[r]), white_[u * rx + r]).real();
    const bool heard = share > double{kLeastShare};
    noise_[at(carrier, u)] = heard ? static_cast<float>(inverse_[u].real() / share) : 0;
    for (int v = 0; v < users; ++v) {
      complex sum = 0;
      for (int r = 0; r < rx; ++r) sum += product(std::conj(column_[r]), white_[v * rx + r]);
      through_[at(carrier, u) * users + v] = heard ? cf32(sum / share) : cf32(0);
    }
    solve_upper(root_, rx, column_);
    cf32* const filter = filters_ + at(carrier, u) * rx;
    for (int r = 0; r < rx; ++r) filter[r] = heard ? cf32(column_[r] * (channels.scale(r) / share)) : cf32(0);
  }
}

}  // namespace iqd::noma_channel_estimator
