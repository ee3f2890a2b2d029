// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/preamble_search/starts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "pipeline/stages/telemetry/preamble_search/preamble_search_for_test.hpp"

namespace iqd::preamble_search {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr Spacing kInet{.samples = 12672, .closest = 12608, .late = 4};

/// The places of the chain that is taken.
Starts chain_of(const std::vector<Candidate>& c, std::int64_t last = 0, std::int32_t run = 0) {
  std::vector<Link> links(c.size());
  const auto count = static_cast<std::int32_t>(c.size());
  link_candidates(kInet, c.data(), count, links.data());
  Starts starts;
  for (std::int32_t i = first_of_chain(kInet, c.data(), count, links.data(), last, run); i >= 0;
       i = links[static_cast<std::size_t>(i)].next)
    starts.push_back(c[static_cast<std::size_t>(i)].n);
  return starts;
}

TEST(PacketChain, TakesTheLargestSum) {
  EXPECT_EQ(chain_of({}), Starts{});
  EXPECT_EQ(chain_of({{5, 1, 1.5F}}), Starts{5});
  EXPECT_EQ(chain_of({{0, 1, 1}, {6000, 1, 1.5F}, {12608, 1, 1}}), (Starts{0, 12608})) << "two are more than one";
  EXPECT_EQ(chain_of({{0, 1, 1}, {6000, 1, 1.5F}, {12607, 1, 1}}), Starts{6000}) << "too close to each other";
  // 0.5 for the one that follows at a packet's length, early or late by up to 4 samples.
  for (const std::int64_t off : {-4, 0, 4})
    EXPECT_EQ(chain_of({{0, 1, 1}, {12672 + off, 1, 1}, {12672 + off + 200, 1, 1.45F}}), (Starts{0, 12672 + off}));
  EXPECT_EQ(chain_of({{0, 1, 1}, {12677, 1, 1}, {12877, 1, 1.45F}}), (Starts{0, 12877}));
}

TEST(PacketChain, OfTwoThatAreAsGoodTheFirstOne) {
  std::vector<Candidate> both;  // packets, and a copy of the pilot in each payload
  for (std::int64_t p = 0; p < 16; ++p) {
    both.push_back({p * 12672 + 100, 1, 1.95F});
    both.push_back({p * 12672 + 5000, 1, 1.97F});
  }
  const Starts starts = chain_of(both);
  ASSERT_EQ(starts.size(), 16U);
  EXPECT_EQ(starts[0], 100);
  EXPECT_EQ(starts[15], 100 + 15 * 12672);
}

TEST(PacketChain, ContinuesFromTheLastStart) {
  const std::vector<Candidate> c{{11000, 1, 1.9F}, {12672, 1, 1}, {12700, 1, 1.9F}};
  EXPECT_EQ(chain_of(c), Starts{11000});
  EXPECT_EQ(chain_of(c, 0, 1), Starts{12700}) << "11,000 is too close to the last one, and 0.5 is not enough";
  EXPECT_EQ(chain_of(c, 0, 4), Starts{12672});
}

/// All chains of a few candidates, by trying each.
double largest_sum(const std::vector<Candidate>& c) {
  double largest = 0;
  for (unsigned set = 1; set < 1U << c.size(); ++set) {
    double sum = 0;
    const Candidate* before = nullptr;
    for (std::size_t i = 0; i < c.size() && sum >= 0; ++i) {
      if (!(set >> i & 1)) continue;
      if (before && c[i].n - before->n < kInet.closest) sum = -1e9;
      if (before && std::abs(c[i].n - before->n - kInet.samples) <= 4) sum += 0.5;
      sum += c[i].share;
      before = &c[i];
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

TEST(PacketChain, NoOtherChainHasALargerSum) {
  std::mt19937 engine(2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Candidate> c;
    for (std::int64_t n = 0; c.size() < 10; n += 129 + engine() % 6000) {
      if (engine() % 3 == 0 && !c.empty()) n = std::max(n, c.front().n + 12672);  // some at a packet's length
      c.push_back({n, 1, 0.45F + static_cast<float>(engine() % 1000) / 650});
    }
    std::vector<Link> links(c.size());
    link_candidates(kInet, c.data(), 10, links.data());
    double sum = 0;
    for (const Link& link : links) sum = std::max(sum, link.sum);
    EXPECT_NEAR(sum, largest_sum(c), 1e-6);
  }
}

/// What the payloads of a stream contain besides random data.
enum class Payload : std::uint8_t { preamble, pilot_in_every_third, pilot_anywhere, pilot_at_one_place };

struct Tricky {
  std::vector<cf32> samples;
  Starts starts;
};

Tricky tricky_stream(Payload kind, std::int64_t gap, double noise) {
  const PacketFormat format = short_format();
  const std::vector<std::uint8_t> pilot = format.pilot();
  std::mt19937 engine(4);
  std::vector<std::uint8_t> bits;
  Tricky stream;
  std::vector<std::complex<double>> x(500);
  for (std::size_t p = 0; p < 16; ++p) {
    std::vector<std::uint8_t> all = pilot;
    while (std::ssize(all) < format.bits()) all.push_back(engine() >> 16 & 1);
    const auto copy_at = [&](std::size_t bit) {
      std::copy(pilot.begin(), pilot.end(), all.begin() + static_cast<std::ptrdiff_t>(192 + bit));
    };
    if (kind == Payload::preamble)
      for (std::size_t k = 192; k < all.size(); ++k) all[k] = pilot[k % 16];
    if (kind == Payload::pilot_in_every_third && p % 3 == 0) copy_at(100);
    if (kind == Payload::pilot_anywhere) copy_at(engine() % 320);
    if (kind == Payload::pilot_at_one_place) copy_at(100);
    stream.starts.push_back(500 + static_cast<std::int64_t>(p) * (format.samples() + gap));
    const auto sent = soqpsk::modulate(all, format.samples_per_bit);
    x.insert(x.end(), sent.begin(), sent.end());
    x.insert(x.end(), static_cast<std::size_t>(gap), 0);
  }
  x.insert(x.end(), 500, 0);
  for (const std::complex<double> v : x) stream.samples.emplace_back(v);
  add_noise(stream.samples, noise);
  return stream;
}

TEST(PreambleSearch, PayloadsDoNotPassForPackets) {
  for (const Payload kind :
       {Payload::preamble, Payload::pilot_in_every_third, Payload::pilot_anywhere, Payload::pilot_at_one_place})
    for (const double noise : {0.05, 0.5}) {
      const Tricky stream = tricky_stream(kind, 0, noise);
      EXPECT_EQ(search(kShort, stream.samples).start, stream.starts) << static_cast<int>(kind) << ' ' << noise;
    }
  const Tricky anywhere = tricky_stream(Payload::pilot_anywhere, 0, 0.5);
  EXPECT_EQ(reference(short_format(), anywhere.samples, 0.25), anywhere.starts);
  const Tricky gaps = tricky_stream(Payload::preamble, 700, 0.05);
  EXPECT_EQ(search(kShort, gaps.samples).start, gaps.starts);
}

TEST(PreambleSearch, AChainThatContinuesNeedsNoPast) {
  const Tricky stream = tricky_stream(Payload::pilot_at_one_place, 0, 0.1);
  EXPECT_EQ(search(kShort + ", chain: carry", stream.samples, {2000}).start, stream.starts);
  EXPECT_EQ(search(kShort + ", chain: carry", stream.samples, {1408, 333}).start, stream.starts);
}

/// Packets without noise, but for three whose preamble is covered by noise 12.5 dB above it.
std::vector<cf32> with_lost(const Starts& lost) {
  Starts starts(16);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = 300 + 1408 * static_cast<std::int64_t>(i);
  auto x = stream_with(short_format(), starts, starts.back() + 1408 + 256);
  std::vector<cf32> loud(x.size());
  add_noise(loud, std::pow(10, 1.25));
  for (const std::int64_t i : lost)
    for (std::int64_t n = 300 + 1408 * i; n < 300 + 1408 * i + 384; ++n)
      x[static_cast<std::size_t>(n)] += loud[static_cast<std::size_t>(n)];
  return x;
}

TEST(PreambleSearch, TheFlywheelPutsWhatIsMissing) {
  const auto x = with_lost({5, 9, 10});
  EXPECT_EQ(search(kShort, x).start.size(), 13U);
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{30000}, {1408}, {700, 5000}}) {
    const Results r = search(kShort + ", flywheel: on", x, lengths);
    ASSERT_EQ(r.start.size(), 16U);
    for (std::size_t i = 0; i < 16; ++i) {
      const bool put = i == 5 || i == 9 || i == 10;
      EXPECT_EQ(r.start[i], 300 + 1408 * static_cast<std::int64_t>(i));
      EXPECT_EQ(r.flywheel[i], put) << i;
      EXPECT_EQ(r.metric[i] == 0, put) << i;
      EXPECT_EQ(r.lock[i], i >= 2) << i;
    }
    EXPECT_THAT(r.events, ElementsAre(16, 0, 0, 0, 3, 1, 0));
  }
}

TEST(PreambleSearch, TheFlywheelEndsAfterThree) {
  const auto x = with_lost({4, 5, 6, 7, 8});
  const Results r = search(kShort + ", flywheel: on", x, {2000});
  EXPECT_EQ(r.start.size(), 14U);
  EXPECT_THAT(std::vector<std::uint8_t>(r.flywheel.begin() + 3, r.flywheel.begin() + 8), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(r.events, ElementsAre(14, 0, 0, 0, 3, 2, 1)) << "a new lock after three more";
  EXPECT_THAT(std::vector<float>(r.lock.begin() + 7, r.lock.begin() + 10), ElementsAre(0, 0, 1));
}

TEST(PreambleSearch, AStartOffTheRasterEndsTheLock) {
  const Starts starts{300, 1708, 3116, 4524, 4524 + 1420, 4524 + 1420 + 1408};
  const auto x = stream_with(short_format(), starts, starts.back() + 1408 + 256);
  const Results r = search(kShort + ", flywheel: on", x, {1000});
  EXPECT_EQ(r.start, starts);
  EXPECT_THAT(r.lock, ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(r.events, ElementsAre(6, 0, 0, 0, 0, 1, 1));
  // 4 samples late after a packet that is missing.
  const Starts late{300, 1708, 3116, 3116 + 2 * 1408 + 4, 3116 + 3 * 1408 + 4};
  const Results kept = search(kShort + ", flywheel: on", stream_with(short_format(), late, late.back() + 1664), {1000});
  EXPECT_THAT(kept.lock, Each(::testing::Ge(0)));
  EXPECT_THAT(kept.events, ElementsAre(6, 0, 0, 0, 1, 1, 0));
}

TEST(PreambleSearch, WithoutAFlywheelThereIsNoLock) {
  const Results r = search(kShort, with_lost({5}));
  EXPECT_TRUE(r.lock.empty() && r.flywheel.empty());
  EXPECT_THAT(r.events, ElementsAre(15, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace iqd::preamble_search
