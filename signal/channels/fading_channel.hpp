// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace iqd {

/// How a channel's gains change in time: not at all; a new independent draw at intervals; slowly.
enum class Fading : std::uint8_t { none, block, doppler };
inline std::span<const std::string_view> enum_names(Fading) {
  static constexpr std::string_view names[] = {"none", "block", "doppler"};
  return names;
}

/// A channel from `tx` to `rx` antennas with echoes, for simulations:
///
///   y_r(n) = sum over t, d of h_rtd(n) x_t(n - d),   the sum over d of E|h_rtd|^2 is 1
///
/// block: all h are independent and complex Gaussian, drawn again every `block` samples. doppler: each h is a sum of 16
/// waves from all directions, so nearly Gaussian, and changes as J0(2 pi doppler_t n); it moves in steps of 1/1024 turn
/// of the fastest wave, an error of at most -50 dB. none: never changes; |h_rtd|^2 is exactly `powers[d]`, and the
/// antennas of the side with fewer are orthogonal.
///
/// Depends only on seed and position, not on earlier calls; may be used by many threads.
class FadingChannel {
 public:
  struct Options {
    std::int64_t rx = 1;
    std::int64_t tx = 1;
    std::vector<double> powers = {1};  // mean power of each tap, [d]: d samples late; only ratios matter
    Fading fading = Fading::block;
    std::int64_t block = 1;            // samples
    std::vector<double> doppler = {};  // largest shift of each transmit antenna, turns per sample; 0 if not given
    std::uint64_t seed = 1;
  };
  explicit FadingChannel(Options options);

  /// Delay of the last tap in samples.
  std::int64_t reach() const noexcept { return std::ssize(options_.powers) - 1; }
  /// h_rtd(n).
  std::complex<double> gain(std::int64_t r, std::int64_t t, std::int64_t d, std::int64_t n) const;
  /// y_r at samples first, first + 1, …. `sent[t]` is x_t(first), readable from `reach() + kFilterMargin` samples
  /// before (filter_kernel.hpp) to kFilterMargin after the last.
  void receive(std::int64_t r, std::int64_t first, std::span<const std::complex<float>* const> sent,
               std::span<std::complex<float>> y) const;

 private:
  double doppler(std::int64_t t) const noexcept {
    return t < std::ssize(options_.doppler) ? options_.doppler[static_cast<std::size_t>(t)] : 0;
  }

  Options options_;
  std::int64_t held_;  // samples for which gains stay the same
};

/// `taps` powers exp(-d / spread): an rms spread of `spread` samples if there are enough taps. With a spread of 0 only
/// the first tap has power.
std::vector<double> exponential_profile(double spread, std::int64_t taps);

}  // namespace iqd
