// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_sink.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/file_source.hpp"
#include "radio/file/recording.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json meta_in(const ScratchFolder& folder, const char* name = "x.sigmf-meta") {
  return json::parse(folder.text(name));
}

TEST(FileSink, InterleavesTheChannels) {
  for (const std::int64_t channels : {1, 2, 3}) {
    const ScratchFolder folder;
    const PortFormat format = stream_format(Element::cf32, channels);
    FileSink sink({.path = folder / "x"}, format);
    EXPECT_TRUE(sink.send(message_of<const cf32>(format, 0, ramp(0, 100, channels))));
    EXPECT_TRUE(sink.send(message_of<const cf32>(format, 100, ramp(100, 7, channels))));
    sink.finish();
    const auto data = folder.items<cf32>("x.sigmf-data");
    ASSERT_EQ(data.size(), static_cast<std::size_t>(107 * channels));
    for (std::int64_t n = 0; n < 107; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        ASSERT_EQ(data[static_cast<std::size_t>(n * channels + c)], cf32(static_cast<float>(n), static_cast<float>(c)));
    EXPECT_EQ(meta_in(folder)["global"]["core:num_channels"], channels);
    EXPECT_EQ(meta_in(folder)["captures"].size(), 1u);
  }
}

template <class T> void expect_verbatim() {
  for (const std::int64_t channels : {1, 2, 3}) {
    const ScratchFolder folder;
    const PortFormat format = stream_format(element_of<T>, channels);
    std::vector<std::uint8_t> bytes(5000 * sizeof(T) * static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 251);
    std::vector<T> payload(bytes.size() / sizeof(T));
    std::memcpy(payload.data(), bytes.data(), bytes.size());
    FileSink({.path = folder / "x"}, format).send(message_of<const T>(format, 0, payload));
    const auto data = folder.items<T>("x.sigmf-data");
    ASSERT_EQ(data.size(), payload.size());
    for (std::size_t n = 0; n < 5000; ++n)
      for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
        ASSERT_EQ(std::memcmp(&data[n * static_cast<std::size_t>(channels) + c], &payload[c * 5000 + n], sizeof(T)), 0);
    EXPECT_EQ(meta_in(folder)["global"]["core:datatype"], traits(element_of<T>).sigmf);
  }
}

TEST(FileSink, KeepsEveryElementAsItIs) {
  expect_verbatim<cf32>();
  expect_verbatim<sc16>();
  expect_verbatim<float>();
  expect_verbatim<std::int32_t>();
  expect_verbatim<std::int16_t>();
  expect_verbatim<std::int8_t>();
  expect_verbatim<std::uint8_t>();
}

TEST(FileSink, TellsWhatItIs) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::sc16);
  FileSink sink({.path = folder / "x.sigmf-meta", .description = "d", .author = "a", .hardware = "h"}, format);
  sink.send(message_of<const sc16>(format, 1'000'000, std::vector<sc16>(10)));
  const json meta = meta_in(folder);
  EXPECT_EQ(meta["global"], (json{{"core:datatype", "ci16_le"},
                                  {"core:version", "1.2.5"},
                                  {"core:sample_rate", 1e6},
                                  {"core:num_channels", 1},
                                  {"core:recorder", "iqd"},
                                  {"core:hw", "h"},
                                  {"core:author", "a"},
                                  {"core:description", "d"}}));
  EXPECT_EQ(meta["captures"], json::array({{{"core:sample_start", 0},
                                            {"core:global_index", 1'000'000},
                                            {"core:frequency", 1.4515e9},
                                            {"core:datetime", "2025-03-31T12:00:01.000000000Z"}}}));
  EXPECT_EQ(meta["annotations"], json::array());
}

TEST(FileSink, IsValidBeforeTheFirstSample) {
  const ScratchFolder folder;
  const FileSink sink({.path = folder / "x"}, stream_format(Element::sc16, 2));
  std::vector<std::string> problems;
  const Recording recording = read_recording(folder / "x", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(recording.segments.back().samples, 0);
}

/// [sample_start, global_index] of each capture.
json starts(const json& meta) {
  json all = json::array();
  for (const json& c : meta["captures"]) all.push_back({c["core:sample_start"], c["core:global_index"]});
  return all;
}

TEST(FileSink, EveryGapBeginsACapture) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  FileSink sink({.path = folder / "x"}, format);
  sink.send(message_of<const cf32>(format, 50, ramp(50, 10, 1)));
  sink.send(message_of<const cf32>(format, 60, ramp(60, 10, 1)));
  sink.send(message_of<const cf32>(format, 75, ramp(75, 10, 1), 5));  // reported
  sink.send(message_of<const cf32>(format, 86, ramp(86, 10, 1)));     // detected from the index
  sink.send(message_of<const cf32>(format, 0, ramp(0, 10, 1)));       // the stream was restarted
  sink.send(message_of<const cf32>(format, 10, ramp(10, 10, 1)));
  sink.send(message_of<const cf32>(format, 23, ramp(23, 10, 1), 3));
  sink.finish();
  EXPECT_EQ(starts(meta_in(folder)), (json{{0, 50}, {20, 75}, {30, 86}, {40, 96}, {60, 119}}));
  std::vector<std::string> problems;
  const Recording recording = read_recording(folder / "x", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(recording.segments[1].lost, 5);
  EXPECT_EQ(recording.segments[2].lost, 1);
  EXPECT_EQ(recording.segments[3].lost, 0);
  EXPECT_EQ(recording.segments[4].lost, 3);
  EXPECT_EQ(folder.items<cf32>("x.sigmf-data").size(), 70u);
}

/// [sample_start, frequency in MHz] of each capture.
json tunings(const json& meta) {
  json all = json::array();
  for (const json& c : meta["captures"])
    all.push_back({c["core:sample_start"], c["core:frequency"].get<double>() / 1e6});
  return all;
}

TEST(FileSink, WhereTheRadioIsSetOtherwiseACaptureBegins) {
  const ScratchFolder folder;
  PortFormat format = stream_format(Element::cf32, 2);
  format.frequency_hz = 100e6;
  FileSink sink({.path = folder / "x"}, format);
  std::vector<cf32> sent;
  double was_hz = 0;
  const auto send = [&](std::int64_t sample, SampleIndex tuned, double retuned_hz, std::int64_t gap = 0) {
    const std::vector<cf32> both = ramp(sample, 10, 2);
    Message m = message_of<const cf32>(format, sample, both, gap);
    m.tuned = tuned;
    m.was_retuned_hz = std::exchange(was_hz, retuned_hz);
    m.retuned_hz = retuned_hz;
    EXPECT_TRUE(sink.send(m));
    for (std::size_t n = 0; n < 10; ++n) sent.insert(sent.end(), {both[n], both[10 + n]});
  };
  send(0, -1, 0);
  send(10, 13, 1e6);  // in the middle
  send(20, -1, 1e6);
  send(30, 30, 2e6);  // with the first
  send(40, 50, 3e6);  // after the last, as on a late port
  send(50, -1, 3e6);
  send(60, -1, 3e6);
  send(75, 78, 4e6, 5);  // a gap, and then
  send(85, 85, 4e6);     // e.g. a new gain
  sink.finish();
  const json meta = meta_in(folder);
  EXPECT_EQ(tunings(meta),
            (json{{0, 100.0}, {13, 101.0}, {30, 102.0}, {50, 103.0}, {70, 103.0}, {73, 104.0}, {80, 104.0}}));
  EXPECT_EQ(starts(meta), (json{{0, 0}, {13, 13}, {30, 30}, {50, 50}, {70, 75}, {73, 78}, {80, 85}}));
  EXPECT_EQ(meta["captures"][1]["core:datetime"], "2025-03-31T12:00:00.000013000Z");
  EXPECT_EQ(folder.items<cf32>("x.sigmf-data"), sent);
}

TEST(FileSink, TheRadioTellsWhatHardwareItIs) {
  PortFormat format = stream_format(Element::cf32);
  format.hardware = "USRP E320 3150a2f, firmware 4.3";
  const ScratchFolder folder;
  FileSink({.path = folder / "x"}, format).finish();
  EXPECT_EQ(meta_in(folder)["global"]["core:hw"], format.hardware);
  FileSink({.path = folder / "y", .hardware = "on the roof"}, format).finish();
  EXPECT_EQ(meta_in(folder, "y.sigmf-meta")["global"]["core:hw"], "on the roof");
}

Message begun_by(Message message, const Trigger& trigger) {
  message.trigger = &trigger;
  return message;
}

TEST(FileSink, AnnotatesWhatARecordingBeginsFor) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32, 2);
  FileSink sink({.path = folder / "x"}, format);
  const Trigger first{
      .reason = "level > -20 dB", .number = 1, .first = 15, .items = 10, .time_ns = 1'743'422'400'000'000'000};
  sink.send(begun_by(message_of<const cf32>(format, 0, ramp(0, 10, 2)), first));
  EXPECT_EQ(meta_in(folder)["annotations"], json::array()) << "its samples have not arrived";
  sink.send(message_of<const cf32>(format, 10, ramp(10, 15, 2)));
  sink.send(message_of<const cf32>(format, 25, {}));
  const Trigger second{.reason = "door", .number = 2, .first = 0};
  sink.send(begun_by(message_of<const cf32>(format, 100, ramp(100, 10, 2), 7), second));
  sink.finish();
  EXPECT_EQ(meta_in(folder)["annotations"],
            json::array({{{"core:sample_start", 15},
                          {"core:sample_count", 10},
                          {"core:label", "level > -20 dB"},
                          {"core:comment", "trigger 1 at 2025-03-31T12:00:00.000000000Z"},
                          {"core:generator", "iqd"}},
                         {{"core:sample_start", 25},
                          {"core:sample_count", 1},
                          {"core:label", "door"},
                          {"core:comment", "trigger 2"},
                          {"core:generator", "iqd"}}}));
}

TEST(FileSink, NoAnnotationReachesBeyondWhatWasRecorded) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  {
    FileSink sink({.path = folder / "x"}, format);
    sink.send(
        begun_by(message_of<const cf32>(format, 0, ramp(0, 10, 1)), Trigger{.reason = "a", .first = 5, .items = 10}));
    sink.send(begun_by(message_of<const cf32>(format, 50, ramp(50, 10, 1), 40), Trigger{.reason = "b", .first = 10}));
  }
  const json annotations = meta_in(folder)["annotations"];
  ASSERT_EQ(annotations.size(), 1u) << "the second has no samples";
  EXPECT_EQ(annotations[0]["core:sample_start"], 5);
  EXPECT_EQ(annotations[0]["core:sample_count"], 10);
  std::vector<std::string> problems;
  read_recording(folder / "x", problems);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(FileSink, CountsItemsWhereThePortIsSlowerThanTheSource) {
  const ScratchFolder folder;
  PortFormat format = stream_format(Element::cf32);
  format.item_rate_hz = format.rate_hz / 4;
  FileSink sink({.path = folder / "x"}, format);
  sink.send(message_of<const cf32>(format, 0, ramp(0, 10, 1)));
  sink.send(message_of<const cf32>(format, 40, ramp(10, 10, 1)));
  sink.send(message_of<const cf32>(format, 81, ramp(20, 10, 1)));  // rounding, no gap
  sink.send(message_of<const cf32>(format, 160, ramp(40, 10, 1), 38));
  sink.finish();
  EXPECT_EQ(starts(meta_in(folder)), (json{{0, 0}, {30, 40}}));
  EXPECT_EQ(meta_in(folder)["global"]["core:sample_rate"], 250e3);
}

TEST(FileSink, DoesNotOverwriteWhatIsPlayed) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32, 1);
  {
    FileSink sink({.path = folder / "x"}, format);
    sink.send(message_of<const cf32>(format, 0, ramp(0, 100, 1)));
    sink.finish();
  }
  std::vector<std::string> problems;
  FileSource source(read_recording(folder / "x", problems), {});
  EXPECT_THROW(FileSink({.path = folder / "x", .overwrite = true}, format), SetupError);
  EXPECT_EQ(folder.items<cf32>("x.sigmf-data").size(), 100u);
}

TEST(FileSink, MetadataAreNotWrittenForEachBlock) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  FileSink sink({.path = folder / "x"}, format);
  sink.send(message_of<const cf32>(format, 0, ramp(0, 10, 1)));
  const auto before = std::filesystem::last_write_time(folder / "x.sigmf-meta");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int i = 1; i < 100; ++i) sink.send(message_of<const cf32>(format, i * 10, ramp(i * 10, 10, 1)));
  sink.finish();
  EXPECT_EQ(std::filesystem::last_write_time(folder / "x.sigmf-meta"), before);
  EXPECT_EQ(folder.items<cf32>("x.sigmf-data").size(), 1000u);
}

TEST(FileSink, FloodsOfGapsAreAllKept) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32, 2);
  FileSink sink({.path = folder / "x"}, format);
  for (int i = 0; i < 3000; ++i) sink.send(message_of<const cf32>(format, i * 20, ramp(i * 20, 10, 2), i ? 10 : 0));
  sink.finish();
  std::vector<std::string> problems;
  const Recording recording = read_recording(folder / "x", problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(recording.segments.size(), 3000u);
  for (std::size_t i = 1; i < 3000; ++i) ASSERT_EQ(recording.segments[i].lost, 10);
  const auto data = folder.items<cf32>("x.sigmf-data");
  ASSERT_EQ(data.size(), 60'000u);
  for (std::size_t n = 0; n < 30'000; ++n) ASSERT_EQ(data[2 * n].real(), static_cast<float>(n / 10 * 20 + n % 10));
}

/// At any moment, because a kill may come at any moment.
TEST(FileSink, AGapIsKnownBeforeTheSamplesBehindIt) {
  constexpr std::int64_t kItems = 20'000;
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32, 1, kItems);
  FileSink sink({.path = folder / "x"}, format);
  std::atomic<bool> done = false;
  std::jthread sends([&] {
    const std::vector<cf32> x = ramp(0, kItems, 1);
    for (std::int64_t i = 0; i < 400; ++i)
      sink.send(message_of<const cf32>(format, 2 * i * kItems, x, i > 0 ? kItems : 0));
    sink.finish();
    done = true;
  });
  std::int64_t looks = 0;
  for (bool last = false; !last;) {
    last = done;
    const auto items = static_cast<std::int64_t>(std::filesystem::file_size(folder / "x.sigmf-data") / sizeof(cf32));
    const json meta = meta_in(folder);
    std::int64_t known = 0;
    for (const auto& capture : meta["captures"]) known += capture["core:sample_start"] < items ? 1 : 0;
    ASSERT_EQ(known, (items + kItems - 1) / kItems) << "of " << items << " samples, at look " << looks;
    ++looks;
  }
  EXPECT_GT(looks, 10);
}

TEST(FileSink, NothingIsLeftBesideTheRecording) {
  const ScratchFolder folder;
  folder.write("x.sigmf-meta.part", "of a killed recorder");
  const PortFormat format = stream_format(Element::cf32);
  FileSink sink({.path = folder / "x", .overwrite = true}, format);
  const auto names = [&] {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) all.insert(entry.path().filename());
    return all;
  };
  EXPECT_EQ(names(), (std::set<std::string>{"x.sigmf-data", "x.sigmf-meta"}));
  sink.send(message_of<const cf32>(format, 0, ramp(0, 10, 1)));
  sink.finish();
  EXPECT_EQ(names(), (std::set<std::string>{"x.sigmf-data", "x.sigmf-meta"}));
}

TEST(FileSink, AMessageOfNothingBringsOutWhatIsHeldBack) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  FileSink sink({.path = folder / "x"}, format);
  for (int i = 0; i < 100; ++i) sink.send(message_of<const cf32>(format, i * 20, ramp(i * 20, 10, 1), i ? 10 : 0));
  const auto written = [&] { return folder.items<cf32>("x.sigmf-data").size(); };
  for (int i = 0; i < 1000 && written() < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(sink.send(message_of<const cf32>(format, 2000, {})));
  }
  EXPECT_EQ(written(), 1000u);
  EXPECT_EQ(meta_in(folder)["captures"].size(), 100u);
}

TEST(FileSink, LeavesAnOldRecordingAlone) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::sc16);
  FileSink({.path = folder / "x"}, format).send(message_of<const sc16>(format, 0, std::vector<sc16>(10)));
  EXPECT_THROW(FileSink({.path = folder / "x"}, format), SetupError);
  EXPECT_EQ(folder.items<sc16>("x.sigmf-data").size(), 10u);
  FileSink again({.path = folder / "x", .overwrite = true}, format);
  EXPECT_EQ(folder.items<sc16>("x.sigmf-data").size(), 0u);
  EXPECT_THROW(FileSink({.path = folder / "x", .overwrite = true}, format), SetupError);  // two at the same time
}

TEST(FileSink, RefusesWhatIsNoStream) {
  EXPECT_EQ(unrecordable(stream_format(Element::cf32, 4)), "");
  EXPECT_THAT(unrecordable(stream_format(Element::f16)), HasSubstr("f32"));
  EXPECT_THAT(unrecordable(stream_format(Element::i64)), HasSubstr("i32"));
  PortFormat frames = stream_format(Element::cf32);
  frames.dims = {{"frame", 10}, {"bin", 256}};
  frames.varying = 0;
  EXPECT_THAT(unrecordable(frames), HasSubstr("[frame 10][bin 256]"));
  PortFormat block = stream_format(Element::f32);
  block.varying = -1;
  EXPECT_NE(unrecordable(block), "");
  PortFormat counted = stream_format(Element::f32);
  counted.item_rate_hz = 0;
  EXPECT_NE(unrecordable(counted), "");
  const ScratchFolder folder;
  EXPECT_THROW(FileSink({.path = folder / "x"}, frames), SetupError);
  EXPECT_FALSE(std::filesystem::exists(folder / "x.sigmf-data"));
  EXPECT_THROW(FileSink({.path = folder / "no/x"}, stream_format(Element::cf32)), SetupError);
}

}  // namespace
}  // namespace iqd::radio
