// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"

namespace iqd {
namespace {

ChildProcess::Options shell(const std::string& text, std::vector<std::pair<int, int>> files = {}) {
  return {.command = {"/bin/sh", "-c", text}, .files = std::move(files)};
}

void wait_for(const ChildProcess& child) {
  pollfd ended{child.ended_file(), POLLIN, 0};
  for (int i = 0; i < 1000 && !child.has_ended(); ++i) ::poll(&ended, 1, 10);
  if (child.ended_file() >= 0) {
    EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
  }
}

/// What the shell writes to its descriptor 1.
std::string output_of(ChildProcess::Options options) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const FileHandle reads(ends[0]);
  FileHandle writes(ends[1]);
  options.files.emplace_back(writes.get(), 1);
  const ChildProcess child(options);
  writes.reset();
  std::string text;
  char c;
  while (::read(reads.get(), &c, 1) == 1) text += c;
  return text;
}

TEST(ChildProcess, ItsEndIsSeen) {
  ChildProcess child(shell("exit 3"));
  wait_for(child);
  EXPECT_TRUE(child.has_ended());
  EXPECT_EQ(text_of_status(child.end()), "exit code 3");
}

TEST(ChildProcess, ItAndItsChildrenAreKilled) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const FileHandle reads(ends[0]);
  FileHandle writes(ends[1]);
  {
    ChildProcess child(shell("sleep 1000 & sleep 1000", {{writes.get(), 5}}));
    writes.reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(child.has_ended());
    EXPECT_EQ(text_of_status(child.end()), "signal 9 (Killed)");
  }
  pollfd closed{reads.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&closed, 1, 10'000), 1) << "a child still has the pipe";
}

TEST(ChildProcess, ItGetsTheseFilesAndNoOthers) {
  const FileHandle file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FileHandle other(::fcntl(file.get(), F_DUPFD_CLOEXEC, 90));
  const std::string text = fmt::format("for f in 0 7 {}; do test -e /proc/self/fd/$f && echo $f; done", other.get());
  EXPECT_EQ(output_of(shell(text, {{file.get(), 0}, {file.get(), 7}})), "0\n7\n");
}

TEST(ChildProcess, ItsEnvironment) {
  ::setenv("IQD_TEST_OWN", "own", 1);
  ::setenv("IQD_TEST_LEFT_OUT", "x", 1);
  ChildProcess::Options options = shell("echo $IQD_TEST_OWN $IQD_TEST_LEFT_OUT $IQD_TEST_NEW $IQD_TEST_LEFT");
  options.environment = {{"IQD_TEST_OWN", "other"}, {"IQD_TEST_NEW", "new"}};
  options.unset = {"IQD_TEST_LEFT_OUT="};
  EXPECT_EQ(output_of(options), "own new\n");
}

/// As the daemon's threads do.
TEST(ChildProcess, SignalsThatThisThreadBlocksReachIt) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ChildProcess child(shell("sleep 1000"));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::kill(child.id(), SIGTERM);
  wait_for(child);
  EXPECT_EQ(text_of_status(child.end()), "signal 15 (Terminated)");
}

TEST(ChildProcess, WhatDoesNotExistIsNamed) {
  try {
    const ChildProcess child({.command = {"/no/such/program"}, .files = {}});
    FAIL();
  } catch (const SetupError& e) {
    EXPECT_STREQ(e.what(), "cannot start /no/such/program: No such file or directory");
  }
}

}  // namespace
}  // namespace iqd
