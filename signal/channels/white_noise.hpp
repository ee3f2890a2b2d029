// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace iqd {

/// White complex Gaussian noise of variance 1, a function of seed, stream and absolute position.
///
/// Each piece of 4096 samples is the sum of two windows at random places of one long table, so a piece costs two
/// additions a sample; the same pair of windows comes again only after about 2^40 pieces.
class WhiteNoise {
 public:
  explicit WhiteNoise(std::uint64_t seed);
  /// Adds `amplitude` times the noise at positions first, first + 1, …, `first` from 0 on.
  void add(std::uint64_t stream, std::int64_t first, float amplitude,
           std::span<std::complex<float>> into) const noexcept;

  /// One table serves all who ask for the same seed.
  static std::shared_ptr<const WhiteNoise> shared(std::uint64_t seed);

 private:
  std::uint64_t seed_;
  std::vector<std::complex<float>> table_;
};

}  // namespace iqd
