// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "pipeline/stages/ofdm/mimo_channel_estimator/estimator_for_test.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// What makes the estimate in another way.
constexpr const char* kWays[] = {"", ", track: frame", ", whiten: band", ", whiten: groups",
                                 ", track: frame, whiten: groups"};
constexpr double kHundredHertz = 2 * std::numbers::pi * 100 * 548 / 7.68e6;  // radians a symbol of 5 MHz

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
            slope * position_behind(static_cast<int>(d), static_cast<int>(tx)) + signal.phases[index(d)];
        EXPECT_NEAR(got.phase[index(d)], expected, 0.01) << "tx " << tx << ", symbol " << d;
      }
      for (std::int64_t r = 0; r < 4; ++r) {
        const Residual now = residual(signal, got, r);
        EXPECT_LT(std::sqrt(now.left / now.power), 0.012) << "tx " << tx << ", of 0.05 to 0.5 that the offset causes";
      }
    }
}

TEST(MimoChannelEstimator, ATailIsForAChannelThatMoves) {
  const auto complaints = [](const std::string& keys, std::int64_t symbols) {
    return StageUnderTest(entry(), keys, {carriers_of(symbols, 300, 2)}).complaints();
  };
  EXPECT_EQ(complaints("{track: frame, tail: true}", 17), "");
  EXPECT_THAT(complaints("{tail: true}", 17), HasSubstr("is for `track: frame`"));
  EXPECT_THAT(complaints("{track: frame, tail: true}", 14), HasSubstr("[symbol 17]"));
  EXPECT_THAT(complaints("{midambles: 5}", 14), HasSubstr("midambles"));
}

TEST(MimoChannelEstimator, MidamblesAreNoData) {
  for (const std::int64_t midambles : {1, 4}) {
    OfdmFormat f = five(2);
    f.midambles = midambles;
    for (const char* way : {"", ", whiten: groups"}) {
      Signal signal({.format = f, .delays = {0, 4}, .slope = kHundredHertz, .noise = 1e-4});
      for (std::int64_t d = 0; d < f.data_symbols(); ++d)
        signal.phases.push_back(0.1 * std::cos(static_cast<double>(d)));
      const Results got = estimate(f, 2, signal.frame(), way);
      ASSERT_EQ(std::ssize(got.phase), f.data_symbols());
      ASSERT_EQ(std::ssize(got.y), f.data_carriers() * f.data_symbols() * 2);
      for (std::int64_t d = 0; d < f.data_symbols(); ++d) {
        const int at = f.comb().data(static_cast<std::int32_t>(d));
        EXPECT_NEAR(got.phase[index(d)], kHundredHertz * position_behind(at, 2) + signal.phases[index(d)], 0.03) << at;
      }
      for (std::int64_t r = 0; r < 2; ++r) {
        const Residual now = residual(signal, got, r);
        EXPECT_LT(std::sqrt(now.left / now.power), 0.03) << midambles << way;
      }
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
  EXPECT_NEAR(std::sqrt(much.left / much.power), 2 * std::sin(kHundredHertz * position_behind(5, 2) / 2), 0.06);
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
  for (const char* way : kWays) {
    const Results expected = estimate(signal.format, 2, good, way);
    for (const auto& [bad, place] : {std::pair(kNan, std::size_t{0}),
                                     {-std::numeric_limits<float>::infinity(), good.size() / 6},
                                     {kNan, good.size() / 3 - 1}}) {
      auto spoilt = good;
      spoilt[good.size() / 3 + place] = {0, bad};
      Results got = estimate(signal.format, 2, spoilt, way);
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
      take_back(got.level, expected.level);
      take_back(got.covariance, expected.covariance);
      if (std::string_view(way).find("track") != std::string_view::npos) take_back(got.doppler, expected.doppler);
      if (std::string_view(way).find("whiten") != std::string_view::npos)
        take_back(got.interference, expected.interference);
      EXPECT_TRUE(same(got, expected)) << way;
    }
  }
}

TEST(MimoChannelEstimator, FramesDoNotMatterToEachOther) {
  Signal signal({.format = five(2), .noise = 0.1});
  const auto frames = signal.frames(3);
  for (const char* way : kWays) {
    const Results all = estimate(signal.format, 2, frames, way);
    const Results last = estimate(signal.format, 2, {frames.end() - std::ssize(frames) / 3, frames.end()}, way);
    EXPECT_TRUE(same_bits(last.y, {all.y.end() - std::ssize(last.y), all.y.end()})) << way;
    EXPECT_TRUE(same_bits(last.h, {all.h.end() - std::ssize(last.h), all.h.end()})) << way;
    EXPECT_EQ(last.noise[0], all.noise[2 * last.noise.size()]) << way;
  }
}

TEST(MimoChannelEstimator, SilenceGivesZeros) {
  const Signal signal({.format = five(2)});
  for (const char* way : kWays) {
    const Results got = estimate(signal.format, 2, std::vector<cf32>(14 * 300 * 2), way);
    EXPECT_THAT(got.y, Each(cf32())) << way;
    EXPECT_THAT(got.h, Each(cf32())) << way;
    EXPECT_THAT(got.phase, Each(0.0f)) << way;
    EXPECT_THAT(got.noise, Each(0.0f)) << way;
    EXPECT_THAT(got.level, Each(0.0f)) << way;
    EXPECT_THAT(got.covariance, Each(cf32())) << way;
    EXPECT_THAT(got.doppler, Each(0.0f)) << way;
  }
}

TEST(MimoChannelEstimator, ASilentAntennaLeavesTheOthersAlone) {
  Signal signal({.format = five(2), .rx = 3, .noise = 1e-4, .levels = {1, 0, 1}});
  const auto frame = signal.frame();
  for (const char* way : kWays) {
    const Results got = estimate(signal.format, 3, frame, way);
    for (std::size_t i = 0; i < got.h.size(); ++i) ASSERT_EQ(got.h[i] == cf32(), i / 2 % 3 == 1) << way;
    EXPECT_GT(got.noise[0], 0);
    for (const std::int64_t r : {0, 2}) {
      const Residual now = residual(signal, got, r);
      EXPECT_LT(now.left / now.power, 0.01) << way;
    }
  }
}

TEST(MimoChannelEstimator, LevelDoesNotMatter) {
  Signal signal({.format = five(2), .noise = 0.1});
  const auto frame = signal.frame();
  for (const char* way : kWays) {
    const bool units = std::string_view(way) != "";  // of the noise
    const Results plain = estimate(signal.format, 2, frame, way);
    for (const float level : {0x1p-50f, 0x1p50f}) {
      auto scaled = frame;
      for (cf32& v : scaled) v *= level;
      Results got = estimate(signal.format, 2, scaled, way);
      for (cf32& v : got.y) v /= units ? 1 : level;
      for (cf32& v : got.h) v /= units ? 1 : level;
      if (!units) got.noise[0] = got.noise[0] / level / level;
      got.level[0] = got.level[0] / level / level;
      for (cf32& v : got.covariance) v = v / level / level;
      EXPECT_TRUE(same(got, plain)) << way << " " << level;
    }
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
  EXPECT_EQ(s.out(4).text(), "f32 [frame up to 8]");
  EXPECT_EQ(s.out(5).text(), "cf32 [frame up to 8][group 25][rx 4][other 4]");
  EXPECT_EQ(s.out(6).text(), "f32");
  const StageUnderTest moving(entry(), "{tx: 3, track: frame}", {carriers_of(14, 300, 4)}, 8);
  EXPECT_EQ(moving.out(1).text(), "cf32 [frame up to 8][carrier 288][symbol 10][rx 4][tx 3]");
  EXPECT_EQ(moving.out(2).text(), "f32 [frame up to 8][carrier 288][symbol 10]");
  EXPECT_EQ(moving.out(6).text(), "f32 [frame up to 8]");
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
  EXPECT_THAT(complaints("{track: frame, time_functions: 17}", 300, 2), HasSubstr("time_functions"));
  EXPECT_THAT(StageUnderTest(entry(), "{track: frame, fft: 4096, prefix: 600, frame: 65536, step: 0.5}",
                             {carriers_of(13, 300, 2)})
                  .complaints(),
              HasSubstr("step: must be at least 1.18"));
  auto soft = carriers_of(0, 0, 0);
  soft.element = Element::f32;
  soft.item = {{"carrier", 288}, {"symbol", 11}, {"tx", 2}, {"bit", 4}};
  const auto with_soft = [&soft](const std::string& keys) {
    return StageUnderTest(entry(), keys, {carriers_of(14, 300, 2), soft}).complaints();
  };
  EXPECT_EQ(with_soft("{track: frame}"), "");
  EXPECT_THAT(with_soft("{}"), HasSubstr("track: has to be `frame`"));
  EXPECT_THAT(with_soft("{track: frame, modulation: port}"), HasSubstr("modulation: 'port' needs the input"));
  EXPECT_THAT(with_soft("{track: frame, modulation: [64qam, qpsk]}"), HasSubstr("has more bits than the 4 LLRs"));
  soft.item.back().extent = 3;
  EXPECT_THAT(with_soft("{track: frame}"), HasSubstr("2, 4, 6 or 8 LLRs for each of the frame's 6336 symbols"));
  soft.item = {{"n", 100}};
  EXPECT_THAT(with_soft("{track: frame}"), HasSubstr("input 'soft' has to have"));
  auto no_rate = carriers_of(14, 300, 2);
  no_rate.rate_hz = 0;
  EXPECT_THAT(StageUnderTest(entry(), "{track: frame}", {no_rate}).complaints(), HasSubstr("needs the sample rate"));
  EXPECT_EQ(StageUnderTest(entry(), "{whiten: groups}", {no_rate}).complaints(), "");
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
