// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/message_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

PortFormat packets() {
  PortFormat format;
  format.port = "framer.out";
  format.element = Element::i16;
  format.dims = {{"packet", 8}, {"value", 3}};
  format.varying = 0;
  format.facts = 2;
  return format;
}

class Messages : public ::testing::Test {
 protected:
  Message message(std::int64_t extent) const {
    Message m;
    m.format = &format_;
    m.block = 5;
    m.samples = 1000;
    m.sample = 12'345;
    m.position = 77;
    m.time_ns = -3;
    m.time = TimeSource::radio;
    m.extent = extent;
    m.gap = 9;
    m.halo = 4;
    m.retuned_hz = 1.5;
    m.was_retuned_hz = 2.5;
    m.respanned_hz = 3.5;
    m.tuned = 12'400;
    m.calibrated = true;
    m.payload = std::as_bytes(std::span(values_)).first(static_cast<std::size_t>(extent) * 6);
    m.facts = facts_;
    return m;
  }
  const PortFormat format_ = packets();
  const ScratchFolder folder_;
  const std::string path_ = folder_ / "messages";
  const std::array<std::int16_t, 24> values_{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::array<std::int64_t, 8> starts_{10, 20, 30};
  const std::array<float, 8> metrics_{0.5F, 0.25F, 0.125F};
  const std::array<FactColumn, 2> facts_{
      {{"start", Element::i64, reinterpret_cast<const std::byte*>(starts_.data()), 2, 5},
       {"metric", Element::f32, reinterpret_cast<const std::byte*>(metrics_.data())}}};
};

TEST_F(Messages, AreReadAsTheyWerePut) {
  std::vector<std::byte> bytes;
  put_message(message(3), bytes);
  put_message(message(0), bytes);
  folder_.write("messages", bytes);
  MessageFile file(path_, format_);
  Message m;
  ASSERT_TRUE(file.next(m));
  EXPECT_EQ(m.format, &format_);
  EXPECT_EQ(m.block, 5u);
  EXPECT_EQ(std::tuple(m.samples, m.sample, m.position, m.time_ns), std::tuple(1000, 12'345, 77, -3));
  EXPECT_EQ(std::tuple(m.extent, m.gap, m.halo, m.tuned), std::tuple(3, 9, 4, 12'400));
  EXPECT_EQ(std::tuple(m.retuned_hz, m.was_retuned_hz, m.respanned_hz), std::tuple(1.5, 2.5, 3.5));
  EXPECT_EQ(m.time, TimeSource::radio);
  EXPECT_TRUE(m.calibrated);
  EXPECT_TRUE(std::ranges::equal(m.payload, std::as_bytes(std::span(values_)).first(18)));
  ASSERT_EQ(m.facts.size(), 2u);
  EXPECT_EQ(m.facts[0].key, "start");
  EXPECT_EQ(std::pair(m.facts[0].positions, m.facts[0].samples), std::pair(std::int64_t{2}, std::int64_t{5}));
  EXPECT_EQ(reinterpret_cast<const std::int64_t*>(m.facts[0].values)[2], 30);
  EXPECT_EQ(m.facts[1].key, "metric");
  EXPECT_EQ(reinterpret_cast<const float*>(m.facts[1].values)[1], 0.25F);
  ASSERT_TRUE(file.next(m));
  EXPECT_EQ(m.extent, 0);
  EXPECT_TRUE(m.payload.empty());
  EXPECT_FALSE(file.next(m));
}

TEST_F(Messages, OneWithoutItemsAndFactsMayBeAlone) {
  std::vector<std::byte> bytes;
  Message empty = message(0);
  empty.facts = {};
  put_message(empty, bytes);
  folder_.write("messages", bytes);
  MessageFile file(path_, format_);
  Message m;
  ASSERT_TRUE(file.next(m));
  EXPECT_EQ(m.gap, 9);
  EXPECT_FALSE(file.next(m));
}

TEST_F(Messages, DamageIsNoticedOrHarmless) {
  std::vector<std::byte> good;
  put_message(message(3), good);
  put_message(message(8), good);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes = good;
    if (i % 4 == 0) bytes.resize(random() % bytes.size());
    for (int k = 0; !bytes.empty() && k < i % 3; ++k) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    folder_.write("messages", bytes);
    MessageFile file(path_, format_);
    try {
      std::size_t read = 0;
      for (Message m; file.next(m);)
        for (const FactColumn& fact : m.facts)
          for (std::size_t b = 0; b < static_cast<std::size_t>(m.extent) * size_of(fact.element); ++b)
            read += static_cast<std::size_t>(fact.values[b]);
      EXPECT_LT(read, 1u << 20);
    } catch (const SetupError&) {
    }
  }
}

}  // namespace
}  // namespace iqd::radio
