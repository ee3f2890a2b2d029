// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/transmit/test_waveform/test_waveform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/stage_under_test.hpp"

namespace iqd::test_waveform {
namespace {

using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

constexpr const char* kSlow =
    "{kind: carriers, frequencies: [-100 kHz, 300 kHz], bandwidth: 300 kHz, rms: 0.5, seed: 9}";

TEST(TestWaveform, KeysSayWhichWaveform) {
  const UplinkWaveform one = Config().waveform(61.44e6);
  EXPECT_EQ(one.subcarriers, 600);
  EXPECT_EQ(one.frequencies_hz, std::vector<double>{0});
  EXPECT_EQ(one.bandwidth_hz, 10e6);
  EXPECT_EQ(one.rms, 0.27);
  EXPECT_DOUBLE_EQ(one.spacing_hz(), 15e3);
  Config carriers;
  carriers.kind = Kind::carriers;
  const UplinkWaveform two = carriers.waveform(40e6);
  EXPECT_EQ(two.subcarriers, 180);
  EXPECT_EQ(two.frequencies_hz, (std::vector<double>{-5e6, 5e6}));
  EXPECT_EQ(two.rms, 0.24);
  EXPECT_DOUBLE_EQ(two.spacing_hz(), 15e3);
  EXPECT_EQ(two.period(), 160'000);
}

TEST(TestWaveform, ComesAgainAfterItsPeriod) {
  StageUnderTest stage(entry(), kSlow, {stream_of(Element::cf32)});
  ASSERT_EQ(stage.complaints(), "");
  EXPECT_EQ(stage.out().text(), "cf32 [n]");
  const UplinkWaveform waveform{
      .subcarriers = 180, .bandwidth_hz = 3e5, .frequencies_hz = {-1e5, 3e5}, .rate_hz = 1e6, .rms = 0.5, .seed = 9};
  const auto period = waveform.make();
  const auto y = stage.stream<cf32>(std::vector<cf32>(period.size() + 1000));
  double power = 0;
  for (std::size_t n = 0; n < y.size(); ++n) {
    ASSERT_LT(std::abs(y[n] - period[n % period.size()]), 2e-6f) << n;
    if (n < period.size()) power += static_cast<double>(std::norm(y[n]));
  }
  EXPECT_NEAR(std::sqrt(power / static_cast<double>(period.size())), 0.5, 1e-6);
}

TEST(TestWaveform, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest stage(entry(), kSlow, {stream_of(Element::cf32)});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<cf32> x(70'000, {nan, nan});
  EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {1, 2, 40'003, 77, 5000}), stage.stream<cf32>(x)));
}

TEST(TestWaveform, ABlockMayHoldManyPeriods) {
  const std::vector<cf32> period{1, 2, 3};
  std::vector<cf32> y(8);
  play(period, (std::int64_t{1} << 40) / 3 * 3 + 2, y);
  EXPECT_EQ(y, (std::vector<cf32>{3, 1, 2, 3, 1, 2, 3, 1}));
}

TEST(TestWaveform, BadKeysAreRefused) {
  const auto complaints = [](const std::string& keys, double rate = 61.44e6) {
    return StageUnderTest(entry(), keys, {stream_of(Element::cf32, 1, rate)}).complaints();
  };
  EXPECT_EQ(complaints("{}"), "");
  EXPECT_THAT(complaints("{}", 1e6), HasSubstr("does not fit into a rate of 1000000 samples a second: change"));
  EXPECT_THAT(complaints("{}", 0), HasSubstr("does not fit into a rate of 0 "));
  EXPECT_THAT(complaints("{kind: carriers, frequencies: [-3 MHz, 30 MHz]}"), HasSubstr("at 30000000 Hz does not fit"));
  EXPECT_THAT(complaints("{kind: wcdma}"), HasSubstr("lte10"));
  EXPECT_THAT(complaints("{rms: -1}"), HasSubstr("rms"));
}

}  // namespace
}  // namespace iqd::test_waveform
