// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/convert/convert.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/elements_under_test.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::convert {
namespace {

using testing::complex_noise;
using testing::ElementsUnderTest;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class To, class From> std::vector<To> converted(const std::vector<From>& x) {
  std::vector<To> y(x.size());
  run_cpu(View<const From, 2>(x.data(), {1, std::ssize(x)}), View<To, 2>(y.data(), {1, std::ssize(y)}));
  return y;
}

TEST(Convert, EveryInteger16AndBack) {
  std::vector<std::int16_t> all;
  for (int i = -32768; i <= 32767; ++i) all.push_back(static_cast<std::int16_t>(i));
  const auto floats = converted<float>(all);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(floats[i], static_cast<float>(all[i]) / 32768);
  EXPECT_EQ(converted<std::int16_t>(floats), all);
}

TEST(Convert, EveryInteger8AndBack) {
  std::vector<std::int8_t> all;
  for (int i = -128; i <= 127; ++i) all.push_back(static_cast<std::int8_t>(i));
  const auto floats = converted<float>(all);
  EXPECT_EQ(floats.front(), -1);
  EXPECT_EQ(floats.back(), 127.0f / 128);
  EXPECT_EQ(converted<std::int8_t>(floats), all);
  EXPECT_EQ(converted<std::int16_t>(all).back(), 127 * 256);
}

TEST(Convert, RoundsHalvesToEvenAndSaturates) {
  const auto to16 = [](float x) { return converted<std::int16_t>(std::vector{x / 32768}).front(); };
  EXPECT_EQ(to16(0.5f), 0);
  EXPECT_EQ(to16(1.5f), 2);
  EXPECT_EQ(to16(-0.5f), 0);
  EXPECT_EQ(to16(-2.5f), -2);
  EXPECT_EQ(to16(2.500001f), 3);
  const std::vector<float> x{1, -1, 0.99999f, 1e30f, -1e30f, kInf, -kInf, kNan, -0.0f, 1e-40f};
  EXPECT_EQ(converted<std::int16_t>(x),
            (std::vector<std::int16_t>{32767, -32768, 32767, 32767, -32768, 32767, -32768, 0, 0, 0}));
  EXPECT_EQ(converted<std::int8_t>(x), (std::vector<std::int8_t>{127, -128, 127, 127, -128, 127, -128, 0, 0, 0}));
}

TEST(Convert, Integers32) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  const std::vector<float> x{1,    -1, 0.5f, std::nextafter(1.0f, 0.0f), 0x1p-31f, 0x1.8p-31f, -0x1.4p-30f,
                             kNan, 7,  -kInf};
  EXPECT_EQ(converted<std::int32_t>(x),
            (std::vector<std::int32_t>{kMost, kLeast, 1 << 30, kMost - 127, 1, 2, -2, 0, kMost, kLeast}));
  EXPECT_EQ(converted<float>(std::vector<std::int32_t>{kLeast, 1 << 30, 0}), (std::vector<float>{-1, 0.5f, 0}));
}

TEST(Convert, EveryHalfIsExact) {
  std::vector<f16> all;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
  const auto floats = converted<float>(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const float expected = to_float(all[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(floats[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), std::bit_cast<std::uint32_t>(expected)) << i;
    }
  }
}

TEST(Convert, HalvesRoundAsTheDefinitionSays) {
  std::vector<float> x{0,     -0.0f, kInf,     -kInf,    kNan,     65504,      65519.99f,
                       65520, 1e30f, 0x1p-14f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 1e-40f};
  std::mt19937 engine(3);
  for (int i = 0; i < 200000; ++i) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(engine())));
  std::uniform_real_distribution<float> exponent(-26, 17);
  for (int i = 0; i < 200000; ++i) x.push_back(std::exp2(exponent(engine)));
  const auto y = converted<f16>(x);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i].bits, to_f16(x[i]).bits) << x[i];
}

TEST(Convert, ComplexIsTwoReals) {
  const std::vector<sc16> x{{-32768, 16384}, {1, 0}, {5, 6}};
  const auto y = converted<cf32>(x);
  EXPECT_EQ(y[0], cf32(-1, 0.5f));
  EXPECT_EQ(converted<sc16>(y), x);
}

TEST(Convert, TheSameTypeIsACopy) {
  const std::vector<float> x{1, kNan, 3};
  EXPECT_TRUE(same_bits(converted<float>(x), x));
  EXPECT_EQ(converted<std::int32_t>(std::vector<std::int32_t>{123456789}).front(), 123456789);
}

TEST(Convert, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest s(entry(), "{dtype: sc16}", {stream_of(Element::cf32, 2)});
  EXPECT_EQ(s.out().text(), "sc16 [channel 2][n]");
  const auto x = complex_noise(3000);
  EXPECT_TRUE(same_bits(s.stream<sc16>(x, {1, 15, 16, 17, 333}), s.stream<sc16>(x)));
  EXPECT_TRUE(same_bits(s.stream<sc16>(x), converted<sc16>(x)));
}

TEST(Convert, CountsPassThrough) {
  PortShape words = stream_of(Element::f32);
  words.axis = Axis::counted;
  words.most = 3;
  words.item = {{"bit", 2}};
  StageUnderTest s(entry(), "{dtype: i8}", {words});
  EXPECT_EQ(s.once<std::int8_t>(std::vector<float>{1, -1, 0, 0.5f, 1, 1}, 0, 3, 2),
            (std::vector<std::int8_t>{127, -128, 0, 64}));
  EXPECT_EQ(s.count(), 2);
}

TEST(Convert, SaysWhatGeneratedKernelsDo) {
  const auto type = [](const std::string& keys, Element in) {
    const auto code = ElementsUnderTest(entry(), keys, stream_of(in)).code->device_code();
    return code ? code->type : "";
  };
  EXPECT_EQ(type("{dtype: cf32}", Element::sc16),
            "iqd::convert::Conversion<iqd::elementwise::Complex16, iqd::elementwise::Complex>");
  EXPECT_EQ(type("{dtype: i8}", Element::f32), "iqd::convert::Conversion<float, signed char>");
  EXPECT_EQ(type("{dtype: f16}", Element::f32), "");  // generated kernels have no f16
}

TEST(Convert, RefusesToMix) {
  EXPECT_THAT(StageUnderTest(entry(), "{dtype: f32}", {stream_of(Element::cf32)}).complaints(),
              HasSubstr("dtype: cannot convert cf32 to f32"));
  EXPECT_THAT(StageUnderTest(entry(), "{dtype: sc16}", {stream_of(Element::i16)}).complaints(),
              HasSubstr("do not mix"));
  EXPECT_THAT(StageUnderTest(entry(), "{}", {stream_of(Element::i16)}).complaints(), HasSubstr("dtype: is required"));
}

}  // namespace
}  // namespace iqd::convert
