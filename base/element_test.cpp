// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace iqd {
namespace {

/// IEEE 754's definition, in double.
double value_of(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double sign = bits & 0x8000 ? -1 : 1;
  return exponent == 0 ? sign * fraction * std::pow(2.0, -14) : sign * (1 + fraction) * std::pow(2.0, exponent - 15);
}
bool is_finite(std::uint16_t bits) {
  return (bits & 0x7c00) != 0x7c00;
}

TEST(F16, AllPatternsHaveTheirValue) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float x = to_float(f16{bits});
    if (is_finite(bits)) {
      ASSERT_EQ(static_cast<double>(x), value_of(bits)) << i;
      ASSERT_EQ(std::signbit(x), (bits & 0x8000) != 0) << i;
    } else if (bits & 0x3ff) {
      ASSERT_TRUE(std::isnan(x)) << i;
    } else {
      ASSERT_EQ(x, bits & 0x8000 ? -INFINITY : INFINITY);
    }
  }
}

TEST(F16, AllPatternsSurviveTheWayThroughFloat) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const f16 h{static_cast<std::uint16_t>(i)};
    const f16 back = to_f16(to_float(h));
    if (std::isnan(to_float(h))) {
      ASSERT_TRUE(std::isnan(to_float(back))) << i;
    } else {
      ASSERT_EQ(back.bits, h.bits);
    }
  }
}

TEST(F16, RoundsToNearestEvenBetweenAllNeighbours) {
  for (std::uint16_t low = 0; low < 0x7bff; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const auto middle = static_cast<float>((value_of(low) + value_of(high)) / 2);
    const std::uint16_t even = low & 1 ? high : low;
    for (const float s : {1.0f, -1.0f}) {
      const int sign = s < 0 ? 0x8000 : 0;
      ASSERT_EQ(to_f16(s * middle).bits, sign | even) << low;
      ASSERT_EQ(to_f16(s * std::nextafter(middle, 0.0f)).bits, sign | low) << low;
      ASSERT_EQ(to_f16(s * std::nextafter(middle, 1e9f)).bits, sign | high) << low;
    }
  }
}

TEST(F16, EdgesAreInfiniteOrZero) {
  EXPECT_EQ(to_f16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(to_f16(INFINITY).bits, 0x7c00);
  EXPECT_EQ(to_f16(1e-30f).bits, 0);
  EXPECT_EQ(to_f16(-1e-30f).bits, 0x8000);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(Element, TableIsInOrderAndNamesAreFoundAgain) {
  for (std::size_t i = 0; i < kElements.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kElements[i].element), i);
    EXPECT_EQ(element_named(kElements[i].name), kElements[i].element);
  }
  EXPECT_FALSE(element_named("f64"));
  EXPECT_FALSE(element_named(""));
}

TEST(Element, TypesAndTableAgree) {
  for (const ElementTraits& t : kElements) {
    with_element(t.element, [&](auto value) {
      using T = decltype(value);
      EXPECT_EQ(element_of<T>, t.element) << t.name;
      EXPECT_EQ(element_of<const T>, t.element) << t.name;
      EXPECT_EQ(sizeof(T), t.size) << t.name;
    });
    EXPECT_EQ(t.complex, t.sigmf.front() == 'c') << t.name;
  }
}

}  // namespace
}  // namespace iqd
