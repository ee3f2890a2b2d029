// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/convolution.hpp"

namespace iqd {

inline void PrintTo(const ConvolutionShape& shape, std::ostream* out) {
  *out << text_of(shape);
}

/// Random packets and filters of a shape, and the expected outputs by definition in double precision.
class ConvolutionCase {
 public:
  /// `one_second`: one g for all packets, whatever h is.
  explicit ConvolutionCase(const ConvolutionShape& of, bool one_second = false)
      : shape(of),
        x(random(of.batch * of.signal)),
        h(random(of.filters() * of.taps)),
        g(random((one_second ? 1 : of.filters()) * of.second)),
        second_filters(of.second == 0 ? 0
                       : one_second   ? 1
                                      : of.filters()) {
    for (std::int64_t b = 0; b < shape.batch; ++b) expected_.push_back(expected(b));
  }

  /// Rows of y `pitch` apart. Errors are relative to the rms of a packet, for sums of that many products of
  /// that size, rounded to 24 bits, in any order.
  void expect(const std::vector<cf32>& y, std::int64_t pitch, const std::string& what) const {
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      const auto& due = expected_[static_cast<std::size_t>(b)];
      ASSERT_EQ(std::ssize(due), shape.outputs());
      double square = 0, worst = 0;
      for (std::int64_t i = 0; i < shape.outputs(); ++i) {
        const double error = std::abs(std::complex<double>(y[static_cast<std::size_t>(b * pitch + i)]) - due[i]);
        square += std::norm(due[i]);
        worst = error > worst || std::isnan(error) ? error : worst;
      }
      EXPECT_LT(worst, 1e-5 * std::sqrt(square / static_cast<double>(shape.outputs()))) << what << ", packet " << b;
    }
  }

  ConvolutionShape shape;
  std::vector<cf32> x, h, g;
  std::int64_t second_filters;

 private:
  using Row = std::vector<std::complex<double>>;

  Row expected(std::int64_t b) const {
    const auto row = [](const std::vector<cf32>& rows, std::int64_t r, std::int64_t length) {
      return Row(rows.begin() + r * length, rows.begin() + (r + 1) * length);
    };
    const Row y = convolve(row(x, b, shape.signal), row(h, shape.one_filter ? 0 : b, shape.taps));
    return shape.second == 0 ? y : convolve(y, row(g, second_filters == 1 ? 0 : b, shape.second));
  }
  static Row convolve(const Row& x, const Row& h) {
    Row y(x.size() + h.size() - 1);
    for (std::size_t n = 0; n < x.size(); ++n)
      for (std::size_t k = 0; k < h.size(); ++k) y[n + k] += x[n] * h[k];
    return y;
  }
  static std::vector<cf32> random(std::int64_t count) {
    static std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    std::vector<cf32> values(static_cast<std::size_t>(count));
    for (cf32& v : values) v = {normal(generator), normal(generator)};
    return values;
  }

  std::vector<Row> expected_;  // [b], in double precision
};

/// Edge cases: one sample, one tap, more taps than samples, taps around the block sizes of methods, two filters, one
/// filter for all.
inline std::vector<ConvolutionShape> convolution_shapes() {
  std::vector<ConvolutionShape> shapes;
  for (const char* text : {"1x1x1", "1x7x2", "5x1x3", "7x9x2", "100x21x3", "100x21x3/1", "333x64+5x2", "40x17+1x2/1",
                           "700x255x2", "700x256x1", "700x257x2/1", "50x300x2", "2500x186x3", "2500x21+186x3"})
    shapes.push_back(convolution_shape(text));
  return shapes;
}

}  // namespace iqd
