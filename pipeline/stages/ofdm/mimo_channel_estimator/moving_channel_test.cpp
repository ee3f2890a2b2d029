// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <tuple>

#include "pipeline/stages/ofdm/mimo_channel_estimator/estimator_for_test.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

using ::testing::Each;

/// Radians a symbol of 5 MHz.
double radians_of(double hertz) {
  return 2 * std::numbers::pi * hertz * 548 / 7.68e6;
}
/// Three paths that move apart.
Scene moving(std::int64_t tx, double hertz, double noise) {
  return {.format = five(tx),
          .rx = tx,
          .delays = {0, 2.3, 11},
          .noise = noise,
          .moves = {radians_of(hertz), radians_of(-0.7 * hertz), radians_of(0.3 * hertz)}};
}
double mean_noise(const Results& got) {
  return std::accumulate(got.noise.begin(), got.noise.end(), 0.0) / static_cast<double>(got.noise.size());
}
/// What y - h s has over the noise that the stage reports, mean over the antennas.
double unexplained(const Signal& signal, const Results& got) {
  double sum = 0;
  for (std::int64_t r = 0; r < signal.rx; ++r) sum += residual(signal, got, r).left / static_cast<double>(signal.rx);
  return sum / mean_noise(got);
}

TEST(MovingChannel, IsFollowed) {
  for (const std::int64_t tx : {1, 2, 4})
    for (const double hertz : {0.0, 30.0, 300.0, 600.0})
      for (const char* way : {", track: frame", ", track: frame, whiten: groups"}) {
        Signal signal(moving(tx, hertz, 0.01 * static_cast<double>(tx)));
        const Results got = estimate(signal.format, tx, signal.frame(), way);
        const double found = unexplained(signal, got);
        EXPECT_GT(found, 0.5) << tx << " " << hertz << way;
        EXPECT_LT(found, 1.6) << tx << " " << hertz << way;
        EXPECT_LT(mean_noise(got), 2) << tx << " " << hertz << way << ": in units of the noise";
        EXPECT_NEAR(got.level[0], 0.01 * static_cast<double>(tx), 0.003 * static_cast<double>(tx));
      }
}

/// A turned frame is rounded differently. Delays near the limit of `span` must not come and go for that.
TEST(MovingChannel, RoundingMovesNoDelay) {
  for (const std::int64_t tx : {1, 2, 4}) {
    Signal signal(moving(tx, 100, 0.02 * static_cast<double>(tx)));
    const auto frames = signal.frames(8);
    const Results given = estimate(signal.format, tx, frames, ", track: frame");
    const double power = std::accumulate(given.h.begin(), given.h.end(), 0.0,
                                         [](double sum, cf32 h) { return sum + std::norm(complex(h)); }) /
                         static_cast<double>(given.h.size());
    for (const double radians : {0.4, 1.3, 2.9}) {
      auto turned = frames;
      for (cf32& z : turned) z = cf32(complex(z) * std::polar(1.0, radians));
      const Results got = estimate(signal.format, tx, turned, ", track: frame");
      double left = 0, noise = 0;
      for (std::size_t i = 0; i < got.h.size(); ++i)
        left = std::max(left, std::norm(complex(got.h[i]) - complex(given.h[i]) * std::polar(1.0, radians)));
      for (std::size_t i = 0; i < got.noise.size(); ++i)
        noise = std::max(noise, std::abs(double{got.noise[i]} / double{given.noise[i]} - 1));
      EXPECT_LT(std::sqrt(left / power), 1e-3) << tx << " " << radians;
      EXPECT_LT(noise, 1e-4) << tx << " " << radians;
    }
  }
}

/// LLRs of what was sent, of this mean strength: as many are wrong as they say.
std::vector<float> known_data(const Signal& signal, float strength) {
  std::mt19937 engine(3);
  std::normal_distribution<float> right(strength, std::sqrt(2 * strength));
  std::vector<float> llr;
  for (const complex s : signal.s)
    for (const double part : {s.real(), s.imag()})
      llr.push_back(strength > 0 ? std::copysign(1.0f, static_cast<float>(part)) * right(engine) : 0);
  return llr;
}

TEST(MovingChannel, KnownDataShowsItBetter) {
  for (const std::int64_t tx : {1, 2, 4})
    for (const char* way : {", track: frame", ", track: frame, whiten: groups"}) {
      Signal signal(moving(tx, 300, 0.05 * static_cast<double>(tx)));
      const auto frame = signal.frame();
      const auto with = [&](float strength) {
        return estimate(signal.format, tx, frame, way, true, known_data(signal, strength));
      };
      const Results alone = estimate(signal.format, tx, frame, way), none = with(0), some = with(3), all = with(40);
      for (const Results* got : {&none, &some, &all}) {
        EXPECT_GT(unexplained(signal, *got), 0.5) << tx << way;
        EXPECT_LT(unexplained(signal, *got), 1.4) << tx << way << " " << got - &none;
      }
      const auto left = [&](const Results& got) { return unexplained(signal, got) * mean_noise(got); };
      EXPECT_NEAR(left(none), left(alone), 0.02) << tx << way;
      EXPECT_LT(left(some), left(alone) - 0.05) << tx << way;
      EXPECT_LT(left(all), left(alone) - 0.06) << tx << way;
    }
}

/// LLRs of what was sent, with room for 16-QAM; what an antenna does not send is not 0.
std::vector<float> known_points(const Signal& signal) {
  std::vector<float> llr;
  for (std::size_t i = 0; i < signal.s.size(); ++i) {
    const int bits = signal.bits[i % signal.bits.size()];
    const double odd = std::sqrt(bits == 4 ? 10.0 : 2.0);
    const double parts[] = {odd * signal.s[i].real(), odd * signal.s[i].imag()};
    for (const double part : parts) llr.push_back(bits == 0 ? -9 : part > 0 ? 40 : -40);
    for (const double part : parts) llr.push_back(bits < 4 ? 9 : std::abs(part) < 2 ? 40 : -40);
  }
  return llr;
}

TEST(MovingChannel, KnownDataMayHaveMixedAlphabets) {
  const std::string way = ", track: frame, whiten: groups";
  const auto names = [](const std::vector<int>& bits) {
    std::string all;
    for (const int own : bits) all += own == 4 ? "16qam, " : own == 2 ? "qpsk, " : "silent, ";
    return ", modulation: [" + all + "]";
  };
  for (const std::vector<int>& bits : {std::vector{4, 2}, {2, 4}, {4, 0}, {2, 2}}) {
    Scene scene = moving(2, 300, 0.1);
    scene.bits = bits;
    Signal signal(scene);
    const auto frame = signal.frame();
    const auto soft = known_points(signal);
    const Results alone = estimate(signal.format, 2, frame, way);
    const Results known = estimate(signal.format, 2, frame, way + names(bits), true, soft, 4);
    EXPECT_LT(unexplained(signal, known) * mean_noise(known), unexplained(signal, alone) * mean_noise(alone) - 0.03)
        << names(bits);
    EXPECT_GT(unexplained(signal, known), 0.5) << names(bits);
    EXPECT_LT(unexplained(signal, known), 1.4) << names(bits);
    const std::vector<std::uint8_t> sent(bits.begin(), bits.end());
    EXPECT_TRUE(same(known, estimate(signal.format, 2, frame, way + ", modulation: port", true, soft, 4, sent)));
    if (bits == std::vector{2, 2}) {
      EXPECT_TRUE(same(known, estimate(signal.format, 2, frame, way, true, known_data(signal, 1e6))))
          << "room for more changes nothing";
    }
  }
}

TEST(MovingChannel, FramesMayDifferInTheirAlphabets) {
  const std::string way = ", track: frame, whiten: groups, modulation: port";
  Signal signal(moving(2, 300, 0.1));
  std::vector<cf32> frames;
  std::vector<float> soft;
  std::vector<std::uint8_t> sent;
  std::vector<Results> alone;
  for (const std::vector<int>& bits : {std::vector{4, 2}, {0, 4}, {2, 2}}) {
    signal.bits = bits;
    const auto frame = signal.frame();
    const auto known = known_points(signal);
    const std::vector<std::uint8_t> own(bits.begin(), bits.end());
    alone.push_back(estimate(signal.format, 2, frame, way, true, known, 4, own));
    frames.insert(frames.end(), frame.begin(), frame.end());
    soft.insert(soft.end(), known.begin(), known.end());
    sent.insert(sent.end(), own.begin(), own.end());
  }
  const Results all = estimate(signal.format, 2, frames, way, true, soft, 4, sent);
  for (std::size_t f = 0; f < 3; ++f) {
    const auto part = [&](const auto& values) {
      const auto third = static_cast<std::ptrdiff_t>(values.size() / 3), begin = third * static_cast<std::ptrdiff_t>(f);
      return std::vector(values.begin() + begin, values.begin() + begin + third);
    };
    EXPECT_TRUE(testing::same_bits(part(all.h), alone[f].h)) << f;
    EXPECT_TRUE(testing::same_bits(part(all.noise), alone[f].noise)) << f;
  }
}

TEST(MovingChannel, LlrsThatAreNoNumbersSayNothing) {
  Signal signal(moving(2, 100, 0.05));
  const auto frame = signal.frame();
  const std::vector<float> zero = known_data(signal, 0), bad(zero.size(), std::numeric_limits<float>::quiet_NaN());
  const char* const way = ", track: frame, whiten: groups";
  EXPECT_TRUE(
      same(estimate(signal.format, 2, frame, way, true, bad), estimate(signal.format, 2, frame, way, true, zero)));
}

TEST(MovingChannel, IsNotFollowedIfItIsHeld) {
  Signal signal(moving(2, 300, 0.02));
  EXPECT_GT(unexplained(signal, estimate(signal.format, 2, signal.frame())), 10);
}

/// What y - h s has over the noise, of four frames that move.
double excess(const OfdmFormat& f, bool knows_data) {
  Scene scene = moving(f.tx, 300, 0.02 * static_cast<double>(f.tx));
  scene.format = f;
  Signal signal(scene);
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    const auto frame = signal.frame();
    const auto soft = knows_data ? known_data(signal, 40) : std::vector<float>{};
    const Results got = estimate(f, f.tx, frame, ", track: frame, whiten: groups", true, soft);
    EXPECT_EQ(std::ssize(got.phase), f.data_symbols());
    const double found = unexplained(signal, got);
    EXPECT_GT(found, 0.5) << f.tx << " " << f.midambles << f.tail;
    EXPECT_LT(found, 1.6) << f.tx << " " << f.midambles << f.tail;
    sum += found * mean_noise(got) - 1;
  }
  return sum / 4;
}
/// Known symbols at the end of a frame, or behind it, show more of the channel.
TEST(MovingChannel, MidamblesAndTheNextTrainingShowItBetter) {
  for (const std::int64_t tx : {2, 4}) {
    const double before = excess({.tx = tx}, false);
    for (const OfdmFormat& f :
         {OfdmFormat{.tx = tx, .midambles = 1}, OfdmFormat{.tx = tx, .midambles = 4},
          OfdmFormat{.tx = tx, .tail = true}, OfdmFormat{.tx = tx, .midambles = 2, .tail = true}}) {
      const double with = excess(f, false);
      EXPECT_LT(with, 0.8 * before) << tx << " " << f.midambles << f.tail;
      EXPECT_LT(excess(f, true), with + 0.02) << tx << " " << f.midambles << f.tail;
    }
  }
}

TEST(MovingChannel, ATailThatIsNotThereDoesNothing) {
  Scene scene = moving(2, 100, 0.02);
  scene.format.tail = true;
  Signal signal(scene);
  const auto frame = signal.frame();
  const std::int64_t own = 14 * 300 * 2;
  ASSERT_EQ(std::ssize(frame), own + 3 * 300 * 2);
  auto silent = frame, noisy = frame, later = frame, bad = frame, huge = frame;
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  for (std::int64_t i = own; i < std::ssize(frame); ++i) {
    const auto at = index(i);
    silent[at] = 0, noisy[at] = {normal(engine), normal(engine)};
    const double turns = 20.0 * static_cast<double>(signal.format.frequency_of(i / 2 % 300)) / 512;
    later[at] *= cf32(std::polar(1.0, -2 * std::numbers::pi * turns));
  }
  bad[index(own + 1000)] = {std::numeric_limits<float>::quiet_NaN(), 0};
  huge[index(own + 1000)] = {3e38f, 0};
  const char* const way = ", track: frame, whiten: groups";
  const Results without = estimate(signal.format, 2, silent, way), with = estimate(signal.format, 2, frame, way);
  for (const auto* tail : {&noisy, &later, &bad, &huge})
    EXPECT_TRUE(same(estimate(signal.format, 2, *tail, way), without)) << tail - &noisy;
  EXPECT_FALSE(same(with, without));
  EXPECT_LT(mean_noise(with), mean_noise(without));
}

TEST(MovingChannel, ANeighbourThatIsBadSpoilsNoFrame) {
  Scene scene = moving(2, 100, 0.02);
  scene.format.tail = true;
  Signal signal(scene);
  auto frames = signal.frames(3);
  const auto third = std::ssize(frames) / 3;
  const Results clean = estimate(signal.format, 2, frames, ", track: frame");
  frames[index(third + 900)] = {std::numeric_limits<float>::infinity(), 0};
  const Results got = estimate(signal.format, 2, frames, ", track: frame");
  const auto y = std::ssize(got.y) / 3;
  EXPECT_TRUE(testing::same_bits(std::vector(got.y.begin(), got.y.begin() + y),
                                 std::vector(clean.y.begin(), clean.y.begin() + y)));
  EXPECT_TRUE(std::isnan(got.y[index(y)].real()));
  EXPECT_TRUE(testing::same_bits(std::vector(got.y.begin() + 2 * y, got.y.end()),
                                 std::vector(clean.y.begin() + 2 * y, clean.y.end())));
}

TEST(MovingChannel, SaysHowMuchMoves) {
  float last = 0;
  for (const double hertz : {0.0, 100.0, 300.0}) {
    Signal signal(moving(2, hertz, 0.001));
    const float moves = estimate(signal.format, 2, signal.frame(), ", track: frame").doppler[0];
    EXPECT_GT(moves, last) << hertz;
    last = moves;
  }
  EXPECT_GT(last, 0.2);
  EXPECT_LT(last, 0.8);
}

TEST(MovingChannel, TooSlowADopplerShowsAsNoise) {
  Signal signal(moving(2, 600, 0.01));
  const auto frame = signal.frame();
  const Results slow = estimate(signal.format, 2, frame, ", track: frame, doppler: 50");
  const Results right = estimate(signal.format, 2, frame, ", track: frame, whiten: groups, doppler: 700");
  EXPECT_GT(unexplained(signal, slow) * mean_noise(slow), 3 * unexplained(signal, right) * mean_noise(right));
  EXPECT_THAT(slow.y, Each(::testing::Truly([](cf32 v) { return std::isfinite(std::norm(v)); })));
}

TEST(MovingChannel, AnyKeysGiveNumbers) {
  Signal signal(moving(2, 100, 0.01));
  const auto frame = signal.frame();
  for (const char* keys :
       {"doppler: 0", "doppler: 100000", "time_functions: 1", "time_functions: 16", "step: 0.5", "step: 20", "span: 0",
        "max_taps: 1", "em: 0", "em: 16", "track_phase: false", "whiten: groups, group: 1",
        "whiten: groups, group: 300", "whiten: groups, group: 8190", "span: 100, max_taps: 256"}) {
    const Results got = estimate(signal.format, 2, frame, std::string(", track: frame, ") + keys);
    EXPECT_THAT(got.y, Each(::testing::Truly([](cf32 v) { return std::isfinite(std::norm(v)); }))) << keys;
    EXPECT_THAT(got.h, Each(::testing::Truly([](cf32 v) { return std::isfinite(std::norm(v)); }))) << keys;
    EXPECT_THAT(got.noise, Each(::testing::Gt(0.0f))) << keys;
  }
}

TEST(MovingChannel, AFrameWithoutNoiseHasALeastNoise) {
  Signal signal(moving(2, 0, 0));
  const Results got = estimate(signal.format, 2, signal.frame(), ", track: frame");
  double power = 0;
  for (std::int64_t r = 0; r < 2; ++r) power += residual(signal, got, r).power / 2;
  EXPECT_LT(unexplained(signal, got), 3);
  EXPECT_LT(mean_noise(got) / power, 3e-3);
  EXPECT_GT(mean_noise(got) / power, 1e-4);
}

TEST(MovingChannel, TheSameFramesGiveTheSameBits) {
  Signal signal(moving(2, 100, 0.01));
  const auto frame = signal.frame();
  const char* const way = ", track: frame, whiten: groups";
  EXPECT_TRUE(same(estimate(signal.format, 2, frame, way), estimate(signal.format, 2, frame, way)));
}

/// Capacity of the reported channel in the reported noise, mean over vectors: what a detector can make of it. Two
/// antennas send.
double information(const Signal& signal, const Results& got) {
  const std::int64_t groups = std::ssize(got.h) / (signal.rx * 2), noises = std::ssize(got.noise);
  double sum = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    double a = 1, b = 1;
    complex cross = 0;
    for (std::int64_t r = 0; r < signal.rx; ++r) {
      const complex first(got.h[index((g * signal.rx + r) * 2)]), second(got.h[index((g * signal.rx + r) * 2 + 1)]);
      const double noise = got.noise[index(g * noises / groups)];
      a += std::norm(first) / noise, b += std::norm(second) / noise, cross += std::conj(first) * second / noise;
    }
    sum += std::log2(a * b - std::norm(cross)) / static_cast<double>(groups);
  }
  return sum;
}

TEST(Whitening, AnInterfererCostsLittleWithAntennasToSpare) {
  Scene scene = moving(2, 0, 0.02);
  scene.rx = 4;
  Signal clean(scene);
  scene.interferer = 2;  // as strong as the signal
  Signal disturbed(scene);
  const auto clean_frame = clean.frame(), frame = disturbed.frame();
  const double best = information(clean, estimate(clean.format, 4, clean_frame));
  const double unaware = information(disturbed, estimate(disturbed.format, 4, frame));
  EXPECT_LT(unaware, 0.6 * best);
  for (const char* way : {", whiten: band", ", whiten: groups", ", track: frame, whiten: groups"}) {
    const Results got = estimate(disturbed.format, 4, frame, way);
    EXPECT_GT(information(disturbed, got), 0.65 * best) << way;
    EXPECT_GT(unexplained(disturbed, got), 0.5) << way;
    EXPECT_LT(unexplained(disturbed, got), 1.6) << way;
  }
}

TEST(Whitening, TheCovarianceIsThatOfTheAntennas) {
  Scene scene = moving(2, 0, 0.02);
  scene.rx = 3;
  scene.interferer = 1;
  scene.levels = {1, 3, 0.5};
  Signal signal(scene);
  const Results got = estimate(signal.format, 3, signal.frame(), ", whiten: groups");
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t q = 0; q < 3; ++q) {
      complex mean = 0;
      for (std::size_t g = 0; g < 25; ++g) mean += complex(got.covariance[(g * 3 + r) * 3 + q]) / 25.0;
      const double level = scene.levels[r] * scene.levels[q];
      const complex expected =
          level * (std::polar(1.0, 2.0 * static_cast<double>(r * r) - 2.0 * static_cast<double>(q * q)) +
                   (r == q ? 0.02 : 0.0));
      EXPECT_LT(std::abs(mean - expected), 0.35 * level) << r << q;
    }
}

TEST(Whitening, SaysHowStrongAnInterfererIs) {
  for (const auto& [interferer, least, most] :
       {std::tuple{0.0, 0.0, 0.6}, {0.02, 1.5, 4.5}, {0.2, 7.0, 11.0}, {2.0, 14.0, 20.0}}) {
    Scene scene = moving(2, 0, 0.02);
    scene.rx = 4;
    scene.interferer = interferer;
    scene.levels = {1, 3, 0.5, 1};
    Signal signal(scene);
    for (const char* way : {", whiten: band", ", track: frame, whiten: groups"}) {
      const double db = 10 * std::log10(estimate(signal.format, 4, signal.frame(), way).interference.at(0));
      EXPECT_GE(db, least) << interferer << way;
      EXPECT_LE(db, most) << interferer << way;
    }
  }
}

TEST(Whitening, AShortRestIsNoStretch) {
  Scene scene = moving(1, 0, 0.1);
  scene.format.carriers = 100;
  Signal signal(scene);
  auto frame = signal.frame();
  double power = 0;
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < 100; ++c) {
    if (signal.format.frequency_of(c) % 2 == 0) continue;
    if (c >= 96) frame[index(c)] = 0.8F;
    power += std::norm(complex(frame[index(c)])), ++count;
  }
  ASSERT_EQ(count, 50) << "four stretches of 12, and 2";
  EXPECT_NEAR(estimate(signal.format, 1, frame, ", whiten: band").level[0], power / 50, 1e-5);
}

/// What whitening takes from frames without interference: less than a tenth of a bit of about eight.
TEST(Whitening, CostsLittleWithoutInterference) {
  Signal signal(moving(2, 0, 0.1));
  const auto frame = signal.frame();
  const double best = information(signal, estimate(signal.format, 2, frame));
  EXPECT_NEAR(information(signal, estimate(signal.format, 2, frame, ", whiten: groups")), best, 0.3);
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
