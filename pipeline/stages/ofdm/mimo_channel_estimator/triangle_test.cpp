// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/triangle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace iqd::mimo_channel_estimator {
namespace {

TEST(Triangle, IsAMatrixProductForEachColumn) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  for (int antennas = 1; antennas <= kMostAntennas; ++antennas)
    for (const int columns : {1, 2, 3, 8})
      for (const int blocks : {1, 2, 5, 12}) {
        Covariance l;
        for (int i = 0; i < antennas; ++i)
          for (int j = 0; j <= i; ++j) l.re[i][j] = normal(engine), l.im[i][j] = i == j ? 0 : normal(engine);
        const int block = antennas * columns, count = block * blocks;
        // What stands before a row must not matter.
        std::vector<cf32> all(static_cast<std::size_t>(block + count),
                              cf32(std::numeric_limits<float>::quiet_NaN(), 0));
        cf32* const from = &all[static_cast<std::size_t>(block)];
        for (int i = 0; i < count; ++i) from[i] = cf32(std::complex<double>(normal(engine), normal(engine)));
        std::vector<cf32> to(static_cast<std::size_t>(count) + 1, cf32(7, 7));
        const std::complex<double> turn = std::polar(1.0, 0.3);
        Triangle(l, antennas, columns).apply(from, count, to.data(), cf32(turn));
        for (int i = 0; i < count; ++i) {
          const int r = i % block / columns;
          std::complex<double> sum = 0;
          for (int j = 0; j <= r; ++j)
            sum += std::complex<double>(l.re[r][j], l.im[r][j]) * std::complex<double>(from[i - (r - j) * columns]);
          EXPECT_LT(std::abs(std::complex<double>(to[static_cast<std::size_t>(i)]) - turn * sum), 1e-5)
              << antennas << " " << columns << " " << blocks << " " << i;
        }
        EXPECT_EQ(to.back(), cf32(7, 7));
      }
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
