// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/receive/capture_ids.hpp"

#include <gtest/gtest.h>

namespace iqd::warp {
namespace {

using Verdict = CaptureIds::Verdict;

/// Begins a capture with these ids, and returns what a check of the last chain says.
Verdict next_capture(CaptureIds& ids, std::vector<std::uint8_t> said) {
  ids.begin();
  Verdict verdict = Verdict::fresh;
  for (std::size_t c = 0; c < said.size(); ++c) {
    ids[c] = said[c];
    verdict = ids.check(c);
  }
  return verdict;
}

TEST(WarpCaptureIds, TheSameIdAgainIsThePreviousCapture) {
  CaptureIds ids(2);
  EXPECT_EQ(next_capture(ids, {1, 7}), Verdict::fresh);
  ids.accept();
  EXPECT_EQ(next_capture(ids, {2, 7}), Verdict::repeated);
  EXPECT_EQ(next_capture(ids, {2, 8}), Verdict::fresh) << "the capture before was not accepted";
}

TEST(WarpCaptureIds, OnlyAnAcceptedCaptureIsThePreviousOne) {
  CaptureIds ids(1);
  EXPECT_EQ(next_capture(ids, {1}), Verdict::fresh);
  EXPECT_EQ(next_capture(ids, {1}), Verdict::fresh);
}

TEST(WarpCaptureIds, IdsThatNeverChangeDoNotCount) {
  CaptureIds ids(1);
  next_capture(ids, {5});
  ids.accept();
  EXPECT_EQ(next_capture(ids, {5}), Verdict::repeated);
  EXPECT_EQ(next_capture(ids, {5}), Verdict::repeated);
  EXPECT_EQ(next_capture(ids, {5}), Verdict::unnumbered);
  EXPECT_EQ(next_capture(ids, {5}), Verdict::fresh);
}

TEST(WarpCaptureIds, AFreshCaptureEndsARow) {
  CaptureIds ids(1);
  for (std::uint8_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(next_capture(ids, {id}), Verdict::fresh);
    ids.accept();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(next_capture(ids, {id}), Verdict::repeated);
  }
}

TEST(WarpCaptureIds, BeginForgetsTheIds) {
  CaptureIds ids(2);
  ids[1] = 3;
  ids.begin();
  EXPECT_EQ(ids[1], std::nullopt);
}

}  // namespace
}  // namespace iqd::warp
