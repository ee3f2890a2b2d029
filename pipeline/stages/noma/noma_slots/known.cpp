// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "pipeline/stages/noma/noma_slots/noma_slots.hpp"

namespace iqd::noma_slots {
namespace {

using complex = std::complex<double>;

std::size_t index(std::int64_t i) noexcept {
  return static_cast<std::size_t>(i);
}

/// (A^H A + 1)^-1 A^H, [user][carrier]; A is [carrier][user]. The 1 is negligible against as many pilots as carriers,
/// and keeps the result finite with more users than carriers. Gauss-Jordan without pivoting, since it is positive
/// definite.
std::vector<complex> least_squares(const std::vector<complex>& a, std::int64_t users) {
  const std::int64_t carriers = std::ssize(a) / users, width = users + carriers;
  std::vector<complex> rows(index(users * width));  // [A^H A + 1, A^H]
  for (std::int64_t u = 0; u < users; ++u) {
    complex* const row = &rows[index(u * width)];
    for (std::int64_t c = 0; c < carriers; ++c) {
      row[users + c] = std::conj(a[index(c * users + u)]);
      for (std::int64_t v = 0; v < users; ++v) row[v] += row[users + c] * a[index(c * users + v)];
    }
    row[u] += 1;
  }
  for (std::int64_t u = 0; u < users; ++u) {
    complex* const own = &rows[index(u * width)];
    for (std::int64_t i = width - 1; i >= u; --i) own[i] /= own[u];
    for (std::int64_t v = 0; v < users; ++v) {
      complex* const other = &rows[index(v * width)];
      if (v != u)
        for (std::int64_t i = width - 1; i >= u; --i) other[i] -= other[u] * own[i];
    }
  }
  std::vector<complex> inverse;
  for (std::int64_t u = 0; u < users; ++u)
    inverse.insert(inverse.end(), rows.begin() + u * width + users, rows.begin() + (u + 1) * width);
  return inverse;
}

}  // namespace

Known::Known(const NomaFormat& format) : points(index(format.pilots * format.users)) {
  const OfdmFormat& air = format.air;
  const OfdmReference reference(air);
  signs.assign(reference.training().begin(), reference.training().end());
  std::vector<complex> sent(index(format.pilot_slots() * format.users));
  for (std::int64_t u = 0; u < format.users; ++u) {
    const std::vector<cf32> own = format.pilot_points(u);
    for (std::int64_t t = 0; t < format.pilot_slots(); ++t) {
      const cf32 point = own[index(t)];
      sent[index(t * format.users + u)] = point;
      if (t < format.pilots) points[index(t * format.users + u)] = point;
    }
  }
  const std::int64_t size = air.carriers * format.users;
  for (std::int64_t s = 0; s < format.training; ++s) {
    const auto made = least_squares({sent.begin() + s * size, sent.begin() + (s + 1) * size}, format.users);
    channels.insert(channels.end(), made.begin(), made.end());
  }
}

}  // namespace iqd::noma_slots
