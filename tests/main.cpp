// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The main function of all programs of tests.
#include <gmock/gmock.h>

int main(int count, char** arguments) {
  // A test of how the process ends runs in a new process, since a copy of this one lacks the threads that libraries have
  // left behind; the thread sanitizer refuses to run such a copy.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::testing::InitGoogleMock(&count, arguments);
  return RUN_ALL_TESTS();
}
