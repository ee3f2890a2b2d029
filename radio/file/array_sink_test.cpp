// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/array_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/files/npy.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/few_descriptors.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

/// Packets of two kinds, three bits each.
PortFormat packets() {
  PortFormat format = stream_format(Element::u8);
  format.dims = {{"packet", 8}, {"kind", 2}, {"bit", 3}};
  format.varying = 0;
  format.item_rate_hz = 0;
  return format;
}

/// The records of NAME.messages.npy as numbers, from a reader that knows only its layout.
std::vector<std::vector<std::int64_t>> records(const ScratchFolder& folder) {
  const std::string text = folder.text("x.messages.npy");
  EXPECT_EQ(text.substr(1, 5), "NUMPY");
  const std::size_t header = 10 + static_cast<unsigned char>(text[8]) + 256 * static_cast<unsigned char>(text[9]);
  const std::size_t at = text.find("'shape': (") + 10;
  const std::size_t rows = std::stoul(text.substr(at));
  std::vector<std::int64_t> all(5 * rows);
  EXPECT_LE(header + 40 * rows, text.size());
  if (rows > 0) std::memcpy(all.data(), text.data() + header, 40 * rows);
  std::vector<std::vector<std::int64_t>> each;
  for (std::size_t r = 0; r < rows; ++r) each.emplace_back(all.begin() + 5 * r, all.begin() + 5 * r + 5);
  return each;
}

TEST(ArraySink, RowsAreTheDimensionThatVaries) {
  const ScratchFolder folder;
  const PortFormat format = packets();
  const std::vector<std::uint8_t> two{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, one{13, 14, 15, 16, 17, 18};
  {
    ArraySink sink(folder / "x.npy", false, format);
    EXPECT_TRUE(sink.send(message_of<const std::uint8_t>(format, 100, two)));
    EXPECT_TRUE(sink.send(message_of<const std::uint8_t>(format, 150, {})));  // no packets: nothing to record
    EXPECT_TRUE(sink.send(message_of<const std::uint8_t>(format, 200, one, 7)));
  }
  const NpyArray array = read_npy(folder / "x.npy");
  EXPECT_EQ(array.dtype, "<u1");
  EXPECT_THAT(array.shape, ElementsAre(3, 2, 3));
  for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(static_cast<int>(array.data[i]), static_cast<int>(i + 1));
  const std::int64_t epoch = 1'743'422'400'000'000'000;
  EXPECT_THAT(records(folder),
              ElementsAre(ElementsAre(0, 2, 100, epoch + 100'000, 0), ElementsAre(2, 1, 200, epoch + 200'000, 7)));
}

TEST(ArraySink, ChannelsBecomeColumns) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::sc16, 2);
  ArraySink sink(folder / "x.npy", false, format);
  const std::vector<sc16> x{{1, 2}, {3, 4}, {5, 6}, {-1, -2}, {-3, -4}, {-5, -6}};
  sink.send(message_of<const sc16>(format, 0, x));
  sink.finish();
  const NpyArray array = read_npy(folder / "x.npy");
  EXPECT_EQ(array.dtype, "<i2");
  EXPECT_THAT(array.shape, ElementsAre(3, 2, 2));
  std::vector<std::int16_t> parts(12);
  std::memcpy(parts.data(), array.data.data(), 24);
  EXPECT_THAT(parts, ElementsAre(1, 2, -1, -2, 3, 4, -3, -4, 5, 6, -5, -6));
}

TEST(ArraySink, WhatDoesNotVaryIsARowAMessage) {
  const ScratchFolder folder;
  PortFormat format = stream_format(Element::f32);
  format.dims = {{"bin", 4}};
  format.varying = -1;
  ArraySink sink(folder / "x.npy", false, format);
  const std::vector<float> bins{1, 2, 3, 4};
  for (int i = 0; i < 3; ++i) {
    Message message = message_of<const float>(format, i * 100, bins);
    message.extent = 1;
    sink.send(message);
  }
  sink.finish();
  EXPECT_THAT(read_npy(folder / "x.npy").shape, ElementsAre(3, 4));
  EXPECT_THAT(records(folder)[2], ElementsAre(2, 1, 200, testing::_, 0));
}

json facts_in(const ScratchFolder& folder) {
  return json::parse(folder.text("x.json"));
}

TEST(ArraySink, TellsWhereItsBinsAre) {
  const ScratchFolder folder;
  PortFormat format = packets();
  format.dims.back().frequencies = {.first_hz = -3000, .step_hz = 1000};
  format.span_hz = 6e3;
  const std::vector<std::uint8_t> two(12);
  Message message = message_of<const std::uint8_t>(format, 100, two);
  message.retuned_hz = message.was_retuned_hz = 500;
  ArraySink sink(folder / "x.npy", false, format, {});
  EXPECT_EQ(facts_in(folder)["axes"], json::parse(R"({"bit": {"first": 1451497e3, "step": 1e3, "unit": "Hz"}})"));
  sink.send(message);
  const json facts = facts_in(folder);
  EXPECT_EQ(facts["frequency"], 1.4515005e9) << "of the first message";
  EXPECT_EQ(facts["axes"]["bit"]["first"], 1451497.5e3);
  EXPECT_EQ(facts["span"], 6e3);
  EXPECT_EQ(facts["tuned"], json::array());
}

TEST(ArraySink, TellsWhatTheNumbersAre) {
  const ScratchFolder folder;
  PortFormat format = packets();
  format.dims[1].labels = {"zf", "mmse"};
  format.hardware = "USRP E320 3150a2f, firmware 4.3";
  format.calibrated = true;
  const std::vector<std::uint8_t> two{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Message message = message_of<const std::uint8_t>(format, 100, two);
  message.calibrated = true;
  ArraySink sink(folder / "x.npy", false, format, {.description = "d", .author = "a"});
  json facts = facts_in(folder);
  EXPECT_EQ(facts["time_ns"], nullptr) << "no message yet";
  EXPECT_EQ(facts["dims"], (json{"packet", "kind", "bit"}));
  EXPECT_EQ(facts["kinds"], (json{"zf", "mmse"}));
  EXPECT_EQ(facts["sample_rate"], 1e6);
  EXPECT_EQ(facts["frequency"], 1.4515e9);
  EXPECT_EQ(facts["hw"], format.hardware);
  EXPECT_EQ(facts["port"], format.port);
  EXPECT_EQ(facts["dtype"], "<u1");
  EXPECT_FALSE(facts.contains("item_rate"));
  EXPECT_FALSE(facts["iqd"].get<std::string>().empty());
  sink.send(message);
  facts = facts_in(folder);
  EXPECT_EQ(facts["sample"], 100);
  EXPECT_EQ(facts["time_ns"], message.time_ns);
  EXPECT_EQ(facts["time"], "radio");
  EXPECT_EQ(facts["datetime"], "2025-03-31T12:00:00.000100000Z");
  EXPECT_EQ(facts["lost"], 0);
  EXPECT_EQ(facts["calibrated"], true);
  EXPECT_EQ(facts["complete"], false);
  Message empty = message_of<const std::uint8_t>(format, 150, {}, 5);
  empty.calibrated = true;
  sink.send(empty);
  Message later = message_of<const std::uint8_t>(format, 200, two, 7);
  later.tuned = 210;
  later.retuned_hz = 1e6;
  sink.send(later);
  sink.finish();
  facts = facts_in(folder);
  EXPECT_EQ(facts["lost"], 12);
  EXPECT_EQ(facts["tuned"], json::array({{{"row", 2}, {"sample", 210}, {"frequency", 1.4525e9}}}));
  EXPECT_EQ(facts["frequency"], 1.4515e9) << "of the first message";
  EXPECT_EQ(facts["calibrated"], false) << "not all messages";
  EXPECT_EQ(facts["complete"], true);
  EXPECT_EQ(facts["sample"], 100);
  EXPECT_EQ(facts["author"], "a");
}

TEST(ArraySink, NamesTheArraysOwnDimensions) {
  const auto dims = [](const PortFormat& format) {
    const ScratchFolder folder;
    ArraySink(folder / "x.npy", false, format).finish();
    return facts_in(folder)["dims"];
  };
  EXPECT_EQ(dims(stream_format(Element::sc16, 2)), (json{"n", "channel", "iq"}));
  EXPECT_EQ(dims(stream_format(Element::cf32)), (json{"n"}));
  PortFormat bins = stream_format(Element::f32);
  bins.dims = {{"bin", 4}};
  bins.varying = -1;
  EXPECT_EQ(dims(bins), (json{"message", "bin"}));
}

TEST(ArraySink, LeavesWhatIsThereAlone) {
  const ScratchFolder folder;
  folder.write("x.messages.npy", "of another");
  EXPECT_THROW(ArraySink(folder / "x.npy", false, packets()), SetupError);
  EXPECT_FALSE(std::filesystem::exists(folder / "x.npy"));
  folder.write("y.json", "of another");
  EXPECT_THROW(ArraySink(folder / "y.npy", false, packets()), SetupError);
  EXPECT_EQ(folder.text("y.json"), "of another");
  ArraySink sink(folder / "x.npy", true, packets());
  EXPECT_THROW(ArraySink(folder / "x.npy", true, packets()), SetupError);  // two at the same time
  EXPECT_THAT(read_npy(folder / "x.npy").shape, ElementsAre(0, 2, 3));
}

/// Runs in a child process, so that limits and signals affect nothing else.
template <class F> pid_t in_child_process(F body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::signal(SIGXFSZ, SIG_IGN);
  ::_exit(body() ? 0 : 1);
}

TEST(ArraySink, AFullDiskEndsItWithAWholeRow) {
  const ScratchFolder folder;
  const pid_t child = in_child_process([&] {
    const PortFormat format = packets();
    ArraySink sink(folder / "x.npy", false, format);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::vector<std::uint8_t> rows(6 * 7, 1);
    int taken = 0;
    for (int i = 0; i < 100; ++i) taken += sink.send(message_of<const std::uint8_t>(format, i, rows));
    return taken < 100 && !sink.send(message_of<const std::uint8_t>(format, 0, rows));
  });
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const NpyArray array = read_npy(folder / "x.npy");
  EXPECT_GT(array.shape[0], 0);
  for (const std::byte b : array.data) EXPECT_EQ(b, std::byte{1});
  EXPECT_LE(records(folder).back()[0], array.shape[0]);
}

TEST(ArraySink, WithoutDescriptorsForAMomentItGoesOn) {
  const ScratchFolder folder;
  const PortFormat format = packets();
  const std::vector<std::uint8_t> one{1, 2, 3, 4, 5, 6};
  {
    ArraySink sink(folder / "x.npy", false, format);
    EXPECT_TRUE(sink.send(message_of<const std::uint8_t>(format, 100, one)));
    const FewDescriptors none;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_TRUE(sink.send(message_of<const std::uint8_t>(format, 200, one, 7))) << "the JSON file is due";
  }
  EXPECT_EQ(json::parse(folder.text("x.json"))["lost"], 7);
  EXPECT_EQ(json::parse(folder.text("x.json"))["complete"], true);
}

TEST(ArraySink, WhatAKillLeavesIsAnArray) {
  for (int round = 0; round < 20; ++round) {
    const ScratchFolder folder;
    const pid_t child = in_child_process([&]() -> bool {
      const PortFormat format = packets();
      ArraySink sink(folder / "x.npy", false, format);
      const std::vector<std::uint8_t> rows(6 * 1000, 1);
      for (int i = 0; i < 2000; ++i) sink.send(message_of<const std::uint8_t>(format, i, rows));
      for (;;) ::pause();
    });
    while (!std::filesystem::exists(folder / "x.json") || std::filesystem::file_size(folder / "x.messages.npy") < 384)
      std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(500 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string text = folder.text("x.npy");
    const std::size_t rows = std::stoul(text.substr(text.find("'shape': (") + 10));
    ASSERT_GE(text.size(), 384 + 6 * rows);
    for (std::size_t i = 0; i < 6 * rows; ++i) ASSERT_EQ(text[384 + i], 1);
    records(folder);
    EXPECT_EQ(facts_in(folder)["complete"], false);
    EXPECT_EQ(facts_in(folder)["lost"], 0);
  }
}

}  // namespace
}  // namespace iqd::radio
