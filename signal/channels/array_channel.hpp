// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace iqd {

/// Both stand upright and face azimuth 0. circular: evenly on a circle. planar: rows of equal length half a wavelength
/// apart, as square as the number of antennas allows.
enum class ArrayKind : std::uint8_t { circular, planar };
inline std::span<const std::string_view> enum_names(ArrayKind) {
  static constexpr std::string_view names[] = {"circular", "planar"};
  return names;
}

/// Gains from users to the antennas of an array, for simulations; the same for all carriers. For antennas at p_m
/// wavelengths, user u in direction d_u (of length 1) with power P_u and Rice factor K has
///
///   h_mu = sqrt(P_u) (sqrt(K / (K + 1)) exp(2 pi j (p_m . d_u + phase_u)) + sqrt(1 / (K + 1)) s_mu)
///
/// with independent complex Gaussian s of variance 1. Users are spread evenly in azimuth, each off by up to `jitter`,
/// at elevations within 5 degrees. All move at the same rate in degrees per second. A user's scattered part stands
/// still, or is a sum of waves from all around with Doppler shifts of up to its `doppler_hz`.
///
/// Depends only on seed and time; may be used by many threads.
class ArrayChannel {
 public:
  struct Options {
    ArrayKind array = ArrayKind::circular;
    std::int64_t antennas = 16;
    double radius = 0.5293;  // of the circle, wavelengths: 6.5 cm at 2.442 GHz
    std::int64_t users = 6;
    double spread_deg = 60;  // from the first user to the last
    double jitter_deg = 1;   // to both sides
    double rice_db = 12;
    std::vector<double> powers_db = {};   // of users; 0 for those not given
    double motion_deg = 0;                // per second, in azimuth
    std::vector<double> doppler_hz = {};  // of users; 0 for those not given
    std::uint64_t seed = 1;
  };
  struct Vector {
    double x, y, z;
  };
  explicit ArrayChannel(Options options);

  std::complex<double> gain(std::int64_t antenna, std::int64_t user, double seconds = 0) const;
  /// In wavelengths.
  Vector position(std::int64_t antenna) const;
  double azimuth_deg(std::int64_t user, double seconds = 0) const;
  double elevation_deg(std::int64_t user) const;
  /// P_u
  double power(std::int64_t user) const;
  double doppler_hz(std::int64_t user) const;

 private:
  Options options_;
  std::int64_t columns_;  // of a planar array
};

}  // namespace iqd
