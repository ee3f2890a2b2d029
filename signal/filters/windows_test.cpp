// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/windows.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

TEST(Windows, AreSymmetricWithOneInTheMiddle) {
  for (int w = 0; w < 6; ++w) {
    const auto x = make_window(static_cast<Window>(w), 65, 8.6);
    EXPECT_NEAR(x[32], 1, 1e-14) << kWindowNames[static_cast<std::size_t>(w)];
    for (std::size_t i = 0; i < 65; ++i) EXPECT_NEAR(x[i], x[64 - i], 1e-14);
  }
}

TEST(Windows, EndsAreTheTextbookValues) {
  EXPECT_EQ(window_at(Window::rectangular, 0, 9), 1);
  EXPECT_NEAR(window_at(Window::hann, 0, 9), 0, 1e-16);
  EXPECT_NEAR(window_at(Window::hamming, 0, 9), 0.08, 1e-15);
  EXPECT_NEAR(window_at(Window::blackman, 0, 9), 0, 1e-15);
  EXPECT_NEAR(window_at(Window::blackman_harris, 0, 9), 6e-5, 1e-15);
  EXPECT_NEAR(window_at(Window::kaiser, 0, 9, 5), 1 / bessel_i0(5), 1e-15);
  EXPECT_NEAR(bessel_i0(5), 27.239871823604442, 1e-12);
}

TEST(Windows, OneSampleIsOneAndNoneIsNone) {
  for (int w = 0; w < 6; ++w) {
    EXPECT_EQ(make_window(static_cast<Window>(w), 1), std::vector<double>{1.0});
    EXPECT_TRUE(make_window(static_cast<Window>(w), 0).empty());
  }
}

TEST(Windows, KaiserWithBetaZeroIsRectangular) {
  for (double x : make_window(Window::kaiser, 7, 0)) EXPECT_EQ(x, 1);
}

}  // namespace
}  // namespace iqd
