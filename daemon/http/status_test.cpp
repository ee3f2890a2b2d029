// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

using ::testing::HasSubstr;

PipelineStatus pipeline_status(std::uint64_t received, SourceState state, std::string trouble = {}) {
  PipelineStatus s;
  s.name = "test";
  s.state = state;
  s.trouble = std::move(trouble);
  s.received = received;
  return s;
}

TEST(StatusSentence, HasStateRateAndLosses) {
  PipelineStatus now = pipeline_status(3'000'000, SourceState::streaming);
  now.lost = 7;
  now.dropped[0] = 5;
  EXPECT_EQ(status_sentence({now}, {pipeline_status(1'000'000, SourceState::streaming)}, 2),
            "test streaming 1.000 MS/s, 12 samples lost or dropped");
}

TEST(StatusSentence, SaysWhatIsWrong) {
  const PipelineStatus silent = pipeline_status(1000, SourceState::stalled, "no samples for 3.2 s");
  EXPECT_EQ(status_sentence({silent}, {silent}, 1),
            "test stalled (no samples for 3.2 s) 0 S/s, 0 samples lost or dropped");
}

TEST(StatusSentence, SlowStreamsFlow) {
  const PipelineStatus before = pipeline_status(1000, SourceState::streaming),
                       now = pipeline_status(1250, SourceState::streaming);
  EXPECT_THAT(status_sentence({now}, {before}, 1), HasSubstr(" 250 S/s,"));
}

}  // namespace
}  // namespace iqd
