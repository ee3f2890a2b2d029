// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator_model.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kHundredHertz = 2 * std::numbers::pi * 100 * 548 / 7.68e6;  // radians a symbol of 5 MHz

struct Results {
  std::vector<cf32> y, h;
  std::vector<float> noise, phase;
};
bool same(const Results& a, const Results& b) {
  return same_bits(a.y, b.y) && same_bits(a.h, b.h) && same_bits(a.noise, b.noise) && same_bits(a.phase, b.phase);
}

std::string keys_of(const OfdmFormat& f, const std::string& more = "") {
  return "{fft: " + std::to_string(f.fft) + ", carriers: " + std::to_string(f.carriers) +
         ", prefix: " + std::to_string(f.prefix) + ", frame: " + std::to_string(f.frame) +
         ", tx: " + std::to_string(f.tx) + ", pilot_every: " + std::to_string(f.pilot_every) + more + "}";
}
PortShape carriers_of(std::int64_t symbols, std::int64_t carriers, std::int64_t rx, std::int64_t most = 8) {
  PortShape shape;
  shape.axis = Axis::counted;
  shape.axis_name = "frame";
  shape.item = {{"symbol", symbols}, {"carrier", carriers}, {"rx", rx}};
  shape.most = most;
  return shape;
}

/// The stage with all of its outputs. `more`: keys besides the format's.
Results estimate(const OfdmFormat& f, std::int64_t rx, const std::vector<cf32>& carriers, const std::string& more = "",
                 bool wants_phase = true) {
  const auto stage = entry().make();
  Problems problems;
  const Document document = parse_document(keys_of(f, more), "test.yaml", problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  const auto frames = std::ssize(carriers) / (f.symbols() * f.carriers * rx);
  const std::vector<PortShape> in{carriers_of(f.symbols(), f.carriers, rx, frames)};
  std::vector<PortShape> out(entry().outputs.size(), in[0]);
  Footprint footprint;
  ShapeContext context{.in = in, .out = out, .footprint = {&footprint, 1}, .most_new = frames, .section = section};
  stage->shape(context);
  EXPECT_TRUE(problems.empty());
  const auto backend = make_cpu_backend();
  const auto run = stage->make(*backend);
  std::vector<std::byte> scratch(context.scratch_bytes, std::byte{0xff});  // NaN
  std::vector<cf32> given = carriers;                                      // memory of its own, for AddressSanitizer
  Results r{std::vector<cf32>(index(frames * out[0].item_size())),
            std::vector<cf32>(index(frames * out[1].item_size())), std::vector<float>(index(frames)),
            std::vector<float>(index(frames * out[3].item_size()))};
  auto count = static_cast<std::int32_t>(frames);
  std::array<std::int32_t, 4> counts{-1, -1, -1, -1};
  const auto port = [&](auto& memory, std::int32_t& its_count, bool wanted = true) {
    auto* const data = reinterpret_cast<std::byte*>(memory.data());
    return PortIo{.data = wanted ? data : nullptr, .length = frames, .count = &its_count};
  };
  const PortIo from = port(given, count);
  const PortIo to[] = {port(r.y, counts[0]), port(r.h, counts[1]), port(r.noise, counts[2]),
                       port(r.phase, counts[3], wants_phase)};
  run->enqueue({.in = {&from, 1}, .out = to, .scratch = scratch.data()}, {});
  for (const std::int32_t written : counts) EXPECT_EQ(written, count);
  return r;
}

OfdmFormat five(std::int64_t tx) {
  OfdmFormat f;
  f.tx = tx;
  return f;
}

/// Mean |y - h s|^2 of an antenna, with the stage's y and h; and mean |y|^2.
struct Residual {
  double left = 0;
  double power = 0;
};
Residual residual(const Signal& signal, const Results& got, std::int64_t r) {
  const std::int64_t tx = signal.format.tx, symbols = signal.format.data_symbols(), all = std::ssize(got.y) / signal.rx;
  Residual sum;
  for (std::int64_t v = 0; v < all; ++v) {
    const complex y(got.y[index(v * signal.rx + r)]);
    complex expected = 0;
    for (std::int64_t a = 0; a < tx; ++a)
      expected += complex(got.h[index((v / symbols * signal.rx + r) * tx + a)]) * signal.s[index(v * tx + a)];
    sum.left += std::norm(y - expected) / static_cast<double>(all);
    sum.power += std::norm(y) / static_cast<double>(all);
  }
  return sum;
}

/// Mean |h - truth|^2 of an antenna, after removing a common scale and phase.
double channel_error(const Signal& signal, const Results& got, std::int64_t r) {
  complex product = 0;
  double own = 0, truth = 0;
  for (std::size_t i = 0; i < got.h.size(); ++i) {
    if (static_cast<std::int64_t>(i) / signal.format.tx % signal.rx != r) continue;
    product += std::conj(complex(got.h[i])) * signal.h[i];
    own += std::norm(complex(got.h[i]));
    truth += std::norm(signal.h[i]);
  }
  const auto count = static_cast<double>(got.h.size()) / static_cast<double>(signal.rx);
  return (truth - std::norm(product) / own) / count;
}

TEST(MimoChannelEstimator, WithoutNoiseItFindsTheChannel) {
  for (const std::int64_t tx : {1, 2, 4, 8})
    for (const std::int64_t rx : {1, 2, 4, 8}) {
      Signal signal({.format = five(tx), .rx = rx, .delays = {-4, 0, 2.5, 30}});
      const Results got = estimate(signal.format, rx, signal.frame(), ", snr: 60");
      double power = 0;
      for (std::int64_t r = 0; r < rx; ++r) {
        const Residual now = residual(signal, got, r);
        EXPECT_LT(std::sqrt(now.left / now.power), 1e-3) << "tx " << tx << ", rx " << rx;
        EXPECT_LT(std::sqrt(channel_error(signal, got, r)), 1e-3) << "tx " << tx << ", rx " << rx;
        power += now.power / static_cast<double>(rx);
      }
      EXPECT_GT(got.noise[0], 0);
      EXPECT_LT(got.noise[0], 2 * kLeastNoise * power);
    }
}

TEST(MimoChannelEstimator, AFewCarriersAreEnough) {
  const OfdmFormat few{.fft = 64, .carriers = 16, .prefix = 4, .frame = 900, .tx = 2, .pilot_every = 8};
  Signal signal({.format = few, .delays = {0.5, 3}});
  const Results got = estimate(few, 2, signal.frame(), ", snr: 70");
  for (const std::int64_t r : {0, 1}) {
    const Residual now = residual(signal, got, r);
    EXPECT_LT(std::sqrt(now.left / now.power), 2e-3);
  }
}

/// E |h|^2 is 1, so the least squares' error is noise / tx: smoothing gains 8 dB wherever the paths lie within the
/// prefix.
TEST(MimoChannelEstimator, SmoothingGainsEightDecibels) {
  for (const std::vector<double>& delays : {std::vector<double>{0}, {-4, 3, 32}})
    for (const double noise : {0.5, 0.002}) {
      Signal signal({.format = five(2), .delays = delays, .noise = noise});
      double error = 0;
      for (int i = 0; i < 20; ++i) {
        const Results got = estimate(signal.format, 2, signal.frame());
        for (const std::int64_t r : {0, 1}) error += channel_error(signal, got, r) / 40;
      }
      EXPECT_LT(error, std::pow(10, -0.8) * noise / 2) << noise;
    }
}

TEST(MimoChannelEstimator, NoiseIsTheVarianceThatThereIs) {
  for (const double noise : {2.0, 0.02, 2e-5}) {
    Signal signal({.format = five(2), .delays = {0, 7}, .noise = noise});
    const Results got = estimate(signal.format, 2, signal.frames(30));
    double mean = 0;
    for (const float n : got.noise) mean += n / 30;
    EXPECT_NEAR(mean / noise, 1, 4 / std::sqrt(30 * 2 * 150.0)) << "of 150 carriers, 2 antennas, 30 frames";
  }
}

TEST(MimoChannelEstimator, AntennasMayDifferInLevel) {
  Signal signal({.format = five(2), .rx = 3, .noise = 0.02, .levels = {1, 100, 0.01}});
  double left[3] = {}, noise = 0;
  for (int i = 0; i < 10; ++i) {
    const Results got = estimate(signal.format, 3, signal.frame());
    for (std::int64_t r = 0; r < 3; ++r) left[r] += residual(signal, got, r).left;
    noise += static_cast<double>(got.noise[0]);
  }
  for (const double of_antenna : left) {
    EXPECT_GT(of_antenna / noise, 0.9);
    EXPECT_LT(of_antenna / noise, 1.4) << "the noise, and the errors of h and of the phase";
  }
}

TEST(MimoChannelEstimator, FollowsThePhase) {
  for (const std::int64_t tx : {1, 2, 4})
    for (const double slope : {kHundredHertz, -kHundredHertz}) {
      Signal signal({.format = five(tx), .rx = 4, .delays = {0, 4}, .slope = slope});
      for (std::int64_t d = 0; d < signal.format.data_symbols(); ++d)
        signal.phases.push_back(0.1 * std::sin(static_cast<double>(d)));
      const Results got = estimate(signal.format, 4, signal.frame(), ", snr: 60");
      for (std::int64_t d = 0; d < signal.format.data_symbols(); ++d) {
        const double expected =
            slope * data_position(static_cast<int>(d), static_cast<int>(tx)) + signal.phases[index(d)];
        EXPECT_NEAR(got.phase[index(d)], expected, 0.01) << "tx " << tx << ", symbol " << d;
      }
      for (std::int64_t r = 0; r < 4; ++r) {
        const Residual now = residual(signal, got, r);
        EXPECT_LT(std::sqrt(now.left / now.power), 0.012) << "tx " << tx << ", of 0.05 to 0.5 that the offset causes";
      }
    }
}

TEST(MimoChannelEstimator, MayLeaveThePhaseAlone) {
  Signal signal({.format = five(2), .slope = kHundredHertz, .noise = 1e-5});
  const auto frame = signal.frame();
  const Results tracked = estimate(signal.format, 2, frame);
  const Residual little = residual(signal, tracked, 0);
  EXPECT_LT(std::sqrt(little.left / little.power), 0.02);
  const Results got = estimate(signal.format, 2, frame, ", track_phase: false");
  EXPECT_THAT(got.phase, Each(0.0f));
  const Residual much = residual(signal, got, 0);
  EXPECT_NEAR(std::sqrt(much.left / much.power), 2 * std::sin(kHundredHertz * data_position(5, 2) / 2), 0.06);
  auto other = frame;
  std::reverse(other.begin() + std::ssize(other) / 14 * 3, other.end());
  EXPECT_TRUE(same_bits(estimate(signal.format, 2, other, ", track_phase: false").h, got.h)) << "pilots do not matter";
}

TEST(MimoChannelEstimator, AShorterProfileIsSmoothedMore) {
  Signal signal({.format = five(2), .delays = {-2, 2}, .noise = 0.1});
  double error = 0, narrow = 0;
  for (int i = 0; i < 20; ++i) {
    const auto frame = signal.frame();
    error += channel_error(signal, estimate(signal.format, 2, frame), 0);
    narrow += channel_error(signal, estimate(signal.format, 2, frame, ", delay_spread: 4"), 0);
  }
  EXPECT_LT(narrow, 0.7 * error);
}

TEST(MimoChannelEstimator, BadFramesAreMarkedAndStayAlone) {
  Signal signal({.format = five(2), .noise = 0.1});
  const auto good = signal.frames(3);
  const Results expected = estimate(signal.format, 2, good);
  for (const float bad : {kNan, -std::numeric_limits<float>::infinity()})
    for (const std::size_t place : {std::size_t{0}, good.size() / 6, good.size() / 3 - 1}) {
      auto spoilt = good;
      spoilt[good.size() / 3 + place] = {0, bad};
      Results got = estimate(signal.format, 2, spoilt);
      const auto take_back = [](auto& values, const auto& from) {
        const std::size_t third = values.size() / 3;
        for (std::size_t i = third; i < 2 * third; ++i) {
          ASSERT_TRUE(std::isnan(std::real(values[i])) && !(std::imag(values[i]) < 1 && std::imag(values[i]) > 0));
          values[i] = from[i];
        }
      };
      take_back(got.y, expected.y);
      take_back(got.h, expected.h);
      take_back(got.noise, expected.noise);
      take_back(got.phase, expected.phase);
      EXPECT_TRUE(same(got, expected));
    }
}

TEST(MimoChannelEstimator, FramesDoNotMatterToEachOther) {
  Signal signal({.format = five(2), .noise = 0.1});
  const auto frames = signal.frames(3);
  const Results all = estimate(signal.format, 2, frames);
  const Results last = estimate(signal.format, 2, {frames.end() - std::ssize(frames) / 3, frames.end()});
  EXPECT_TRUE(same_bits(last.y, {all.y.end() - std::ssize(last.y), all.y.end()}));
  EXPECT_TRUE(same_bits(last.h, {all.h.end() - std::ssize(last.h), all.h.end()}));
  EXPECT_EQ(last.noise[0], all.noise[2]);
}

TEST(MimoChannelEstimator, SilenceGivesZeros) {
  const Signal signal({.format = five(2)});
  const Results got = estimate(signal.format, 2, std::vector<cf32>(14 * 300 * 2));
  EXPECT_THAT(got.y, Each(cf32()));
  EXPECT_THAT(got.h, Each(cf32()));
  EXPECT_THAT(got.phase, Each(0.0f));
  EXPECT_EQ(got.noise[0], 0);
}

TEST(MimoChannelEstimator, ASilentAntennaLeavesTheOthersAlone) {
  Signal signal({.format = five(2), .rx = 3, .noise = 1e-4, .levels = {1, 0, 1}});
  const Results got = estimate(signal.format, 3, signal.frame());
  for (std::size_t i = 0; i < got.h.size(); ++i) ASSERT_EQ(got.h[i] == cf32(), i / 2 % 3 == 1);
  EXPECT_GT(got.noise[0], 0);
  for (const std::int64_t r : {0, 2}) {
    const Residual now = residual(signal, got, r);
    EXPECT_LT(now.left / now.power, 0.01);
  }
}

TEST(MimoChannelEstimator, LevelDoesNotMatter) {
  Signal signal({.format = five(2), .noise = 0.1});
  const auto frame = signal.frame();
  const Results plain = estimate(signal.format, 2, frame);
  for (const float level : {0x1p-50f, 0x1p50f}) {
    auto scaled = frame;
    for (cf32& v : scaled) v *= level;
    Results got = estimate(signal.format, 2, scaled);
    for (cf32& v : got.y) v /= level;
    for (cf32& v : got.h) v /= level;
    got.noise[0] = got.noise[0] / level / level;
    EXPECT_TRUE(same(got, plain)) << level;
  }
  auto faint = frame;
  for (cf32& v : faint) v *= 0x1p-80f;
  EXPECT_GT(estimate(signal.format, 2, faint).noise[0], 0) << "although its square is below the range of a float";
}

TEST(MimoChannelEstimator, ThePhaseMayBeLeftOut) {
  Signal signal({.format = five(2), .noise = 0.1});
  const auto frame = signal.frame();
  const Results all = estimate(signal.format, 2, frame), least = estimate(signal.format, 2, frame, "", false);
  EXPECT_TRUE(same_bits(least.y, all.y));
  EXPECT_THAT(least.phase, Each(0.0f));
}

TEST(MimoChannelEstimator, SaysWhatItMakes) {
  const StageUnderTest s(entry(), "{tx: 3}", {carriers_of(14, 300, 4)}, 8);
  EXPECT_EQ(s.out(0).text(), "cf32 [frame up to 8][carrier 288][symbol 10][rx 4]");
  EXPECT_EQ(s.out(1).text(), "cf32 [frame up to 8][carrier 288][rx 4][tx 3]");
  EXPECT_EQ(s.out(2).text(), "f32 [frame up to 8]");
  EXPECT_EQ(s.out(3).text(), "f32 [frame up to 8][symbol 10]");
}

TEST(MimoChannelEstimator, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& keys, std::int64_t carriers, std::int64_t rx) {
    return StageUnderTest(entry(), keys, {carriers_of(14, carriers, rx)}).complaints();
  };
  EXPECT_EQ(complaints("{}", 300, 8), "");
  EXPECT_THAT(complaints("{}", 299, 2), HasSubstr("[carrier 300]"));
  EXPECT_THAT(complaints("{}", 300, 9), HasSubstr("1 to 8 receive antennas"));
  EXPECT_THAT(complaints("{tx: 9}", 300, 2), HasSubstr("tx"));
  EXPECT_EQ(complaints("{delay_spread: 32}", 300, 2), "");
  EXPECT_THAT(complaints("{delay_spread: 33}", 300, 2), HasSubstr("delay_spread: must be at most 32 samples"));
  EXPECT_THAT(complaints("{snr: 100}", 300, 2), HasSubstr("snr"));
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
