// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/wav_sink.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A WAV file as a reader parses it: chunk by chunk, ignoring unknown ones.
struct Wav {
  explicit Wav(const std::string& bytes) {
    EXPECT_EQ(bytes.substr(8, 4), "WAVE");
    kind = bytes.substr(0, 4);
    const bool large = kind == "RF64";
    EXPECT_TRUE(large || number<std::uint32_t>(bytes, 4) + 8 <= bytes.size());
    for (std::size_t at = 12; at + 8 <= bytes.size();) {
      const std::string name = bytes.substr(at, 4);
      std::uint64_t size = number<std::uint32_t>(bytes, at + 4);
      at += 8;
      if (name == "ds64") data_bytes = number<std::uint64_t>(bytes, at + 8);
      if (name == "fmt ") {
        code = number<std::uint16_t>(bytes, at);
        channels = number<std::uint16_t>(bytes, at + 2);
        rate = number<std::uint32_t>(bytes, at + 4);
        EXPECT_EQ(number<std::uint32_t>(bytes, at + 8), rate * number<std::uint16_t>(bytes, at + 12));
        bits = number<std::uint16_t>(bytes, at + 14);
      }
      if (name == "data") {
        if (!large) data_bytes = size;
        data = bytes.substr(at, data_bytes);
        return;
      }
      at += size;
    }
    ADD_FAILURE() << "no data chunk";
  }
  template <class T> std::vector<T> samples() const {
    std::vector<T> x(data.size() / sizeof(T));
    std::memcpy(x.data(), data.data(), data.size());
    return x;
  }

  std::string kind, data;
  std::uint64_t data_bytes = 0;
  std::uint32_t rate = 0;
  int code = 0, channels = 0, bits = 0;

 private:
  template <class T> static T number(const std::string& bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
};

PortFormat audio(Element element, std::int64_t channels = 1, double rate = 48e3) {
  PortFormat format = stream_format(element, channels);
  format.rate_hz = 240e3;
  format.item_rate_hz = rate;
  return format;
}

TEST(WavSink, WritesSamplesAsTheyAre) {
  const ScratchFolder folder;
  const PortFormat format = audio(Element::f32);
  const std::vector<float> x{0, 0.5f, -1, 1e-9f, 3};
  WavSink sink(folder / "x.wav", false, format);
  EXPECT_TRUE(sink.send(message_of<const float>(format, 0, x)));
  EXPECT_TRUE(sink.send(message_of<const float>(format, 25, x)));
  sink.finish();
  const Wav wav(folder.text("x.wav"));
  EXPECT_EQ(wav.kind, "RIFF");
  EXPECT_EQ(wav.code, 3);
  EXPECT_EQ(wav.bits, 32);
  EXPECT_EQ(wav.channels, 1);
  EXPECT_EQ(wav.rate, 48000u);
  std::vector<float> twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  EXPECT_EQ(wav.samples<float>(), twice);
}

TEST(WavSink, ChannelsAreInterleaved) {
  const ScratchFolder folder;
  const PortFormat format = audio(Element::i16, 2, 44100);
  {
    WavSink sink(folder / "x.wav", false, format);
    EXPECT_TRUE(sink.send(message_of<const std::int16_t>(format, 0, std::vector<std::int16_t>{1, 2, 3, -1, -2, -3})));
  }
  const Wav wav(folder.text("x.wav"));
  EXPECT_EQ(wav.code, 1);
  EXPECT_EQ(wav.bits, 16);
  EXPECT_EQ(wav.channels, 2);
  EXPECT_EQ(wav.rate, 44100u);
  EXPECT_THAT(wav.samples<std::int16_t>(), ElementsAre(1, -1, 2, -2, 3, -3));
}

TEST(WavSink, IsValidBeforeTheFirstSample) {
  const ScratchFolder folder;
  const WavSink sink(folder / "x.wav", false, audio(Element::f32));
  EXPECT_EQ(Wav(folder.text("x.wav")).data_bytes, 0u);
}

TEST(WavSink, WhatWasLostIsSilence) {
  const ScratchFolder folder;
  const PortFormat format = audio(Element::f32);
  const std::vector<float> x{1, 2};
  WavSink sink(folder / "x.wav", false, format);
  sink.send(message_of<const float>(format, 50, x, 50));  // before the first sample nothing is missing
  sink.send(message_of<const float>(format, 75, x, 15));  // 15 samples of the source are 3 of these
  sink.send(message_of<const float>(format, 1'000'000'085, x, 1'000'000'000));
  sink.finish();
  const auto y = Wav(folder.text("x.wav")).samples<float>();
  ASSERT_EQ(y.size(), 2 + 3 + 2 + 480'000 + 2u);
  EXPECT_THAT(std::vector<float>(y.begin(), y.begin() + 7), ElementsAre(1, 2, 0, 0, 0, 1, 2));
  EXPECT_EQ(y[7], 0);
  EXPECT_EQ(y.back(), 2);
}

TEST(WavSink, SilenceTakesNoRoomOnTheDisk) {
  const ScratchFolder folder;
  const PortFormat format = audio(Element::f32);
  const std::vector<float> x{1, 2};
  WavSink sink(folder / "x.wav", false, format);
  sink.send(message_of<const float>(format, 0, x));
  sink.send(message_of<const float>(format, 1'000'000'010, x, 1'000'000'000));
  sink.finish();
  struct stat facts {};
  ASSERT_EQ(::stat((folder / "x.wav").c_str(), &facts), 0);
  EXPECT_GT(facts.st_size, 1'900'000);
  EXPECT_LT(facts.st_blocks * 512, 100'000);
}

TEST(WavSink, AKilledProcessLeavesAFileThatPlays) {
  const ScratchFolder folder;
  const PortFormat format = audio(Element::f32);
  const std::vector<float> x(4800, 0.25f);
  const pid_t child = ::fork();
  if (child == 0) {
    WavSink sink(folder / "x.wav", false, format);
    sink.send(message_of<const float>(format, 0, x));  // with the header of the first second
    sink.send(message_of<const float>(format, 24'000, x));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::string bytes = folder.text("x.wav");
  EXPECT_EQ(bytes.size(), kWavHeaderBytes + 2 * x.size() * sizeof(float));
  EXPECT_EQ(Wav(bytes).samples<float>(), x);
}

TEST(WavSink, TheHeaderGrowsOnceASecond) {
  const ScratchFolder folder;
  const PortFormat format = audio(Element::f32);
  const std::vector<float> x(480, 0.25f);
  WavSink sink(folder / "x.wav", false, format);
  sink.send(message_of<const float>(format, 0, x));
  sink.send(message_of<const float>(format, 2400, x));
  EXPECT_EQ(Wav(folder.text("x.wav")).data_bytes, x.size() * sizeof(float));
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  sink.send(message_of<const float>(format, 4800, x));
  EXPECT_EQ(Wav(folder.text("x.wav")).data_bytes, 3 * x.size() * sizeof(float));
}

TEST(WavSink, AboveFourGibibytesSizesHave64Bits) {
  const WavFormat format{.floats = true, .channels = 2, .rate = 48000};
  const auto at = [&](std::int64_t bytes) {
    const auto header = wav_header(format, bytes);
    return Wav(std::string(reinterpret_cast<const char*>(header.data()), header.size()) + std::string(8, '\0'));
  };
  const Wav large = at(std::int64_t{5} << 30);
  EXPECT_EQ(large.kind, "RF64");
  EXPECT_EQ(large.data_bytes, std::uint64_t{5} << 30);
  EXPECT_EQ(large.channels, 2);
  const auto last = wav_header(format, 0xffffffff - 86 - 7);
  EXPECT_EQ(static_cast<char>(last[1]), 'I');
}

TEST(WavSink, RefusesWhatAPlayerWouldNot) {
  EXPECT_EQ(unplayable(audio(Element::f32, 2)), "");
  EXPECT_THAT(unplayable(audio(Element::u8)), HasSubstr("is u8 [n 4096]; a WAV file takes f32 or i16"));
  EXPECT_THAT(unplayable(audio(Element::f32, 1, 44100.5)), HasSubstr("whole number"));
  EXPECT_THAT(unplayable(audio(Element::f32, 3, 1e9)), HasSubstr("too much"));
  PortFormat bins = audio(Element::f32);
  bins.item_rate_hz = 0;
  EXPECT_THAT(unplayable(bins), HasSubstr("a WAV file takes"));

  const ScratchFolder folder;
  folder.write("x.wav", "mine");
  EXPECT_THROW(WavSink(folder / "x.wav", false, audio(Element::f32)), SetupError);
  EXPECT_EQ(folder.text("x.wav"), "mine");
  EXPECT_NO_THROW(WavSink(folder / "x.wav", true, audio(Element::f32)));
  EXPECT_EQ(Wav(folder.text("x.wav")).data_bytes, 0u);
  EXPECT_THROW(WavSink(folder / "nowhere/x.wav", true, audio(Element::f32)), SetupError);
}

}  // namespace
}  // namespace iqd::radio
