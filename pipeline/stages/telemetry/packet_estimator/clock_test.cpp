// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_estimator/clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "pipeline/stages/telemetry/packet_estimator/packet_estimator_for_test.hpp"
#include "signal/filters/windows.hpp"

namespace iqd::packet_estimator {
namespace {

using ::testing::Each;

/// Packets with this many whole segments.
PacketFormat packets_of(std::int64_t segments, std::int64_t samples_per_bit = 2) {
  PacketFormat f;
  f.samples_per_bit = samples_per_bit;
  f.payload_bits = 96 + 256 * segments - f.pilot_bits();
  return f;
}

/// The definition in double precision, computed the most direct way.
class ClockModel {
 public:
  explicit ClockModel(const PacketFormat& format) : format_(format), s_(static_cast<double>(format.samples_per_bit)) {}

  std::vector<complex> derotated(const cf32* window, double offset) const {
    std::vector<complex> r;
    for (std::int64_t i = 0; i < format_.window(); ++i)
      r.push_back(complex(window[i]) * std::polar(1.0, -offset * static_cast<double>(i - kGuard)));
    return r;
  }

  std::vector<complex> products(const std::vector<complex>& r) const {
    const std::int64_t s = format_.samples_per_bit;
    std::vector<complex> w;
    for (std::int64_t first = 96 * s; first + 256 * s <= format_.samples() && w.size() < 24; first += 256 * s) {
      complex above = 0, below = 0;
      for (std::int64_t n = first; n < first + 256 * s; ++n) {
        complex z = 0;
        for (std::int64_t m = -5 * s; m <= 5 * s; ++m)
          z += band_pass(static_cast<double>(m)) * r[static_cast<std::size_t>(kGuard + n - m)];
        const complex turn = std::polar(1.0, -kPi * static_cast<double>(n - 96 * s) / s_);
        above += z * z * turn;
        below += z * z * std::conj(turn);
      }
      w.push_back(above * std::conj(below));
    }
    return w;
  }

  /// Of all packets with these W together.
  ClockError error(const std::vector<std::vector<complex>>& packets) const {
    std::vector<double> level;
    for (int i = -750; i <= 750; ++i) {
      double power = 0;
      for (const auto& w : packets) {
        complex sum = 0;
        for (std::size_t j = 0; j < w.size(); ++j)
          sum += w[j] * std::polar(1.0, -2 * kPi * 0.2e-6 * i * 256 * static_cast<double>(j));
        power += std::norm(sum);
      }
      level.push_back(std::sqrt(power));
    }
    double most = 0;
    for (const auto& w : packets) {
      double sum = 0;
      for (const complex v : w) sum += std::abs(v);
      most += sum * sum;
    }
    const auto top = std::max_element(level.begin(), level.end());
    const auto place = static_cast<double>(top - level.begin()) - 750;
    const bool inside = top != level.begin() && top + 1 != level.end();
    const double moved = inside ? 0.5 * (top[-1] - top[1]) / (top[-1] - 2 * *top + top[1]) : 0;
    return {0.2e-6 * (place + moved), *top / std::sqrt(most)};
  }

  std::vector<complex> warped(const std::vector<complex>& r, double error) const {
    const double middle = (25 + static_cast<double>(format_.pilot_bits()) * s_ - 13) / 2;
    std::vector<complex> x;
    for (std::int64_t i = -kGuard; i < format_.samples() + kGuard; ++i) {
      const double place = static_cast<double>(i) - error * (static_cast<double>(i) - middle);
      const double whole = std::floor(place), phase = std::floor((place - whole) * 128);
      const double part = (place - whole) * 128 - phase;
      const auto here = phase_taps(phase / 128), next = phase_taps((phase + 1) / 128);
      complex sum = 0;
      for (std::size_t q = 0; q < 8; ++q) {
        const auto at = static_cast<std::int64_t>(whole) + kGuard + static_cast<std::int64_t>(q) - 3;
        if (at >= 0 && at < std::ssize(r))
          sum += ((1 - part) * here[q] + part * next[q]) * r[static_cast<std::size_t>(at)];
      }
      x.push_back(sum);
    }
    return x;
  }

 private:
  static constexpr double kPi = std::numbers::pi;

  double band_pass(double m) const {
    return 0.4 / s_ * std::sqrt(kPi) * std::cos(kPi * m / (2 * s_)) * std::exp(-std::pow(kPi * m / (5 * s_), 2));
  }
  static std::array<double, 8> phase_taps(double phase) {
    std::array<double, 8> h{};
    double sum = 0;
    for (std::size_t q = 0; q < 8; ++q) {
      const double t = static_cast<double>(q) - 3 - phase;
      h[q] = (std::fabs(t) < 1e-12 ? 1 : std::sin(kPi * t) / (kPi * t)) *
             bessel_i0(6 * std::sqrt(std::fmax(0, 1 - t * t / 16)));
      sum += h[q];
    }
    for (double& v : h) v /= sum;
    return h;
  }

  PacketFormat format_;
  double s_;
};

/// Estimates and windows against the definition; `over` names the packets whose error is common.
void compare_clock(const PacketFormat& format, const std::vector<cf32>& windows, const Results& got, bool block) {
  const ClockModel model(format);
  Model pilot(format);
  const auto packets = static_cast<std::size_t>(std::ssize(windows) / format.window());
  std::vector<std::vector<complex>> r, w;
  for (std::size_t p = 0; p < packets; ++p) {
    const cf32* const window = windows.data() + static_cast<std::int64_t>(p) * format.window();
    r.push_back(model.derotated(window, pilot.offset(pilot.correlation(window))));
    w.push_back(model.products(r.back()));
  }
  for (std::size_t p = 0; p < packets; ++p) {
    const ClockError expected = model.error(block ? w : decltype(w){w[p]});
    EXPECT_NEAR(got.clock[p], 1e6 * expected.error, 1e-3);
    EXPECT_NEAR(got.clock_quality[p], expected.quality, 1e-6);
    const auto x = model.warped(r[p], expected.error);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      size += std::norm(x[i]);
      error += std::norm(x[i] - complex(got.windows[p * x.size() + i]));
    }
    EXPECT_LT(std::sqrt(error / size), 1e-6);
    pilot.compare_channel(x, got, p);
  }
}

TEST(PacketClock, IsTheDefinitionInSinglePrecision) {
  for (const double ppm : {0.0, 37.0, -100.0}) {
    const PacketFormat format = packets_of(6);
    Signal signal(format);
    signal.taps = {1, 0, {0.3, -0.2}};
    signal.noise = 0.1;
    signal.clock = ppm * 1e-6;
    const auto windows = signal.windows({0.02, -0.03});
    const Results got = Estimator("average: packet, clock: packet", format).run(windows);
    compare_clock(format, windows, got, false);
  }
}

TEST(PacketClock, FindsTheErrorThatThereIs) {
  const PacketFormat inet;
  Signal signal(inet);
  signal.noise = 0.2;
  for (const double ppm : {-100.0, 50.0}) {
    signal.clock = ppm * 1e-6;
    const Results got = Estimator("average: packet, clock: packet", inet).run(signal.windows({0.01, -0.02}));
    for (const float found : got.clock) EXPECT_NEAR(found, ppm, 4 * 1.9) << "four standard deviations at 10 dB";
    EXPECT_THAT(got.clock_quality, Each(::testing::Gt(0.95F)));
  }
}

TEST(PacketClock, OtherSamplesPerBit) {
  for (const std::int64_t samples : {4, 8}) {
    const PacketFormat format = packets_of(8, samples);
    Signal signal(format);
    signal.noise = 0.1;
    signal.clock = 120e-6;
    const auto windows = signal.windows({0.003});
    const Results got = Estimator("average: packet, clock: packet", format).run(windows);
    compare_clock(format, windows, got, false);
    EXPECT_NEAR(got.clock[0], 120, 4 * 10) << "eight segments have a fifth of the precision of 24";
  }
}

TEST(PacketClock, ABlockHasOneError) {
  const PacketFormat format = packets_of(4);
  Signal signal(format);
  signal.noise = 0.2;
  signal.clock = 60e-6;
  const auto windows = signal.windows({0.02, 0.021, -0.01});
  const Results got = Estimator("average: packet, clock: block", format).run(windows);
  compare_clock(format, windows, got, true);
  EXPECT_EQ(got.clock[0], got.clock[2]);
}

TEST(PacketClock, EachByItselfItDoesNotMatterHowPacketsAreCut) {
  const PacketFormat format = packets_of(4);
  Signal signal(format);
  signal.noise = 0.2;
  signal.clock = 60e-6;
  const auto windows = signal.windows({0.02, 0.021, -0.01});
  Estimator estimator("average: packet, clock: packet", format);
  const std::ptrdiff_t cut = format.window();
  Results cut_up = estimator.run({windows.begin(), windows.begin() + cut});
  cut_up.append(estimator.run({windows.begin() + cut, windows.end()}));
  const Results whole = estimator.run(windows);
  EXPECT_TRUE(same(cut_up, whole));
  const Results least = estimator.run(windows, false, false);
  EXPECT_EQ(least.clock, whole.clock);
  EXPECT_EQ(least.noise, whole.noise) << "the pilot is corrected without the windows, too";
}

/// What `clock: off` makes, and an error of 0.
void expect_untouched(const PacketFormat& format, const std::vector<cf32>& windows, const std::string& over) {
  Results got = Estimator("average: packet, clock: " + over, format).run(windows);
  EXPECT_THAT(got.clock, Each(0.0F));
  EXPECT_THAT(got.clock_quality, Each(::testing::Lt(0.7F)));
  got.clock = got.clock_quality = {};
  EXPECT_TRUE(same(got, Estimator("average: packet", format).run(windows)));
}

TEST(PacketClock, WhereNothingShowsTheErrorWindowsStayAsTheyAre) {
  const PacketFormat format = packets_of(12);
  for (const char* const over : {"packet", "block"}) {
    expect_untouched(format, std::vector<cf32>(static_cast<std::size_t>(format.window())), over);
    expect_untouched(format, testing::complex_noise(format.window()), over);
    Signal signal(packets_of(3));
    signal.clock = 100e-6;
    expect_untouched(packets_of(3), signal.windows({0.01}), over);
    EXPECT_TRUE(Estimator(fmt::format("clock: {}", over)).run({}).clock.empty());
  }
}

TEST(PacketClock, NanStaysInItsPacket) {
  const PacketFormat format = packets_of(4);
  Signal signal(format);
  signal.noise = 0.1;
  signal.clock = 60e-6;
  const auto good = signal.windows({0.02, 0.021});
  const std::ptrdiff_t window = format.window();
  for (const char* const over : {"packet", "block"}) {
    std::vector<cf32> windows = good;  // the first, a spoiled one, the second
    windows.insert(windows.begin() + window, good.begin(), good.begin() + window);
    windows[static_cast<std::size_t>(window + 700)] = {0, std::numeric_limits<float>::infinity()};
    Estimator estimator(fmt::format("average: packet, clock: {}", over), format);
    const Results got = estimator.run(windows), alone = estimator.run(good);
    EXPECT_TRUE(std::isnan(got.clock[1]) && std::isnan(got.clock_quality[1]));
    EXPECT_TRUE(std::isnan(got.windows[static_cast<std::size_t>(window) + 5].real()));
    EXPECT_EQ((std::vector<float>{got.clock[0], got.clock[2]}), alone.clock);
    EXPECT_EQ((std::vector<float>{got.noise[0], got.noise[2]}), alone.noise);
  }
}

TEST(PacketClock, LevelDoesNotMatter) {
  const PacketFormat format = packets_of(4);
  Signal signal(format);
  signal.noise = 0.1;
  signal.clock = 60e-6;
  const auto windows = signal.windows({0.02});
  Estimator estimator("average: packet, clock: packet", format);
  const Results plain = estimator.run(windows);
  for (const float level : {0x1p-40f, 0x1p57f}) {
    auto scaled = windows;
    for (cf32& v : scaled) v *= level;
    const Results got = estimator.run(scaled);
    EXPECT_EQ(got.clock, plain.clock) << level;
    EXPECT_EQ(got.clock_quality, plain.clock_quality) << level;
  }
}

TEST(PacketClock, ALargerErrorIsCorrectedInPart) {
  const PacketFormat format = packets_of(12);
  Signal signal(format);
  for (const double ppm : {-250.0, 250.0}) {
    signal.clock = ppm * 1e-6;
    EXPECT_THAT(Estimator("average: packet, clock: packet", format).run(signal.windows({0.01})).clock,
                Each(::testing::FloatEq(ppm > 0 ? 150 : -150)));
  }
}

TEST(PacketClock, SaysWhatItMakes) {
  for (const char* const over : {"packet", "block"}) {
    const testing::StageUnderTest stage(entry(), fmt::format("{{average: packet, clock: {}}}", over),
                                        {windows_of({}, 16)}, 16);
    for (const std::size_t o : {5u, 6u}) EXPECT_EQ(stage.out(o).text(), "f32 [packet up to 16]");
    EXPECT_EQ(stage.chunk_exempt(), std::string(over) == "block");
  }
}

}  // namespace
}  // namespace iqd::packet_estimator
