// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/power_of_two_fft.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace iqd {
namespace {

TEST(PowerOfTwoFft, AgreesWithTheDefinition) {
  for (const std::size_t size : {1, 2, 4, 8, 64, 256}) {
    std::vector<std::complex<double>> x;
    for (std::size_t n = 0; n < size; ++n)
      x.emplace_back(std::sin(3.0 * static_cast<double>(n)), std::cos(5.0 * static_cast<double>(n)) + 0.25);
    auto y = x;
    power_of_two_fft(y);
    for (std::size_t k = 0; k < size; ++k) {
      std::complex<double> sum = 0;
      for (std::size_t n = 0; n < size; ++n)
        sum += x[n] *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(n * k % size) / static_cast<double>(size));
      EXPECT_LT(std::abs(y[k] - sum), 1e-12 * static_cast<double>(size)) << size << " " << k;
    }
  }
}

}  // namespace
}  // namespace iqd
