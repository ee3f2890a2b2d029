// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "pipeline/stages/noma/noma_channel_estimator/phase_line.hpp"
#include "tests/support/stage_under_test.hpp"
#include "tests/support/users_that_differ.hpp"

namespace iqd::noma_channel_estimator {
namespace {

using testing::frames_of_users;
using testing::FramesOfUsers;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;

constexpr NomaFormat kFrameFormat{
    .air = {.fft = 64, .carriers = 24, .prefix = 8, .frame = 10 * 72, .tx = 1, .pilot_every = 2},
    .users = 2,
    .training = 3,
    .pilots = 70,
    .data = 115};
const std::string kKeys =
    "fft: 64, carriers: 24, prefix: 8, frame: 720, users: 2, training: 3, pilots: 70, data: 115, step: 2, "
    "modulation: [qpsk, 16qam]";
constexpr std::int64_t kRx = 3;
constexpr double kRate = 960e3;  // carriers 15 kHz apart
constexpr std::int64_t kFrameSize = 10 * 24 * kRx;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

PortShape carriers_in(std::int64_t rx, std::int64_t most, double rate_hz = kRate) {
  PortShape shape;
  shape.axis = Axis::counted;
  shape.axis_name = "frame";
  shape.item = {{"symbol", kFrameFormat.air.symbols()}, {"carrier", 24}, {"rx", rx}};
  shape.most = most;
  shape.rate_hz = rate_hz;
  return shape;
}

/// Frames of two users with delays and offsets of their own.
FramesOfUsers frames_of_two(std::int64_t frames, double noise) {
  return frames_of_users({.format = kFrameFormat,
                          .maps = {SymbolMap::qpsk, SymbolMap::qam16},
                          .rx = kRx,
                          .rate_hz = kRate,
                          .noise = noise,
                          .delays = {1, 4.5},
                          .offsets = {120, -90}},
                         frames);
}

struct UserResults {
  std::vector<cf32> symbols, h;
  std::vector<float> llr, model;
  std::vector<std::uint8_t> bits, modulation;
  std::array<std::int64_t, 2> events{};
};

class EstimatorOfUsers {
 public:
  explicit EstimatorOfUsers(std::int64_t most) : stage_(entry().make()) {
    Problems problems;
    const Document document = parse_document("{" + kKeys + "}", "test.yaml", problems);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage_->fields(v); }, problems);
    const std::vector<PortShape> in{carriers_in(kRx, most), {}};  // nothing is connected to `soft`
    std::vector<PortShape> out(entry().outputs.size(), in[0]);
    std::array<Footprint, 2> footprint;
    ShapeContext context{.in = in, .out = out, .footprint = footprint, .most_new = most, .section = section};
    stage_->shape(context);
    EXPECT_TRUE(problems.empty());
    scratch_.resize(context.scratch_bytes, std::byte{0xff});
    run_ = stage_->make(*backend_);
  }

  /// Frames begin … end - 1, as a block; nothing is wanted but symbols if `alone`.
  UserResults operator()(const FramesOfUsers& given, std::int64_t begin, std::int64_t end, bool alone = false) {
    const std::int64_t frames = end - begin;
    std::vector<cf32> x(given.carriers.begin() + begin * kFrameSize, given.carriers.begin() + end * kFrameSize);
    UserResults y{.symbols = std::vector<cf32>(at(frames * 2 * 115)),
                  .h = std::vector<cf32>(at(frames * 24 * kRx * 2)),
                  .llr = std::vector<float>(at(frames * 2 * 115 * 4)),
                  .model = std::vector<float>(at(frames * 2 * 3)),
                  .bits = std::vector<std::uint8_t>(at(frames * 2 * 115 * 4)),
                  .modulation = std::vector<std::uint8_t>(at(frames * 2))};
    auto count = static_cast<std::int32_t>(frames);
    std::array<std::int32_t, kPorts> counts{};
    const auto port = [&](auto* memory, std::size_t o, bool wanted = true) {
      return PortIo{
          .data = wanted ? reinterpret_cast<std::byte*>(memory) : nullptr, .length = frames, .count = &counts[o]};
    };
    const PortIo from{.data = reinterpret_cast<std::byte*>(x.data()), .length = frames, .count = &count};
    const PortIo to[] = {port(y.symbols.data(), kSymbols),   port(y.llr.data(), kLlr, !alone),
                         port(y.bits.data(), kBits, !alone), port(y.model.data(), kModel, !alone),
                         port(y.h.data(), kH, !alone),       port(y.modulation.data(), kModulation, !alone),
                         port(y.events.data(), kTally)};
    run_->enqueue({.in = {&from, 1}, .out = to, .scratch = scratch_.data()}, {});
    for (std::size_t o = 0; o < kTally; ++o) EXPECT_EQ(counts[o], frames);
    EXPECT_EQ(counts[kTally], 1);
    return y;
  }

 private:
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::vector<std::byte> scratch_;
  std::unique_ptr<StageRun> run_;
};

TEST(NomaChannelEstimator, UsersWithTheirOwnDelaysAndOffsetsAreSeparated) {
  const FramesOfUsers given = frames_of_two(3, 0.05);
  const UserResults y = EstimatorOfUsers(3)(given, 0, 3);
  constexpr double kOffsets[] = {120, -90};
  for (std::int64_t g = 0; g < 3; ++g)
    for (std::int64_t u = 0; u < 2; ++u) {
      const int bits = u == 0 ? 2 : 4;
      EXPECT_NEAR(y.model[at((g * 2 + u) * 3 + 1)], kOffsets[u], 40);
      EXPECT_EQ(y.modulation[at(g * 2 + u)], bits);
      for (std::int64_t t = 0; t < 115; ++t)
        for (int b = 0; b < 4; ++b) {
          const std::size_t i = at(((g * 2 + u) * 115 + t) * 4 + b);
          const unsigned sent = b < bits ? given.sent[at(u)][at(g * 115 + t)] >> (bits - 1 - b) & 1 : 0;
          ASSERT_EQ(y.bits[i], sent) << g << ' ' << u << ' ' << t << ' ' << b;
          ASSERT_EQ(y.llr[i] < 0, sent == 1);
          ASSERT_EQ(y.llr[i] == 0, b >= bits);
        }
    }
  EXPECT_EQ(y.events, (std::array<std::int64_t, 2>{3, 0}));
}

TEST(NomaChannelEstimator, HowFramesComeInBlocksDoesNotMatter) {
  FramesOfUsers given = frames_of_two(4, 0.1);
  given.carriers[at(2 * kFrameSize + 700)] = {std::numeric_limits<float>::quiet_NaN(), 0};
  EstimatorOfUsers estimate(4);
  const UserResults whole = estimate(given, 0, 4);
  for (std::int64_t g = 0; g < 4; ++g) {
    const UserResults one = estimate(given, g, g + 1);
    const auto same = [&](const auto& all, const auto& own) {
      return same_bits({all.begin() + g * std::ssize(own), all.begin() + (g + 1) * std::ssize(own)}, own);
    };
    EXPECT_TRUE(same(whole.symbols, one.symbols));
    EXPECT_TRUE(same(whole.llr, one.llr));
    EXPECT_TRUE(same(whole.model, one.model));
    EXPECT_TRUE(same(whole.h, one.h));
    EXPECT_EQ(one.events[kErased], g == 2);
  }
  EXPECT_TRUE(same_bits(estimate(given, 0, 4, true).symbols, whole.symbols));
  EXPECT_EQ(estimate(given, 0, 0).events, (std::array<std::int64_t, 2>{0, 0}));
}

TEST(NomaChannelEstimator, TheSlicerTakesTheNearestPoint) {
  std::mt19937 generator(4);
  std::normal_distribution<float> normal;
  for (const SymbolMap map :
       {SymbolMap::bpsk, SymbolMap::qpsk, SymbolMap::qam16, SymbolMap::qam64, SymbolMap::qam256}) {
    const Slicer nearest(map);
    for (int i = 0; i < 1000; ++i) {
      const cf32 z(normal(generator), normal(generator));
      float least = 1e9F;
      for (unsigned number = 0; number < 1u << bits_of(map); ++number)
        least = std::min(least, std::abs(z - point_of(map, number)));
      const auto p = nearest(z.real(), z.imag());
      ASSERT_NEAR(std::abs(z - cf32(p.re, p.im)), least, 1e-6) << i;
    }
  }
}

TEST(NomaChannelEstimator, APhaseThatTurnsSteadilyIsFollowed) {
  PhaseLine line;
  double error = 0;
  for (int s = 0; s < 300; ++s) {
    line.advance();
    error = 0.3 + 0.01 * s - line.phase;
    line.correct(error, s + 5);
  }
  EXPECT_NEAR(error, 0, 1e-3);
  EXPECT_NEAR(line.rate, 0.01, 1e-4);
}

TEST(NomaChannelEstimator, RefusesWhatCannotBe) {
  const auto complaint = [](const std::string& yaml, const PortShape& in) {
    return StageUnderTest(entry(), yaml, {in, {}}).complaints();
  };
  const PortShape in = carriers_in(2, 1);
  EXPECT_THAT(complaint("{}", in), HasSubstr("has to be [frame][symbol 34][carrier 144][rx]"));
  EXPECT_THAT(complaint("{" + kKeys + "}", carriers_in(65, 1)), HasSubstr("1 to 64 receive antennas, not 65"));
  EXPECT_THAT(complaint("{" + kKeys + "}", carriers_in(2, 1, 0)), HasSubstr("needs the sample rate"));
  EXPECT_THAT(complaint("{" + kKeys + ", step: 0.25, prefix: 3000}", in), HasSubstr("prefix"));
  const std::string keys =
      "fft: 64, carriers: 24, prefix: 8, frame: 720, users: 32, training: 3, pilots: 70, data: 115";
  EXPECT_THAT(complaint("{" + keys + ", step: 0.25}", in), HasSubstr("step: leaves 32 users at 36 delays"));
  EXPECT_THAT(complaint("{" + keys + ", modulation: [qpsk, 16qam]}", in), HasSubstr("modulation: has to be one word"));
  EXPECT_THAT(complaint("{" + keys + ", modulation: 8psk}", in), HasSubstr("'8psk' is none of bpsk, qpsk"));
}

}  // namespace
}  // namespace iqd::noma_channel_estimator
