// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/align_channels/align_channels.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::align_channels {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

constexpr double kTurn = 2 * std::numbers::pi;

/// A tone of power 1 as received by a channel with these errors.
std::vector<cf32> heard(double frequency, double gain_db, double phase_deg, double delay, int samples = 4000) {
  std::vector<cf32> x;
  for (int n = 0; n < samples; ++n)
    x.emplace_back(std::polar(std::pow(10, gain_db / 20), kTurn * (frequency * (n - delay) + phase_deg / 360)));
  return x;
}

double worst(const std::vector<cf32>& y, const std::vector<cf32>& should, std::size_t from, std::size_t end) {
  double error = 0;
  for (std::size_t n = from; n < end; ++n) error = std::max(error, static_cast<double>(std::abs(y[n] - should[n])));
  return error;
}

TEST(AlignChannels, TakesOutGainPhaseAndDelay) {
  for (const double frequency : {-0.44, -0.1, 0.0, 0.31, 0.44})
    for (const double delay : {0.0, 0.37, -0.5, 3.0, 17.99, -40.2}) {
      const auto keys = fmt::format("{{gain: [-3], phase: [140], delay: [{}]}}", delay);
      StageUnderTest s(entry(), keys, {stream_of(Element::cf32)});
      const auto y = s.stream<cf32>(heard(frequency, -3, 140, delay));
      EXPECT_LT(worst(y, heard(frequency, 0, 0, 0), 100, y.size() - 100), 1e-3) << frequency << " " << delay;
    }
}

TEST(AlignChannels, ChannelsHaveValuesOfTheirOwn) {
  StageUnderTest s(entry(), "{gain: [6.020599913279624, 0], phase: [0, 90], delay: [0, 2]}",
                   {stream_of(Element::cf32, 2)});
  std::vector<cf32> x;
  for (int i = 0; i < 20; ++i) x.emplace_back(static_cast<float>(i % 10), 1.0F);
  const auto y = s.stream<cf32>(x);
  for (std::size_t n = 0; n < 10; ++n) {
    EXPECT_LT(std::abs(y[n] - x[n] / 2.0F), 1e-6);
    // Rotated back by 90 degrees, two samples later; zeros after the end.
    EXPECT_LT(std::abs(y[10 + n] - (n < 8 ? x[12 + n] * cf32(0, -1) : cf32())), 1e-6) << n;
  }
}

TEST(AlignChannels, NothingToDoIsACopyToTheBit) {
  StageUnderTest s(entry(), "{}", {stream_of(Element::cf32, 3)});
  const auto x = complex_noise(300);
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {7}), x));
  EXPECT_EQ(s.footprint().past + s.footprint().future, 0);
}

TEST(AlignChannels, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest s(entry(), "{gain: [1, 2], phase: [3, 4], delay: [0.3, -21.7]}", {stream_of(Element::cf32, 2)});
  const auto x = complex_noise(12000);
  const auto whole = s.stream<cf32>(x);
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1, 2, 3, 2047, 2048, 77}), whole));
}

/// The stage's output for a block with these calibration flags.
std::vector<cf32> with_block(const SampleBlock& block, const char* keys) {
  Problems problems;
  auto stage = entry().make();
  const Document document = parse_document(keys, "test.yaml", problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  const PortShape in = stream_of(Element::cf32);
  PortShape out = in;
  Footprint footprint;
  ShapeContext context{
      .in = {&in, 1}, .out = {&out, 1}, .footprint = {&footprint, 1}, .most_new = 10, .section = section};
  stage->shape(context);
  std::vector<cf32> x(10, cf32(1, 0)), y(10);
  std::vector<std::byte> scratch(context.scratch_bytes);
  const auto io = [](std::vector<cf32>& v) {
    return PortIo{.data = reinterpret_cast<std::byte*>(v.data()), .first = 100, .length = 10, .pitch = 80};
  };
  const PortIo from = io(x), to = io(y);
  stage->make(*make_cpu_backend())
      ->enqueue({.in = {&from, 1},
                 .out = {&to, 1},
                 .first_new = 100,
                 .end_new = 110,
                 .scratch = scratch.data(),
                 .block = &block},
                {});
  return y;
}

TEST(AlignChannels, FollowsTheCalibrationOfTheSource) {
  constexpr const char* kFollows = "{phase: [180], while_calibrated: true}";
  SampleBlock block;
  block.first = 100;
  block.length = 10;
  EXPECT_LT(std::abs(with_block(block, kFollows)[0] + 1.0F), 1e-6);
  block.tuned = 104;
  block.calibrated = false;
  const auto y = with_block(block, kFollows);
  for (std::size_t n = 0; n < y.size(); ++n) EXPECT_LT(std::abs(y[n] - (n < 4 ? -1.0F : 1.0F)), 1e-6) << n;
  EXPECT_LT(std::abs(with_block(block, "{phase: [180]}")[9] + 1.0F), 1e-6) << "corrects without while_calibrated";
  block.tuned = -1;
  block.was_calibrated = false;
  EXPECT_EQ(with_block(block, kFollows)[0], cf32(1, 0));
}

TEST(AlignChannels, BadSamplesStayWhereTheyAre) {
  std::vector<cf32> x(200, cf32(1, 0));
  x[100] = {std::numeric_limits<float>::quiet_NaN(), 0};
  StageUnderTest s(entry(), "{delay: [0.5]}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t n = 0; n < y.size(); ++n) EXPECT_TRUE((n >= 76 && n <= 124) || !std::isnan(y[n].real())) << n;
}

TEST(AlignChannels, SaysWhatDoesNotFit) {
  const auto complaint = [](const char* keys) {
    return StageUnderTest(entry(), keys, {stream_of(Element::cf32, 2)}).complaints();
  };
  EXPECT_THAT(complaint("{gain: [1, 2, 3]}"), HasSubstr("gain: has 3 value(s) for 2 channel(s)"));
  EXPECT_THAT(complaint("{delay: [0, 200000]}"), HasSubstr("200000 is not from"));
}

}  // namespace
}  // namespace iqd::align_channels
