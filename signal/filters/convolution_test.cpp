// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "tests/support/convolution_case.hpp"

namespace iqd {
namespace {

/// Runs the first `packets` packets; rows of y are `pitch` apart.
std::vector<cf32> run(const ConvolutionCase& c, const ConvolutionChoice& choice, std::int64_t pitch,
                      std::int64_t packets) {
  const auto convolver = cpu_convolution().make(c.shape, choice);
  std::vector<cf32> y(static_cast<std::size_t>(c.shape.batch * pitch), cf32(9, 9));
  std::vector<std::byte> scratch(convolver->scratch_bytes());
  convolver->run({{c.x.data(), {packets, c.shape.signal}},
                  {c.h.data(), {c.shape.filters(), c.shape.taps}},
                  {c.g.data(), {c.second_filters, c.shape.second}},
                  {y.data(), {packets, c.shape.outputs()}, pitch}},
                 scratch.data(), {});
  return y;
}

class CpuConvolutionOf : public ::testing::TestWithParam<ConvolutionShape> {};

TEST_P(CpuConvolutionOf, EachMethodIsTheDefinition) {
  const ConvolutionShape& shape = GetParam();
  const ConvolutionCase c(shape);
  for (const ConvolutionChoice& choice : cpu_convolution().choices(shape)) {
    const std::vector<cf32> y = run(c, choice, shape.outputs() + 3, shape.batch);
    c.expect(y, shape.outputs() + 3, text_of(choice));
    for (std::int64_t b = 0; b < shape.batch; ++b)  // the space between rows is not touched
      for (int i = 0; i < 3; ++i) EXPECT_EQ(y[b * (shape.outputs() + 3) + shape.outputs() + i], cf32(9, 9));
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, CpuConvolutionOf, ::testing::ValuesIn(convolution_shapes()), [](const auto& shape) {
  std::string name = text_of(shape.param);
  for (char& c : name) c = c == '+' ? 'p' : c == '/' ? 'i' : c;
  return name;
});

TEST(CpuConvolution, ASecondFilterMayBeOneForAll) {
  const ConvolutionCase c(convolution_shape("300x30+5x3"), true);
  for (const ConvolutionChoice& choice : cpu_convolution().choices(c.shape))
    c.expect(run(c, choice, c.shape.outputs(), 3), c.shape.outputs(), text_of(choice));
}

TEST(CpuConvolution, FewerPacketsThanTheShapeHas) {
  const ConvolutionCase c(convolution_shape("300x30x3"));
  for (const ConvolutionChoice& choice : cpu_convolution().choices(c.shape)) {
    const auto none = run(c, choice, c.shape.outputs(), 0);
    EXPECT_TRUE(std::all_of(none.begin(), none.end(), [](cf32 v) { return v == cf32(9, 9); }));
    const auto all = run(c, choice, c.shape.outputs(), 3), two = run(c, choice, c.shape.outputs(), 2);
    EXPECT_TRUE(std::equal(all.begin(), all.begin() + 2 * c.shape.outputs(), two.begin()));
    EXPECT_EQ(two.back(), cf32(9, 9));
  }
}

TEST(CpuConvolution, WhatIsNotFiniteStaysInItsPacket) {
  ConvolutionCase c(convolution_shape("300x30x3"));
  c.x[300 + 10] = {std::numeric_limits<float>::infinity(), 0};
  const auto finite = [](cf32 v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); };
  for (const ConvolutionChoice& choice : cpu_convolution().choices(c.shape)) {
    const auto y = run(c, choice, c.shape.outputs(), 3);
    const auto row = y.begin() + c.shape.outputs();
    EXPECT_TRUE(std::all_of(y.begin(), row, finite)) << text_of(choice);
    EXPECT_FALSE(std::all_of(row, row + c.shape.outputs(), finite)) << text_of(choice);
    EXPECT_TRUE(std::all_of(row + c.shape.outputs(), y.end(), finite)) << text_of(choice);
  }
}

TEST(CpuConvolution, TheRuleIsOneOfTheChoices) {
  for (const ConvolutionShape& shape : convolution_shapes()) {
    const auto choices = cpu_convolution().choices(shape);
    EXPECT_NE(std::find(choices.begin(), choices.end(), cpu_convolution().rule(shape)), choices.end());
  }
  EXPECT_THROW(cpu_convolution().make(convolution_shape("100x21x3"), {"tiled", 128}), UsageError);
}

}  // namespace
}  // namespace iqd
