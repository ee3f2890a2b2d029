// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_source.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;

json meta_of(const std::string& datatype, int channels) {
  return {{"global",
           {{"core:datatype", datatype},
            {"core:sample_rate", 1e6},
            {"core:version", "1.2.5"},
            {"core:num_channels", channels}}},
          {"captures", json::array()},
          {"annotations", json::array()}};
}

std::unique_ptr<FileSource> open(const ScratchFolder& folder, const json& meta, FileSourceSettings settings = {}) {
  folder.write("x.sigmf-meta", meta.dump());
  std::vector<std::string> problems;
  Recording recording = read_recording(folder / "x", problems);
  EXPECT_THAT(problems, IsEmpty());
  return std::make_unique<FileSource>(std::move(recording), settings);
}

/// Plays up to the end or `most` samples, in calls of `step`; records the result of each call.
template <class T> struct Played {
  std::vector<std::vector<T>> channels;
  std::vector<Received> calls;
  Received::Event last = Received::Event::nothing;
};
template <class T> Played<T> play(FileSource& source, std::int64_t step, std::int64_t most = 1 << 20) {
  Played<T> played;
  const auto channels = static_cast<std::size_t>(source.info().channels);
  std::vector<std::vector<T>> buffers(channels, std::vector<T>(static_cast<std::size_t>(step)));
  std::vector<std::byte*> into;
  for (auto& b : buffers) into.push_back(reinterpret_cast<std::byte*>(b.data()));
  played.channels.resize(channels);
  while (static_cast<std::int64_t>(played.channels[0].size()) < most) {
    const Received r = source.receive(into, step);
    played.last = r.event;
    if (r.event == Received::Event::nothing) continue;
    if (r.event != Received::Event::samples) break;
    played.calls.push_back(r);
    for (std::size_t c = 0; c < channels; ++c)
      played.channels[c].insert(played.channels[c].end(), buffers[c].begin(), buffers[c].begin() + r.samples);
  }
  return played;
}

TEST(FileSource, TellsWhereTheRadioWasTunedOtherwise) {
  const ScratchFolder folder;
  folder.write("x.sigmf-data", std::vector<sc16>(400));
  json meta = meta_of("ci16_le", 1);
  meta["captures"] = {{{"core:sample_start", 0}, {"core:frequency", 100e6}},
                      {{"core:sample_start", 100}, {"core:frequency", 100e6}},
                      {{"core:sample_start", 250}, {"core:frequency", 101e6}},
                      {{"core:sample_start", 300}}};
  const auto source = open(folder, meta, {.repeat = true});
  std::vector<sc16> buffer(1000);
  std::vector<std::byte*> into{reinterpret_cast<std::byte*>(buffer.data())};
  std::vector<std::int64_t> tuned;
  std::vector<double> frequencies;
  for (std::int64_t at = 0; at < 800;) {
    const Received r = source->receive(into, 1000);
    if (r.tuned >= 0) tuned.push_back(at + r.tuned);
    frequencies.push_back(source->info().frequency_hz / 1e6);
    at += r.samples;
  }
  EXPECT_THAT(tuned, ::testing::ElementsAre(250, 400, 650)) << "the second round begins like the first";
  EXPECT_THAT(frequencies, ::testing::ElementsAre(100, 100, 101, 101, 100, 100, 101, 101));
}

TEST(FileSource, PartsTheChannels) {
  for (const int channels : {1, 2, 3, 5}) {
    const ScratchFolder folder;
    const std::int64_t samples = 70'001;  // more than fits into one piece
    std::vector<sc16> shorts;
    std::vector<cf32> floats;
    for (std::int64_t n = 0; n < samples; ++n) {
      for (int c = 0; c < channels; ++c) {
        shorts.push_back({static_cast<std::int16_t>(n), static_cast<std::int16_t>(c)});
        floats.emplace_back(static_cast<float>(n), static_cast<float>(c));
      }
    }
    folder.write("x.sigmf-data", shorts);
    const auto as_shorts = play<sc16>(*open(folder, meta_of("ci16_le", channels)), 30'000);
    folder.write("x.sigmf-data", floats);
    const auto as_floats = play<cf32>(*open(folder, meta_of("cf32_le", channels)), 30'000);
    EXPECT_EQ(as_shorts.last, Received::Event::end);
    for (int c = 0; c < channels; ++c) {
      const auto& s = as_shorts.channels[static_cast<std::size_t>(c)];
      const auto& f = as_floats.channels[static_cast<std::size_t>(c)];
      ASSERT_EQ(s.size(), static_cast<std::size_t>(samples));
      ASSERT_EQ(f.size(), static_cast<std::size_t>(samples));
      for (std::size_t n = 0; n < s.size(); ++n) {
        ASSERT_EQ(s[n], (sc16{static_cast<std::int16_t>(n), static_cast<std::int16_t>(c)}));
        ASSERT_EQ(f[n], cf32(static_cast<float>(n), static_cast<float>(c)));
      }
    }
  }
}

TEST(FileSource, WidensBytesToTheSameFullScale) {
  const ScratchFolder folder;
  folder.write("x.sigmf-data", std::vector<std::int8_t>{-128, 127, 0, 1, -1, 64, 5, 6});
  const auto played = play<sc16>(*open(folder, meta_of("ci8", 2)), 100);
  EXPECT_EQ(played.channels[0], (std::vector<sc16>{{-32768, 32512}, {-256, 16384}}));
  EXPECT_EQ(played.channels[1], (std::vector<sc16>{{0, 256}, {1280, 1536}}));
}

json with_gaps() {
  json meta = meta_of("ci16_le", 1);
  meta["captures"] = {
      {{"core:sample_start", 0}, {"core:global_index", 1000}, {"core:datetime", "2025-01-01T00:00:00.000000Z"}},
      {{"core:sample_start", 10}, {"core:global_index", 1060}, {"core:datetime", "2025-01-01T00:00:00.000060Z"}},
      {{"core:sample_start", 10}, {"core:global_index", 1061}},
      {{"core:sample_start", 25}, {"core:global_index", 1076}}};
  return meta;
}

TEST(FileSource, GapsAreToldOnceAndNothingReachesAcross) {
  const ScratchFolder folder;
  folder.write("x.sigmf-data", std::vector<sc16>(40));
  auto source = open(folder, with_gaps());
  EXPECT_EQ(source->info().time, TimeSource::radio);
  EXPECT_TRUE(source->info().can_wait);
  const auto played = play<sc16>(*source, 8);
  std::vector<std::int64_t> samples;
  std::vector<std::int64_t> lost;
  std::vector<std::int64_t> times;
  for (const Received& r : played.calls) {
    samples.push_back(r.samples);
    lost.push_back(r.lost);
    EXPECT_TRUE(r.has_time);
    times.push_back(r.time_ns - played.calls[0].time_ns);
  }
  EXPECT_THAT(samples, ::testing::ElementsAre(8, 2, 8, 7, 8, 7));
  EXPECT_THAT(lost, ::testing::ElementsAre(0, 0, 51, 0, 0, 0));
  EXPECT_THAT(times, ::testing::ElementsAre(0, 8000, 61'000, 69'000, 76'000, 84'000));
}

/// Captures without samples whose times jump back and forth by two centuries: the gaps must not overflow.
TEST(FileSource, GapsThatAddUpStayNumbers) {
  const ScratchFolder folder;
  folder.write("x.sigmf-data", std::vector<sc16>(40));
  json meta = meta_of("ci16_le", 1);
  for (int i = 0; i < 4000; ++i)
    meta["captures"].push_back(
        {{"core:sample_start", 0}, {"core:datetime", i % 2 ? "2100-01-01T00:00:00Z" : "1900-01-01T00:00:00Z"}});
  const auto played = play<sc16>(*open(folder, meta), 40);
  EXPECT_EQ(played.calls.front().samples, 40);
  EXPECT_EQ(played.calls.front().lost, std::numeric_limits<std::int64_t>::max());
}

TEST(FileSource, RepeatsWithTheTimeGoingOn) {
  const ScratchFolder folder;
  std::vector<sc16> samples(40);
  for (std::size_t n = 0; n < samples.size(); ++n) samples[n].re = static_cast<std::int16_t>(n);
  folder.write("x.sigmf-data", samples);
  const auto played = play<sc16>(*open(folder, with_gaps(), {.repeat = true}), 64, 400);
  ASSERT_EQ(played.channels[0].size(), 400u);
  std::int64_t expected = played.calls[0].time_ns;
  std::size_t at = 0;
  for (std::size_t i = 0; i < played.calls.size(); ++i) {
    const Received& r = played.calls[i];
    expected += r.lost * 1000;
    EXPECT_EQ(r.time_ns, expected) << i;
    EXPECT_EQ(r.lost, i % 3 == 1 ? 51 : 0) << i;
    EXPECT_EQ(played.channels[0][at].re, static_cast<std::int16_t>(at % 40));
    expected += r.samples * 1000;
    at += static_cast<std::size_t>(r.samples);
  }
}

TEST(FileSource, AnEmptyRecordingEnds) {
  const ScratchFolder folder;
  folder.write("x.sigmf-data", "");
  EXPECT_EQ(play<sc16>(*open(folder, meta_of("ci16_le", 1)), 10).last, Received::Event::end);
  EXPECT_EQ(play<sc16>(*open(folder, meta_of("ci16_le", 1), {.repeat = true}), 10).last, Received::Event::end);
}

TEST(FileSource, AFileThatShrinksIsAFailureNotACrash) {
  const ScratchFolder folder;
  folder.write("x.sigmf-data", std::vector<sc16>(1000));
  auto source = open(folder, meta_of("ci16_le", 1));
  std::filesystem::resize_file(folder / "x.sigmf-data", 402);
  const auto played = play<sc16>(*source, 100);
  EXPECT_EQ(played.last, Received::Event::failed);
  EXPECT_EQ(played.channels[0].size(), 100u);
}

TEST(FileSource, PacedIsAsSlowAsTheRate) {
  const ScratchFolder folder;
  json meta = meta_of("ci16_le", 1);
  folder.write("x.sigmf-data", std::vector<sc16>(200'000));
  auto source = open(folder, meta, {.pace = true});
  const std::int64_t start = steady_ns();
  const auto played = play<sc16>(*source, 50'000);
  const double seconds = static_cast<double>(steady_ns() - start) * 1e-9;
  EXPECT_EQ(played.channels[0].size(), 200'000u);
  EXPECT_GT(seconds, 0.199);
  EXPECT_LT(seconds, 5.0);
  EXPECT_GT(played.calls.size(), 10u);  // not everything at the end
}

TEST(FileSource, AWaitCanBeInterrupted) {
  const ScratchFolder folder;
  json meta = meta_of("ci16_le", 1);
  meta["global"]["core:sample_rate"] = 1;
  folder.write("x.sigmf-data", std::vector<sc16>(100));
  auto source = open(folder, meta, {.pace = true});
  sc16 sample;
  std::byte* into = reinterpret_cast<std::byte*>(&sample);
  const std::int64_t start = steady_ns();
  EXPECT_EQ(source->receive({&into, 1}, 1).event, Received::Event::nothing);
  EXPECT_GT(steady_ns() - start, 90'000'000);  // the longest wait of a call
  source->interrupt();
  const std::int64_t interrupted = steady_ns();
  EXPECT_EQ(source->receive({&into, 1}, 1).event, Received::Event::nothing);
  EXPECT_LT(steady_ns() - interrupted, 50'000'000);
}

}  // namespace
}  // namespace iqd::radio
