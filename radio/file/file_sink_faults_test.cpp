// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A full disk, a recording that is removed, a process that is killed: what is on the disk is a recording.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/archive_sink.hpp"
#include "radio/file/file_sink.hpp"
#include "radio/file/recording.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/few_descriptors.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Runs `body` in a child process, so that limits and signals affect nothing else. Returns true if it exits with 0.
template <class F> bool in_child(F body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    bool good = false;
    try {
      good = body();
    } catch (const std::exception&) {
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void limit_files(std::size_t bytes) {
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(FileSink, AFullDiskEndsTheRecordingAndNothingElse) {
  for (const std::int64_t channels : {1, 3}) {
    const ScratchFolder folder;
    const bool good = in_child([&] {
      const PortFormat format = stream_format(Element::cf32, channels);
      FileSink sink({.path = folder / "x"}, format);
      limit_files(100'004);
      int taken = 0;
      std::int64_t sample = 0;
      for (; sink.send(message_of<const cf32>(format, sample, ramp(sample, 1000, channels))); sample += 1000) ++taken;
      const auto lines = log::lines();
      for (int i = 0; i < 10; ++i)
        if (sink.send(message_of<const cf32>(format, sample, ramp(sample, 1000, channels)))) return false;
      sink.finish();
      return taken == 100'004 / (8000 * channels) && lines > 0 && log::lines() == lines;
    });
    EXPECT_TRUE(good);
    std::vector<std::string> problems;
    const Recording recording = read_recording(folder / "x", problems);
    EXPECT_THAT(problems, IsEmpty());
    EXPECT_EQ(recording.segments.back().samples, 100'004 / (8 * channels));
    const auto data = folder.items<cf32>("x.sigmf-data");
    for (std::size_t n = 0; n < data.size(); ++n)
      ASSERT_EQ(data[n].real(), static_cast<float>(n / static_cast<std::size_t>(channels)));
  }
}

/// A join or a conversion must not take it for whole.
TEST(ArchiveSink, ADiskThatIsFullAtTheEndIsAnError) {
  const ScratchFolder folder;
  const bool good = in_child([&] {
    const PortFormat format = stream_format(Element::cf32);
    ArchiveSink sink({.path = folder / "x.sigmf"}, format);
    if (!sink.send(message_of<const cf32>(format, 0, ramp(0, 10'000, 1)))) return false;
    limit_files(50'000);
    try {
      sink.finish();
    } catch (const SetupError&) {
      return true;
    }
    return false;
  });
  EXPECT_TRUE(good);
  EXPECT_EQ(folder.items<cf32>("x.part.sigmf-data").size(), 10'000u);
}

TEST(FileSink, WithoutDescriptorsForAMomentNothingIsLost) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  FileSink sink({.path = folder / "x"}, format);
  const auto send = [&](std::int64_t i) {
    return sink.send(message_of<const cf32>(format, i * 200, ramp(i * 200, 100, 1), i ? 100 : 0));
  };
  EXPECT_TRUE(send(0));
  {
    const FewDescriptors none;
    for (std::int64_t i = 1; i < 40; ++i) {
      EXPECT_TRUE(send(i));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_TRUE(send(40));
  sink.finish();
  EXPECT_EQ(nlohmann::json::parse(folder.text("x.sigmf-meta"))["captures"].size(), 41u);
  EXPECT_EQ(folder.items<cf32>("x.sigmf-data").size(), 4100u);
}

TEST(FileSink, ARecordingThatIsRemovedEnds) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  FileSink sink({.path = folder / "x"}, format);
  EXPECT_TRUE(sink.send(message_of<const cf32>(format, 0, ramp(0, 1000, 1))));
  std::filesystem::remove(folder / "x.sigmf-data");
  const auto lines = log::lines();
  EXPECT_FALSE(sink.send(message_of<const cf32>(format, 1000, ramp(1000, 1000, 1))));
  EXPECT_FALSE(sink.send(message_of<const cf32>(format, 2000, ramp(2000, 1000, 1))));
  EXPECT_EQ(log::lines(), lines + 1) << "logged once";
}

TEST(FileSink, AFullDiskAmidManyGapsLeavesNoCaptureWithoutItsData) {
  const ScratchFolder folder;
  const bool good = in_child([&] {
    const PortFormat format = stream_format(Element::cf32);
    FileSink sink({.path = folder / "x"}, format);
    limit_files(100'000);
    for (std::int64_t i = 0; i < 300; ++i)
      if (!sink.send(message_of<const cf32>(format, i * 200, ramp(i * 200, 100, 1), i ? 100 : 0))) return true;
    try {
      sink.finish();
    } catch (const SetupError&) {
      return !sink.send(message_of<const cf32>(format, 0, ramp(0, 100, 1)));
    }
    return false;
  });
  EXPECT_TRUE(good);
  std::vector<std::string> problems;
  const Recording recording = read_recording(folder / "x", problems);
  EXPECT_THAT(problems, IsEmpty());
  const auto data = folder.items<cf32>("x.sigmf-data");
  ASSERT_FALSE(data.empty());
  for (std::size_t n = 0; n < data.size(); ++n) ASSERT_EQ(data[n].real(), static_cast<float>(n / 100 * 200 + n % 100));
  EXPECT_EQ(recording.segments.size(), (data.size() + 99) / 100 + (data.size() % 100 == 0 ? 1 : 0));
}

/// Records with occasional gaps until it is killed.
[[noreturn]] void record_for_ever(const std::string& path, std::int64_t channels) {
  const PortFormat format = stream_format(Element::cf32, channels, 3001);
  const Trigger trigger{.reason = "gap > 0", .number = 1, .first = 4000, .items = 100};
  FileSink sink({.path = path}, format);
  std::int64_t sample = 0;
  for (std::int64_t i = 0;; ++i, sample += 3001) {
    const std::int64_t gap = i % 40 == 39 ? 17 : 0;
    sample += gap;
    const std::vector<cf32> x = ramp(sample % (1 << 24), 3001, channels);
    Message message = message_of<const cf32>(format, sample % (1 << 24), x, gap);
    if (i % 20 == 0) message.trigger = &trigger;
    sink.send(message);
    if (i == 400) ::pause();  // a full disk would prove nothing
  }
}

/// Samples count up from the global_index of each capture; only the very last frame may be zeros.
void expect_sound(const ScratchFolder& folder, std::int64_t channels) {
  std::vector<std::string> problems;
  read_recording(folder / "x", problems);
  ASSERT_THAT(problems, IsEmpty());
  const auto data = folder.items<cf32>("x.sigmf-data");
  const auto step = static_cast<std::size_t>(channels);
  for (std::size_t n = 1; n + 1 < data.size() / step; ++n) {
    const float before = data[(n - 1) * step].real();
    const float now = data[n * step].real();
    ASSERT_TRUE(now == before + 1 || now == before + 18) << n;
    for (std::size_t c = 0; c < step; ++c) ASSERT_EQ(data[n * step + c], cf32(now, static_cast<float>(c)));
  }
  for (const SigmfCapture& c : parse_sigmf(folder.text("x.sigmf-meta"), problems).captures) {
    if (!c.global_index || static_cast<std::size_t>(c.sample_start + 1) >= data.size() / step) continue;
    ASSERT_EQ(data[static_cast<std::size_t>(c.sample_start) * step].real(), static_cast<float>(*c.global_index));
  }
}

TEST(FileSink, WhatAKillLeavesIsARecording) {
  for (int round = 0; round < 60; ++round) {
    const std::int64_t channels = 1 + round % 3;
    const ScratchFolder folder;
    const pid_t child = ::fork();
    if (child == 0) record_for_ever(folder / "x", channels);
    while (!std::filesystem::exists(folder / "x.sigmf-meta")) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(311 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    expect_sound(folder, channels);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace iqd::radio
