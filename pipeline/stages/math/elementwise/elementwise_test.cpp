// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pipeline/stage_runner.hpp"
#include "pipeline/stages/math/elementwise/elementwise_cases.hpp"
#include "pipeline/stages/math/elementwise/elementwise_stage.hpp"
#include "tests/support/elements_under_test.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::elementwise {
namespace {

using testing::complex_noise;
using testing::ElementsUnderTest;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

StageEntry named(std::string_view name) {
  for (StageEntry& e : entries())
    if (e.name == name) return std::move(e);
  ADD_FAILURE() << "no operation " << name;
  return {};
}

template <class T> T element(cf32 x) {
  if constexpr (std::is_same_v<T, cf32>)
    return x;
  else if constexpr (std::is_same_v<T, float>)
    return x.real();
  else
    return static_cast<T>(x.real() * 1.9f * static_cast<float>(std::numeric_limits<T>::max() / 2));
}
template <class T> std::vector<T> some(std::int64_t n, unsigned seed = 1) {
  std::vector<T> all;
  for (const cf32 x : complex_noise(n, seed)) all.push_back(element<T>(x));
  return all;
}

template <class Y, class X, class Op, class Reference>
void expect_agrees(const Op& op, Reference reference, double tolerance = 2e-7) {
  for (std::int64_t n : {0, 1, 2, 3, 15, 16, 17, 1000}) {
    const std::vector<std::vector<X>> x{some<X>(n), some<X>(n, 2)};
    const std::vector<Y> y = applied<Y>(op, x);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_LE(std::abs(Wide(y[i]) - Wide(reference(Wide(x[0][i]), Wide(x[1][i])))), tolerance) << i << " of " << n;
  }
}

TEST(Elementwise, AgreesWithTheDefinitions) {
  expect_agrees<cf32, cf32>(op::add{}, [](Wide x, Wide y) { return x + y; });
  expect_agrees<cf32, cf32>(op::subtract{}, [](Wide x, Wide y) { return x - y; });
  expect_agrees<cf32, cf32>(op::multiply{}, [](Wide x, Wide y) { return x * y; });
  expect_agrees<cf32, cf32>(op::multiply_conjugate{}, [](Wide x, Wide y) { return x * std::conj(y); });
  expect_agrees<float, float>(op::subtract{}, [](Wide x, Wide y) { return x - y; });
  expect_agrees<float, float>(op::multiply{}, [](Wide x, Wide y) { return x * y; });
  expect_agrees<float, cf32>(op::complex_to_mag{}, [](Wide x, Wide) { return std::abs(x); });
  expect_agrees<float, cf32>(op::complex_to_mag_squared{}, [](Wide x, Wide) { return std::norm(x); });
  expect_agrees<float, cf32>(
      op::complex_to_arg{}, [](Wide x, Wide) { return std::arg(x); }, 4e-7);
  expect_agrees<float, cf32>(op::complex_to_mag_phase{}, [](Wide x, Wide) { return std::abs(x); });
  expect_agrees<cf32, cf32>(op::conjugate{}, [](Wide x, Wide) { return std::conj(x); });
  const Number value{{0.6f, -0.8f}, 0};
  expect_agrees<cf32, cf32>(op::multiply_const{{value}}, [](Wide x, Wide) { return x * Wide(0.6f, -0.8f); });
  expect_agrees<cf32, cf32>(op::add_const{{value}}, [](Wide x, Wide) { return x + Wide(0.6f, -0.8f); });
  expect_agrees<float, float>(op::multiply_const{{value}}, [](Wide x, Wide) { return x * Wide(0.6f); });
  expect_agrees<cf32, float>(
      op::mag_phase_to_complex{}, [](Wide x, Wide y) { return x * std::polar(1.0, y.real()); }, 2e-7);
  const auto decibels = [](double x) { return 10 * std::log10(std::max(x, 1e-18)) + 3; };
  expect_agrees<float, float>(
      op::log10{{10, 3}}, [&](Wide x, Wide) { return decibels(x.real()); }, 2e-5);
  expect_agrees<float, float>(
      op::snr_helper{{10, 3}}, [&](Wide x, Wide y) { return std::fabs(decibels(x.real() / y.real())); }, 2e-5);
}

template <class T> void expect_wraps() {
  using Sum = std::make_unsigned_t<T>;
  constexpr T kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::min();
  std::vector<std::vector<T>> x{some<T>(500), some<T>(500, 2)};
  x[0].insert(x[0].end(), {kMost, kLeast, kLeast, kMost});
  x[1].insert(x[1].end(), {T{1}, T{-1}, kLeast, kMost});
  const auto sum = applied<T>(op::add{}, x), difference = applied<T>(op::subtract{}, x);
  const auto product = applied<T>(op::multiply{}, x), shifted = applied<T>(op::add_const{{{{}, -3}}}, x);
  const auto tripled = applied<T>(op::multiply_const{{{{}, 3}}}, x);
  for (std::size_t i = 0; i < x[0].size(); ++i) {
    const std::int64_t a = x[0][i], b = x[1][i];
    EXPECT_EQ(sum[i], static_cast<T>(static_cast<Sum>(a + b)));
    EXPECT_EQ(difference[i], static_cast<T>(static_cast<Sum>(a - b)));
    EXPECT_EQ(product[i], static_cast<T>(static_cast<Sum>(a * b)));
    EXPECT_EQ(shifted[i], static_cast<T>(static_cast<Sum>(a - 3)));
    EXPECT_EQ(tripled[i], static_cast<T>(static_cast<Sum>(a * 3)));
  }
  EXPECT_EQ(sum[500], kLeast);
  EXPECT_EQ(sum[501], kMost);
}

TEST(Elementwise, WholeNumbersWrapAround) {
  expect_wraps<std::int16_t>();
  expect_wraps<std::int32_t>();
}

TEST(Elementwise, InPlaceIsAllowed) {
  const std::vector<std::vector<cf32>> before{complex_noise(1003), complex_noise(1003, 2)};
  const auto expected = applied<cf32>(op::multiply{}, before);
  for (std::size_t place = 0; place < 2; ++place) {
    auto x = before;
    const void* const in[] = {x[0].data(), x[1].data()};
    void* const out[] = {x[place].data()};
    apply(op::multiply{}, Element::cf32, in, out, std::ssize(x[0]));
    EXPECT_TRUE(same_bits(x[place], expected));
  }
}

constexpr std::int64_t kLength = 203;

/// All outputs of an operation on noise, processed in pieces. Each array has room for kLength elements of the largest
/// type.
std::vector<std::byte> in_pieces(const ElementCode& code, std::size_t inputs, Element in, std::size_t outputs,
                                 Element out, std::int64_t piece) {
  constexpr std::int64_t kRoom = kLength * sizeof(cf32);
  const std::vector<cf32> noise = complex_noise(2 * kLength);
  std::vector<std::byte> y(2 * kRoom);
  for (std::int64_t at = 0; at < kLength; at += piece) {
    const auto* const x =
        reinterpret_cast<const std::byte*>(noise.data()) + at * static_cast<std::int64_t>(size_of(in));
    std::byte* const to = y.data() + at * static_cast<std::int64_t>(size_of(out));
    std::vector<const void*> from{x, x + kRoom};
    std::vector<void*> into{to, to + kRoom};
    from.resize(inputs);
    into.resize(outputs);
    code.apply(from, into, at, std::min(piece, kLength - at));
  }
  return y;
}

/// Fused CPU loops and generated kernels use this code.
TEST(Elementwise, PiecesGiveWhatTheWholeGives) {
  for (const StageEntry& e : entries())
    for (const Element element : e.inputs.front().elements) {
      const std::string sample(e.sample);
      const ElementsUnderTest s(e, sample.substr(sample.find(':') + 1), stream_of(element));
      ASSERT_NE(s.code, nullptr) << e.name;
      EXPECT_THAT(s.code->device_code()->type, HasSubstr("op::" + std::string(e.name) + ","));
      const auto run = [&](std::int64_t piece) {
        return in_pieces(*s.code, e.inputs.size(), element, e.outputs.size(), s.out[0].element, piece);
      };
      EXPECT_EQ(run(17), run(kLength)) << e.name << " of " << name_of(element);
    }
}

StageInput array_of(const std::vector<cf32>& x) {
  StageInput in{stream_of(Element::cf32), std::ssize(x), std::vector<std::byte>(x.size() * sizeof(cf32))};
  std::memcpy(in.data.data(), x.data(), in.data.size());
  return in;
}
template <class T> std::vector<T> numbers_of(const StageOutput& out) {
  const std::vector<std::byte> bytes = out.joined();
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST(Elementwise, TwoOutputsHaveTheirPorts) {
  const StageEntry e = named("complex_to_mag_phase");
  const auto x = complex_noise(300);
  Problems problems;
  StageRunner runner(e, "{}", {array_of(x)}, 64, "cpu", problems);
  ASSERT_TRUE(problems.empty());
  const std::vector<StageOutput> out = runner.run();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].name, "mag");
  EXPECT_EQ(out[1].name, "phase");
  EXPECT_TRUE(same_bits(numbers_of<float>(out[0]), applied<float>(op::complex_to_mag{}, x)));
  EXPECT_TRUE(same_bits(numbers_of<float>(out[1]), applied<float>(op::complex_to_arg{}, x)));
}

TEST(Elementwise, HowTheStreamIsCutDoesNotMatter) {
  for (const StageEntry& e : entries()) {
    if (e.outputs.size() > 1 || !e.inputs.front().takes(Element::cf32)) continue;
    const std::string sample(e.sample);
    StageUnderTest s(e, sample.substr(sample.find(':') + 1),
                     std::vector<PortShape>(e.inputs.size(), stream_of(Element::cf32, 2)));
    ASSERT_EQ(s.complaints(), "") << e.name;
    std::vector<std::vector<cf32>> x{complex_noise(2002), complex_noise(2002, 2)};
    x.resize(e.inputs.size());
    const std::vector<std::int64_t> pieces{1, 3, 64, 100}, whole{2002};
    if (s.out().element == Element::f32) {
      EXPECT_TRUE(same_bits(s.streams<float>(x, pieces), s.streams<float>(x, whole))) << e.name;
    } else {
      EXPECT_TRUE(same_bits(s.streams<cf32>(x, pieces), s.streams<cf32>(x, whole))) << e.name;
    }
  }
}

TEST(Elementwise, ItemsAndCountsPassThrough) {
  PortShape packets = stream_of(Element::cf32);
  packets.axis = Axis::counted;
  packets.axis_name = "packet";
  packets.most = 4;
  packets.item = {{"symbol", 3}};
  StageUnderTest s(named("complex_to_mag"), "{}", {packets});
  EXPECT_EQ(s.out().text(), "f32 [packet up to 4][symbol 3]");
  const std::vector<cf32> x(12, cf32(3, 4));
  EXPECT_EQ(s.once<float>(x, 0, 4, 2), std::vector<float>(6, 5.0f));
  EXPECT_EQ(s.count(), 2);
}

TEST(Elementwise, ConstantsFitTheirInput) {
  const auto complaints = [](std::string_view stage, const std::string& keys, Element e) {
    return StageUnderTest(named(stage), keys, {stream_of(e)}).complaints();
  };
  EXPECT_THAT(complaints("multiply_const", "{}", Element::cf32), HasSubstr("value: is required"));
  EXPECT_EQ(complaints("multiply_const", "{value: 0.5}", Element::f32), "");
  EXPECT_EQ(complaints("multiply_const", "{value: -3.4e38}", Element::cf32), "");
  for (const Element e : {Element::f32, Element::cf32})
    EXPECT_THAT(complaints("multiply_const", "{value: -3.5e38}", e), HasSubstr("value: is larger than a float can be"));
  EXPECT_THAT(complaints("add_const", "{value: 1+1e39j}", Element::cf32), HasSubstr("larger than a float can be"));
  EXPECT_THAT(complaints("multiply_const", "{value: 1+2j}", Element::f32), HasSubstr("value: has to be real"));
  EXPECT_THAT(complaints("multiply_const", "{value: 0.5}", Element::i16), HasSubstr("from -32768 to 32767"));
  EXPECT_THAT(complaints("add_const", "{value: 32768}", Element::i16), HasSubstr("value: has to be a whole number"));
  EXPECT_EQ(complaints("add_const", "{value: 32768}", Element::i32), "");
  StageUnderTest s(named("add_const"), "{value: -2147483648}", {stream_of(Element::i32)});
  EXPECT_EQ(s.stream<std::int32_t>(std::vector<std::int32_t>{0, 1}).back(), -2147483647);
}

TEST(Elementwise, TwoInputsAreAlike) {
  const StageEntry e = named("subtract");
  ASSERT_EQ(e.inputs.size(), 2u);
  EXPECT_EQ(e.inputs[1].name, "in1");
  StageUnderTest complex(e, "{}", {stream_of(Element::cf32), stream_of(Element::cf32)});
  const auto x = complex_noise(50);
  const auto y = complex_noise(50, 2);
  const auto z = complex.streams<cf32>(std::vector{x, y}, {7});
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], x[i] - y[i]);
  StageUnderTest real(e, "{}", {stream_of(Element::i16), stream_of(Element::i16)});
  EXPECT_EQ(real.out().element, Element::i16);
  StageUnderTest mixed(e, "{}", {stream_of(Element::cf32), stream_of(Element::f32)});
  EXPECT_THAT(mixed.complaints(), HasSubstr("have to match; they are cf32 [n] and f32 [n]"));
  StageUnderTest slower(e, "{}", {stream_of(Element::f32), stream_of(Element::f32, 1, 5e5)});
  EXPECT_THAT(slower.complaints(), HasSubstr("have to have the same rate; they have 1 MS/s and 500 kS/s"));
}

TEST(Elementwise, TheSamplesAreThoseOfTheFile) {
  Problems problems;
  std::string text;
  for (const StageEntry& e : entries()) text += "- " + std::string(e.sample) + "\n";
  const Document document = parse_document(text, "samples", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(document.root.items().size(), entries().size());
}

}  // namespace
}  // namespace iqd::elementwise
