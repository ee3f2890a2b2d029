// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// What all transmitting drivers share.
#include <gtest/gtest.h>

#include <array>

#include "base/error.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/radio_settings.hpp"
#include "radio/sample_rows.hpp"
#include "radio/transmit_counters.hpp"
#include "radio/transmit_watch.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

TEST(TransmitWatch, IsIdleHalfASecondAfterTheLastSamples) {
  TransmitWatch watch;
  watch.came(10 * kSecondNs);
  EXPECT_FALSE(watch.is_idle(10 * kSecondNs + kSecondNs / 4));
  EXPECT_TRUE(watch.is_idle(10 * kSecondNs + kSecondNs / 2));
  EXPECT_FALSE(watch.is_idle(11 * kSecondNs, 11 * kSecondNs)) << "they have not left yet";
  EXPECT_TRUE(watch.is_idle(12 * kSecondNs, 11 * kSecondNs));
  watch.came(12 * kSecondNs);
  EXPECT_FALSE(watch.is_idle(12 * kSecondNs, 11 * kSecondNs));
}

TEST(TransmitWatch, ARadioThatTakesNothingForFiveSecondsIsGone) {
  TransmitWatch watch;
  EXPECT_FALSE(watch.refused(10 * kSecondNs));
  EXPECT_FALSE(watch.refused(15 * kSecondNs));
  EXPECT_TRUE(watch.refused(15 * kSecondNs + 1));
  watch.taken();
  EXPECT_FALSE(watch.refused(20 * kSecondNs)) << "counted again from here";
  EXPECT_TRUE(watch.refused(26 * kSecondNs));
}

TEST(TransmitCounters, CountEachKindOnItsOwn) {
  TransmitCounters counters("radio 'test'");
  counters.underflow();
  for (int i = 0; i < 2; ++i) counters.late();
  for (int i = 0; i < 3; ++i) counters.sequence_error();
  EXPECT_EQ(counters.counts().underflows, 1u);
  EXPECT_EQ(counters.counts().late, 2u);
  EXPECT_EQ(counters.counts().sequence_errors, 3u);
}

TEST(SampleRows, PointToTheNextSampleOfEachChannel) {
  const PortFormat format = stream_format(Element::sc16, 2);
  const std::array<sc16, 6> samples{};
  SampleRows rows(2, Element::sc16);
  EXPECT_EQ(rows.start(message_of<const sc16>(format, 0, samples)), 3);
  EXPECT_EQ(rows.pointers(), (std::vector<const void*>{&samples[0], &samples[3]}));
  rows.advance(2);
  EXPECT_EQ(rows.pointers(), (std::vector<const void*>{&samples[2], &samples[5]}));
}

TEST(Timing, SamplesWithATimeNeedARadiosClock) {
  EXPECT_NO_THROW((Timing{.timed = false}.require_clock("radio 'test'", TimeSource::host)));
  EXPECT_NO_THROW((Timing{.timed = true}.require_clock("radio 'test'", TimeSource::radio)));
  EXPECT_THROW((Timing{.timed = true}.require_clock("radio 'test'", TimeSource::host)), SetupError);
}

}  // namespace
}  // namespace iqd::radio
