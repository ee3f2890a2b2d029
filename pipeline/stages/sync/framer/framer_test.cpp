// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/framer/framer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/stage_under_test.hpp"

namespace iqd::framer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StageUnderTest;
using testing::stream_of;
using Bytes = std::vector<std::uint8_t>;

constexpr double kRate = 100e3;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Found {
  std::vector<std::string> text;
  std::vector<std::int64_t> start;
  std::vector<float> metric;
  std::array<std::int64_t, kEvents.size()> events{};
};

/// The stage with its five outputs, on blocks of a stream.
class Framer {
 public:
  explicit Framer(const std::string& keys) {
    const Document document = parse_document(keys, "test.yaml", problems_);
    const Section section = read_fields(
        document.root, [this](FieldVisitor& v) { stage_->fields(v); }, problems_);
    EXPECT_TRUE(problems_.empty()) << problems_.front().text();
    in_ = stream_of(Element::f32, 1, kRate);
    ShapeContext context{
        .in = {&in_, 1}, .out = out_, .footprint = {&footprint_, 1}, .most_new = 1 << 17, .section = section};
    stage_->shape(context);
    EXPECT_TRUE(problems_.empty()) << problems_.front().text();
    scratch_.resize(context.scratch_bytes);
    run_ = stage_->make(*backend_);
  }

  Found in_blocks(const std::vector<float>& x, std::int64_t block) {
    Found found;
    for (std::int64_t at = 0; at < std::ssize(x); at += block) take(x, at, std::min(std::ssize(x), at + block), found);
    return found;
  }

 private:
  void take(const std::vector<float>& x, std::int64_t begin, std::int64_t end, Found& found) {
    const std::int64_t first = std::max<std::int64_t>(0, begin - footprint_.past);
    const std::vector<float> window(x.begin() + first, x.begin() + std::min(std::ssize(x), end + footprint_.future));
    const PortIo in{.data = reinterpret_cast<std::byte*>(const_cast<float*>(window.data())),
                    .first = first,
                    .length = std::ssize(window)};
    std::vector<std::vector<std::byte>> memory;
    std::vector<PortIo> out;
    std::array<std::int32_t, kTally + 1> count{};
    for (std::size_t o = 0; o < out_.size(); ++o) {
      memory.emplace_back(static_cast<std::size_t>(out_[o].most * out_[o].item_bytes()));
      out.push_back({.data = memory.back().data(), .item = out_[o].item_size(), .count = &count[o]});
    }
    run_->enqueue({.in = {&in, 1}, .out = out, .first_new = begin, .end_new = end, .scratch = scratch_.data()}, {});
    const auto* const lengths = reinterpret_cast<const std::int32_t*>(out[kLength].data);
    for (std::int64_t i = 0; i < count[kBytes]; ++i) {
      const auto* const bytes = reinterpret_cast<const char*>(out[kBytes].data) + i * out_[kBytes].item_size();
      found.text.emplace_back(bytes, static_cast<std::size_t>(lengths[i]));
      found.start.push_back(reinterpret_cast<const std::int64_t*>(out[kStart].data)[i]);
      found.metric.push_back(reinterpret_cast<const float*>(out[kMetric].data)[i]);
      for (std::int64_t b = lengths[i]; b < out_[kBytes].item_size(); ++b) EXPECT_EQ(bytes[b], 0);
    }
    for (std::size_t e = 0; e < kEvents.size(); ++e)
      found.events[e] += reinterpret_cast<const std::int64_t*>(out[kTally].data)[e];
  }

  PortShape in_;
  std::vector<PortShape> out_{entry().outputs.size()};
  std::unique_ptr<Stage> stage_ = entry().make();
  Footprint footprint_;
  Problems problems_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<StageRun> run_;
};

FrameFormat usual() {
  FrameFormat format;
  format.pattern = read_chips("aaaaaaaa2dd4");
  format.crc = crc_of(CrcName::crc16_ccitt);
  return format;
}

/// Levels -1 and 1 of a transmitter with `chip` samples a chip, averaged over a chip as in a receiver.
std::vector<float> sent(const FrameFormat& format, std::string_view text, double chip, double lead = 0) {
  const Bytes payload(text.begin(), text.end());
  const auto chips = chips_of(format, payload);
  const auto level = [&](double at) {
    const double k = std::floor((at - lead) / chip);
    return k < 0 || k >= static_cast<double>(chips.size()) ? 0.0 : 2.0 * chips[static_cast<std::size_t>(k)] - 1;
  };
  std::vector<float> x;
  constexpr int kParts = 50;
  for (double n = 0; n < lead + static_cast<double>(chips.size() + 2) * chip; ++n) {
    double sum = 0;
    for (int i = 0; i < kParts; ++i) sum += level(n + ((i + 0.5) / kParts - 0.5) * chip);
    x.push_back(static_cast<float>(sum / kParts));
  }
  return x;
}

std::vector<float> joined(std::initializer_list<std::vector<float>> pieces) {
  std::vector<float> all;
  for (const auto& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

void add_noise(std::vector<float>& x, float deviation, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> noise(0, deviation);
  for (float& v : x) v += noise(engine);
}

TEST(Framer, TextComesOutWithItsPlace) {
  Framer f("{chip_rate: 10 kS/s}");
  const auto x = joined({std::vector<float>(777, 0.0f), sent(usual(), "hello", 10), sent(usual(), "you", 10)});
  const Found found = f.in_blocks(x, 1 << 16);
  EXPECT_THAT(found.text, ElementsAre("hello", "you"));
  EXPECT_THAT(found.events, ElementsAre(2, 0, 0, 0));
  // The middle of the first chip: half a chip after its beginning.
  EXPECT_NEAR(static_cast<double>(found.start[0]), 777 + 5, 1);
  EXPECT_GT(found.metric[0], 0.98f);
}

TEST(Framer, NeitherLevelNorOffsetMatters) {
  Framer f("{chip_rate: 10 kS/s}");
  auto x = sent(usual(), "anything", 10, 123);
  for (float& v : x) v = 1e-4f * v - 3e-3f;
  EXPECT_THAT(f.in_blocks(x, 4096).text, ElementsAre("anything"));
  for (float& v : x) v = -v;
  EXPECT_THAT(f.in_blocks(x, 4096).text, ElementsAre()) << "the inverted signal is not the pattern";
}

TEST(Framer, HowTheStreamIsCutDoesNotMatter) {
  Framer f("{chip_rate: 12.3 kS/s, threshold: 0.6}");
  const double chip = kRate / 12.3e3;
  auto x =
      joined({sent(usual(), "one", chip, 3), sent(usual(), "two and more", chip, 0.4), sent(usual(), "3", chip, 99)});
  add_noise(x, 0.3f);
  const Found whole = f.in_blocks(x, 1 << 17);
  ASSERT_THAT(whole.text, ElementsAre("one", "two and more", "3"));
  for (const std::int64_t block : {1, 7, 64, 1000, 1024}) {
    const Found cut = f.in_blocks(x, block);
    EXPECT_EQ(cut.text, whole.text) << block;
    EXPECT_EQ(cut.start, whole.start) << block;
    EXPECT_EQ(cut.metric, whole.metric) << block;
    EXPECT_EQ(cut.events, whole.events) << block;
  }
}

TEST(Framer, AClockThatIsOffIsFollowed) {
  FrameFormat format = usual();
  format.bytes = 200;
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>('!' + i % 90);
  for (const double error : {0.995, 0.999, 1.001, 1.005}) {
    // 1600 chips: without the loop, half a percent is 8 chips.
    Framer f("{chip_rate: 10 kS/s, bytes: 200, threshold: 0.7}");
    auto x = sent(format, text, 10 * error, 50);
    add_noise(x, 0.1f);
    EXPECT_THAT(f.in_blocks(x, 5000).text, ElementsAre(text)) << error;
  }
  Framer f("{chip_rate: 10 kS/s, bytes: 200, tracking: 0}");
  EXPECT_THAT(f.in_blocks(sent(format, text, 10.1, 50), 5000).events, ElementsAre(0, 1, 0, 0));
}

TEST(Framer, ManchesterAndPulseWidthsAndFixedLengths) {
  for (const auto& [zero, one] : {std::pair{"01", "10"}, {"100", "110"}, {"1000", "1110"}}) {
    FrameFormat format;
    format.pattern = read_chips("0b1100110011110000");
    format.zero = read_chips(std::string("0b") + zero);
    format.one = read_chips(std::string("0b") + one);
    format.has_length = false;
    format.lsb_first = true;
    format.bytes = 4;
    format.crc = crc_of(CrcName::crc8_31);
    Framer f(std::string("{chip_rate: 8 kS/s, preamble: '', sync_word: 0b1100110011110000, length: fixed, bytes: 4, ") +
             "order: lsb, crc: crc8_31, zero: '" + zero + "', one: '" + one + "'}");
    auto x = sent(format, "\x12\x80\xff\x01", 12.5, 40);
    for (float& v : x) v = v < 0 ? 0 : v;  // an on-off keyed carrier
    add_noise(x, 0.08f);
    EXPECT_THAT(f.in_blocks(x, 700).text, ElementsAre("\x12\x80\xff\x01")) << zero;
  }
}

TEST(Framer, WhatIsWrongIsCounted) {
  Framer f("{chip_rate: 10 kS/s, bytes: 8}");
  const auto good = sent(usual(), "right", 10);
  auto bad = good;
  for (std::size_t n = 660; n < 669; ++n) bad[n] = -bad[n];  // a chip of the text
  const auto long_one = sent(usual(), "nine byte", 10);
  const auto cut = std::vector<float>(good.begin(), good.end() - 40);
  const Found found = f.in_blocks(joined({bad, long_one, good, cut}), 1000);
  EXPECT_THAT(found.text, ElementsAre("right"));
  EXPECT_THAT(found.events, ElementsAre(1, 1, 1, 1));
}

TEST(Framer, NoiseAndStillnessAreNoFrames) {
  Framer f("{chip_rate: 10 kS/s}");
  std::vector<float> x(100'000, 0.0f);
  EXPECT_THAT(f.in_blocks(x, 1 << 16).events, ElementsAre(0, 0, 0, 0));
  for (float& v : x) v = 1234.5f;
  for (std::size_t n = 0; n < x.size(); n += 3) x[n] = 1234.5001f;
  EXPECT_THAT(f.in_blocks(x, 1 << 16).events, ElementsAre(0, 0, 0, 0)) << "rounding noise is not a signal";
  add_noise(x, 1);
  EXPECT_THAT(f.in_blocks(x, 1 << 16).events, ElementsAre(0, 0, 0, 0));
}

TEST(Framer, ABadSampleSpoilsItsOwnFrame) {
  Framer f("{chip_rate: 10 kS/s}");
  const auto good = sent(usual(), "right", 10);
  for (const float value : {kNan, std::numeric_limits<float>::infinity(), 3e38f})
    for (const std::size_t place : {std::size_t{100}, std::size_t{700}, std::size_t{5}}) {
      auto bad = good;
      bad[place] = value;
      const Found found = f.in_blocks(joined({good, bad, good}), 999);
      ASSERT_GE(found.text.size(), 2u);
      for (const std::string& text : found.text) EXPECT_EQ(text, "right");
    }
}

TEST(Framer, RefusesWhatCannotBe) {
  const auto told = [](const std::string& keys, double rate = kRate) {
    return StageUnderTest(entry(), keys, {stream_of(Element::f32, 1, rate)}).complaints();
  };
  EXPECT_EQ(told("{chip_rate: 10 kS/s}"), "");
  EXPECT_THAT(told("{}"), HasSubstr("chip_rate: is required"));
  EXPECT_THAT(told("{chip_rate: 60 kS/s}"), HasSubstr("chip_rate: 100 kS/s are 1.66667 samples a chip"));
  EXPECT_THAT(told("{chip_rate: 0}"), HasSubstr("chip_rate:"));
  EXPECT_THAT(told("{chip_rate: 10 kS/s, sync_word: xyz}"), HasSubstr("sync_word: 'xyz' is neither hexadecimal"));
  EXPECT_THAT(told("{chip_rate: 10 kS/s, preamble: '', sync_word: a}"), HasSubstr("4 chips together, not 8 to 512"));
  EXPECT_THAT(told("{chip_rate: 10 kS/s, preamble: '', sync_word: ffff}"), HasSubstr("need both kinds of chips"));
  EXPECT_THAT(told("{chip_rate: 10 kS/s, one: '10', zero: '1'}"), HasSubstr("one: zero and one have to be different"));
  EXPECT_THAT(told("{chip_rate: 10 kS/s, one: '0', zero: '0'}"), HasSubstr("one: zero and one have to be different"));
  EXPECT_THAT(told("{chip_rate: 10 kS/s, bytes: 256}"), HasSubstr("bytes: a length byte allows at most 255"));
  EXPECT_EQ(told("{chip_rate: 10 kS/s, bytes: 2048, length: fixed}"), "");
  EXPECT_THAT(told("{chip_rate: 100 S/s, bytes: 2048, length: fixed, zero: '01', one: '10'}"),
              HasSubstr("bytes: frames are longer"));
}

}  // namespace
}  // namespace iqd::framer
