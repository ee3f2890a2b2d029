// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace iqd {

/// White complex Gaussian noise of variance 1, which depends only on seed, stream and absolute position.
///
/// Each piece of 4096 samples is the sum of two windows at random places of one long table, so a sample costs two
/// additions; the same pair of windows recurs only after about 2^40 pieces.
class WhiteNoise {
 public:
  explicit WhiteNoise(std::uint64_t seed);
  /// Adds `amplitude` times the noise at positions first, first + 1, …; `first` is at least 0.
  void add(std::uint64_t stream, std::int64_t first, float amplitude,
           std::span<std::complex<float>> into) const noexcept;

  /// All users of a seed share one table.
  static std::shared_ptr<const WhiteNoise> shared(std::uint64_t seed);

 private:
  std::uint64_t seed_;
  std::vector<std::complex<float>> table_;
};

}  // namespace iqd
