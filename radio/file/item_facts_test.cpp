// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/item_facts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "radio/file/array_sink.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kEpoch = 1'743'422'400'000'000'000;

PortFormat found_packets() {
  PortFormat format = stream_format(Element::u8);
  format.dims = {{"packet", 8}, {"bit", 2}};
  format.varying = 0;
  format.item_rate_hz = 0;
  format.facts = 3;
  return format;
}

/// Packets with the facts `start`, at half the source's rate, `metric` and `offset`.
struct Packets {
  explicit Packets(std::vector<std::int64_t> at) : starts(std::move(at)) {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      metrics.push_back(0.5F + static_cast<float>(i));
      offsets.emplace_back(static_cast<float>(i), -1.0F);
      bits.insert(bits.end(), 2, static_cast<std::uint8_t>(i));
    }
    columns = {FactColumn{"start", Element::i64, bytes_of(starts), 1, 2},
               FactColumn{"metric", Element::f32, bytes_of(metrics)},
               FactColumn{"offset", Element::cf32, bytes_of(offsets)}};
  }
  template <class T> static const std::byte* bytes_of(const std::vector<T>& x) {
    return std::as_bytes(std::span(x)).data();
  }
  Message message(const PortFormat& format, SampleIndex sample, std::uint64_t block) const {
    Message m = message_of<const std::uint8_t>(format, sample, bits);
    m.block = block;
    m.facts = columns;
    return m;
  }
  std::vector<std::int64_t> starts;
  std::vector<float> metrics;
  std::vector<cf32> offsets;
  std::vector<std::uint8_t> bits;
  std::array<FactColumn, 3> columns{};
};

/// A file with these fields, from a reader that knows only the format.
struct Table {
  explicit Table(const std::string& text) {
    const std::size_t header = 10 + static_cast<unsigned char>(text[8]) + 256 * static_cast<unsigned char>(text[9]);
    head = text.substr(10, header - 10);
    rows = std::stoul(head.substr(head.find("'shape': (") + 10));
    data = text.substr(header);
  }
  template <class T> T at(std::size_t row, std::size_t row_bytes, std::size_t offset) const {
    T value;
    EXPECT_LE((row + 1) * row_bytes, data.size());
    std::memcpy(&value, data.data() + row * row_bytes + offset, sizeof value);
    return value;
  }
  std::string head, data;
  std::size_t rows = 0;
};

TEST(ItemFacts, EachItemHasARow) {
  const ScratchFolder folder;
  const PortFormat format = found_packets();
  const Packets two({60, 70}), one({110});
  {
    ArraySink sink(folder / "x.npy", false, format);
    EXPECT_TRUE(sink.send(two.message(format, 100, 4)));
    EXPECT_TRUE(sink.send(message_of<const std::uint8_t>(format, 150, {})));
    EXPECT_TRUE(sink.send(one.message(format, 200, 6)));
  }
  const Table table(folder.text("x.facts.npy"));
  EXPECT_NE(table.head.find("('block', '<i8'), ('sample', '<i8'), ('time_ns', '<i8'), ('start', '<i8'), ('metric', "
                            "'<f4'), ('offset', '<c8')]"),
            std::string::npos);
  constexpr std::size_t kRow = 4 * 8 + 4 + 8;
  ASSERT_EQ(table.rows, 3U);
  ASSERT_EQ(table.data.size(), 3 * kRow);
  const std::array<std::int64_t, 3> blocks{4, 4, 6}, begins{120, 140, 220};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(table.at<std::int64_t>(i, kRow, 0), blocks[i]);
    EXPECT_EQ(table.at<std::int64_t>(i, kRow, 8), begins[i]);
    EXPECT_EQ(table.at<std::int64_t>(i, kRow, 16), kEpoch + begins[i] * 1000);
    EXPECT_EQ(table.at<std::int64_t>(i, kRow, 24), begins[i]);
  }
  EXPECT_EQ(table.at<float>(1, kRow, 32), 1.5F);
  EXPECT_EQ(table.at<float>(2, kRow, 32), 0.5F);
  EXPECT_EQ(table.at<cf32>(1, kRow, 36), cf32(1, -1));
}

TEST(ItemFacts, CountsGrowWithTheArray) {
  const ScratchFolder folder;
  const PortFormat format = found_packets();
  ArraySink sink(folder / "x.npy", false, format);
  EXPECT_EQ(Table(folder.text("x.facts.npy")).rows, 0U);
  sink.send(Packets({60, 70}).message(format, 100, 4));
  EXPECT_EQ(Table(folder.text("x.facts.npy")).rows, 2U) << "the first message is written at once";
  const Packets last({75});
  Message later = last.message(format, 200, 6);
  later.gap = 50;
  sink.send(later);
  sink.finish();
  EXPECT_EQ(Table(folder.text("x.facts.npy")).rows, 3U);
  const auto facts = nlohmann::json::parse(folder.text("x.json"));
  EXPECT_EQ(facts["items"], 3);
  EXPECT_EQ(facts["messages"], 2);
  EXPECT_EQ(facts["gaps"], 1);
  EXPECT_EQ(facts["lost"], 50);
  EXPECT_EQ(facts["complete"], true);
}

TEST(ItemFacts, FramesHaveTheirOwnTimes) {
  const ScratchFolder folder;
  PortFormat format = stream_format(Element::f32);
  format.dims = {{"frame", 8}, {"bin", 4}};
  format.varying = 0;
  format.item_rate_hz = 1e6 / 64;
  const std::vector<float> bins(8);
  {
    ArraySink sink(folder / "x.npy", false, format);
    sink.send(message_of<const float>(format, 6400, bins));
  }
  const Table table(folder.text("x.facts.npy"));
  ASSERT_EQ(table.rows, 2U);
  EXPECT_EQ(table.at<std::int64_t>(0, 24, 8), 6400);
  EXPECT_EQ(table.at<std::int64_t>(1, 24, 8), 6464);
  EXPECT_EQ(table.at<std::int64_t>(1, 24, 16), kEpoch + 6'464'000);
}

TEST(ItemFacts, AMissingFactIsNotANumber) {
  const ScratchFolder folder;
  const PortFormat format = found_packets();
  {
    ItemFacts facts(folder / "f.npy");
    EXPECT_TRUE(facts.append(Packets({60}).message(format, 100, 0)));
    const Packets without({70});
    Message bare = without.message(format, 100, 1);
    bare.facts = {};
    EXPECT_TRUE(facts.append(bare));
    EXPECT_TRUE(facts.settle());
  }
  const Table table(folder.text("f.npy"));
  ASSERT_EQ(table.rows, 2U);
  EXPECT_EQ(table.at<std::int64_t>(1, 44, 8), 100);
  EXPECT_TRUE(std::isnan(table.at<float>(1, 44, 32)));
}

TEST(ItemFacts, ManyFactsHaveRoomInTheHeader) {
  const ScratchFolder folder;
  const PortFormat format = found_packets();
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("a_rather_long_name_of_a_fact_" + std::to_string(i));
  const float value = 3;
  std::vector<FactColumn> columns;
  for (const std::string& key : keys)
    columns.push_back({key, Element::f32, reinterpret_cast<const std::byte*>(&value)});
  const Packets one({60});
  Message m = one.message(format, 100, 0);
  m.facts = columns;
  {
    ItemFacts facts(folder / "f.npy");
    EXPECT_TRUE(facts.append(m));
    EXPECT_TRUE(facts.settle());
  }
  const Table table(folder.text("f.npy"));
  ASSERT_EQ(table.rows, 1U);
  EXPECT_EQ((table.head.size() + 10) % 64, 0U);
  EXPECT_EQ(table.at<float>(0, 24 + 160, 24 + 156), 3);
}

TEST(ItemFacts, SamplesHaveNone) {
  const ScratchFolder folder;
  folder.write("x.facts.npy", "of an array that is replaced");
  ArraySink sink(folder / "x.npy", true, stream_format(Element::cf32));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.facts.npy"));
  EXPECT_FALSE(ItemFacts::describes(stream_format(Element::sc16, 2)));
}

}  // namespace
}  // namespace iqd::radio
