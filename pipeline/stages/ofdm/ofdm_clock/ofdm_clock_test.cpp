// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/ofdm_clock/ofdm_clock.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "pipeline/stages/ofdm/frames_for_test.hpp"
#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ofdm_clock {
namespace {

using ofdm::complex;
using ofdm::index;
using ofdm::Scene;
using ofdm::Signal;
using ::testing::HasSubstr;
using testing::same_bits;

constexpr OfdmFormat kFive;
constexpr OfdmFormat kTwenty{.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720, .tx = 4};

/// What a transform of `fft` samples gives at carrier c of a carrier of frequency f, whose clock is fast by `error`.
complex leak(const OfdmFormat& format, double error, std::int64_t f, std::int64_t to) {
  const auto n = static_cast<double>(format.fft);
  const double off = static_cast<double>(f) * error, apart = static_cast<double>(f - to) + off;
  const double size =
      apart == 0 ? 1 : std::sin(std::numbers::pi * apart) / (n * std::sin(std::numbers::pi * apart / n));
  return std::polar(size, std::numbers::pi * (n - 1) / n * (apart - off));
}

/// The frames as a receiver's carriers show them.
std::vector<cf32> stretched(const std::vector<cf32>& frames, const OfdmFormat& f, std::int64_t rx, double error) {
  std::vector<complex> leaks;
  for (std::int64_t to = 0; to < f.carriers; ++to)
    for (std::int64_t c = 0; c < f.carriers; ++c)
      leaks.push_back(leak(f, error, f.frequency_of(c), f.frequency_of(to)));
  std::vector<cf32> all;
  for (std::size_t begin = 0, s = 0; begin < frames.size(); begin += index(f.carriers * rx), ++s) {
    const std::int64_t symbol = static_cast<std::int64_t>(s) % (f.symbols() + f.tail_symbols());
    const double place = symbol < f.symbols() ? static_cast<double>(symbol) : f.tail_position(symbol - f.symbols());
    const double time =
        (place - 0.5 * static_cast<double>(f.tx + 1)) * static_cast<double>(f.symbol()) / static_cast<double>(f.fft);
    for (std::int64_t to = 0; to < f.carriers; ++to)
      for (std::int64_t r = 0; r < rx; ++r) {
        complex sum = 0;
        for (std::int64_t c = 0; c < f.carriers; ++c)
          sum += leaks[index(to * f.carriers + c)] * complex(frames[begin + index(c * rx + r)]) *
                 std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(f.frequency_of(c)) * error * time);
        all.emplace_back(sum);
      }
  }
  return all;
}

struct Results {
  std::vector<cf32> carriers;
  std::vector<float> clock;
};
Results run(const OfdmFormat& f, std::int64_t rx, const std::vector<cf32>& carriers, const std::string& more = "",
            std::int64_t at_once = 0) {
  StageInput in;
  in.shape.element = Element::cf32;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = "frame";
  const std::int64_t symbols = f.symbols() + f.tail_symbols();
  in.shape.item = {{"symbol", symbols}, {"carrier", f.carriers}, {"rx", rx}};
  in.length = std::ssize(carriers) / (symbols * f.carriers * rx);
  in.data.resize(carriers.size() * sizeof(cf32));
  std::memcpy(in.data.data(), carriers.data(), in.data.size());
  std::vector<StageInput> inputs;
  inputs.push_back(std::move(in));
  testing::StageOutputs outputs;
  const StageEntry stage = entry();
  StageRunner runner(
      stage,
      fmt::format("{{fft: {}, carriers: {}, prefix: {}, frame: {}, tx: {}, pilot_every: {}, midambles: {}, "
                  "tail: {}{}}}",
                  f.fft, f.carriers, f.prefix, f.frame, f.tx, f.pilot_every, f.midambles, f.tail, more),
      std::move(inputs), at_once, "cpu", outputs.problems);
  EXPECT_EQ(outputs.complaints(), "");
  for (StageOutput& out : runner.run()) outputs.ports[out.name] = std::move(out);
  return {outputs.of<cf32>("carriers"), outputs.of<float>("clock")};
}

/// Energy of the difference, in decibels relative to the energy.
double difference_db(const std::vector<cf32>& a, const std::vector<cf32>& b) {
  double left = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    left += std::norm(complex(a[i]) - complex(b[i])), all += std::norm(complex(b[i]));
  return 10 * std::log10(left / all);
}

TEST(OfdmClock, TakesOutWhatTheClockDoes) {
  struct Case {
    OfdmFormat format;
    double ppm, before_db, after_db;
  };
  for (const Case& k :
       {Case{kFive, 50, -15, -55}, Case{kFive, -20, -23, -58}, Case{kTwenty, 50, -5, -47}, Case{kTwenty, -95, -1, -38},
        Case{{.midambles = 3}, 50, -15, -55}, Case{{.tail = true}, 50, -15, -53},
        Case{{.tx = 4, .midambles = 1, .tail = true}, 50, -15, -53}}) {
    Signal signal(Scene{.format = k.format, .delays = {0, 1.5, 4}});
    const auto sent = signal.frame();
    const auto heard = stretched(sent, k.format, 2, k.ppm * 1e-6);
    EXPECT_GT(difference_db(heard, sent), k.before_db);
    const Results got = run(k.format, 2, heard);
    EXPECT_NEAR(static_cast<double>(got.clock.at(0)), k.ppm, 0.5) << "neighbouring carriers disturb it";
    EXPECT_LT(difference_db(got.carriers, sent), k.after_db) << k.ppm;
  }
}

TEST(OfdmClock, AClockThatIsRightChangesLittle) {
  Signal signal(Scene{.format = kFive, .delays = {0, 3}, .noise = 0.02});
  const auto sent = signal.frames(20);
  const Results got = run(kFive, 2, sent);
  double worst = 0;
  for (const float ppm : got.clock) worst = std::max(worst, std::fabs(static_cast<double>(ppm)));
  EXPECT_LT(worst, 8);
  EXPECT_LT(difference_db(got.carriers, sent), -34);
}

TEST(OfdmClock, SeveralFramesShowItBetter) {
  Signal signal(Scene{.format = kFive, .delays = {0, 3}, .noise = 0.05});
  const auto heard = stretched(signal.frames(30), kFive, 2, 20e-6);
  const auto error = [](const Results& r) {
    double sum = 0;
    for (std::size_t f = 15; f < r.clock.size(); ++f) sum += std::pow(static_cast<double>(r.clock[f]) - 20, 2);
    return std::sqrt(sum / static_cast<double>(r.clock.size() - 15));
  };
  const double alone = error(run(kFive, 2, heard)), averaged = error(run(kFive, 2, heard, ", memory: 100"));
  EXPECT_LT(averaged, alone / 2);
  EXPECT_LT(averaged, 1.5);
}

TEST(OfdmClock, HowFramesAreCutDoesNotMatter) {
  Signal signal(Scene{.format = kFive, .noise = 0.05});
  const auto heard = stretched(signal.frames(7), kFive, 2, 20e-6);
  for (const char* more : {"", ", memory: 5"}) {
    const Results whole = run(kFive, 2, heard, more);
    for (const std::int64_t at_once : {1, 2, 3}) {
      const Results cut = run(kFive, 2, heard, more, at_once);
      EXPECT_TRUE(same_bits(cut.carriers, whole.carriers) && same_bits(cut.clock, whole.clock)) << more << at_once;
    }
  }
}

TEST(OfdmClock, AFrameThatIsNotFinitePassesAndDisturbsNoOther) {
  Signal signal(Scene{.format = kFive, .noise = 0.01});
  auto heard = stretched(signal.frames(3), kFive, 2, 20e-6);
  const Results clean = run(kFive, 2, heard, ", memory: 5");
  const std::size_t frame = heard.size() / 3;
  std::fill_n(heard.begin() + static_cast<std::int64_t>(frame), frame,
              cf32(std::numeric_limits<float>::quiet_NaN(), 0));
  const Results got = run(kFive, 2, heard, ", memory: 5");
  EXPECT_EQ(got.clock[0], clean.clock[0]);
  EXPECT_NEAR(static_cast<double>(got.clock[0]), 20, 5);
  EXPECT_NEAR(static_cast<double>(got.clock[1]), 20, 5) << "that of the frame before";
  EXPECT_NEAR(static_cast<double>(got.clock[2]), 20, 5);
}

TEST(OfdmClock, WhatShowsNoClockStaysAsItIs) {
  const std::vector<cf32> silence(index(kFive.symbols() * kFive.carriers * 2));
  const Results got = run(kFive, 2, silence);
  EXPECT_THAT(got.carriers, ::testing::Each(cf32(0)));
  EXPECT_EQ(got.clock, std::vector<float>{0});
  Signal signal(Scene{.format = kFive});
  const auto heard = stretched(signal.frame(), kFive, 2, 50e-6);
  EXPECT_TRUE(same_bits(run(kFive, 2, heard, ", limit: 40").carriers, heard)) << "beyond the limit";
  const OfdmFormat one{.pilot_every = 300};
  Signal few(Scene{.format = one});
  const auto sent = few.frame();
  EXPECT_TRUE(same_bits(run(one, 2, sent).carriers, sent)) << "one pilot";
}

TEST(OfdmClock, AnAntennaWithNoiseAloneCountsLittle) {
  Signal signal(Scene{.format = kFive, .rx = 3, .delays = {0, 3}, .noise = 0.01});
  auto heard = stretched(signal.frames(12), kFive, 3, 20e-6);
  const auto noise = testing::complex_noise(std::ssize(heard));
  for (std::size_t i = 1; i < heard.size(); i += 3) heard[i] = 30.0F * noise[i];
  double sum = 0;
  for (const float ppm : run(kFive, 3, heard).clock) sum += std::pow(static_cast<double>(ppm) - 20, 2);
  EXPECT_LT(std::sqrt(sum / 12), 4);
}

}  // namespace
}  // namespace iqd::ofdm_clock
