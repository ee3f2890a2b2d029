// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

using ::testing::HasSubstr;

PipelineStatus status_of(std::uint64_t received, SourceState state, std::string trouble = {}) {
  PipelineStatus s;
  s.name = "test";
  s.state = state;
  s.trouble = std::move(trouble);
  s.received = received;
  return s;
}

TEST(StatusSentence, HasStateRateAndLosses) {
  PipelineStatus now = status_of(3'000'000, SourceState::streaming);
  now.lost = 7;
  now.dropped[0] = 5;
  EXPECT_EQ(status_sentence({now}, {status_of(1'000'000, SourceState::streaming)}, 2),
            "test streaming 1.000 MS/s, 12 samples lost or dropped");
}

TEST(StatusSentence, SaysWhatIsWrong) {
  const PipelineStatus silent = status_of(1000, SourceState::stalled, "no samples for 3.2 s");
  EXPECT_EQ(status_sentence({silent}, {silent}, 1),
            "test stalled (no samples for 3.2 s) 0.000 MS/s, 0 samples lost or dropped");
  EXPECT_THAT(status_lines({silent}, {silent}, 1), HasSubstr("test         stalled         0.000 MS/s  "));
}

TEST(StatusSentence, SlowStreamsFlow) {
  const PipelineStatus before = status_of(1000, SourceState::streaming), now = status_of(1250, SourceState::streaming);
  EXPECT_THAT(status_sentence({now}, {before}, 1), HasSubstr(" 250.000 S/s,"));
  EXPECT_THAT(status_lines({now}, {before}, 1), HasSubstr("test         streaming      250.000 S/s  "));
}

}  // namespace
}  // namespace iqd
