// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/noma_slots/noma_slots.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <limits>
#include <string>

#include "tests/support/stage_under_test.hpp"

namespace iqd::noma_slots {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using complex = std::complex<double>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Some pilot and data slots are unused; five symbols after the first two.
constexpr NomaFormat kSmall{
    .air = {.fft = 128, .carriers = 48, .prefix = 24, .frame = 7 * 152 + 10, .tx = 1, .pilot_every = 2},
    .users = 3,
    .training = 2,
    .pilots = 90,
    .data = 130};

std::string keys_of(const NomaFormat& f, const std::string& more = "") {
  return fmt::format(
      "{{fft: {}, carriers: {}, prefix: {}, frame: {}, users: {}, training: {}, pilots: {}, data: {}{}}}", f.air.fft,
      f.air.carriers, f.air.prefix, f.air.frame, f.users, f.training, f.pilots, f.data, more);
}

PortShape carriers_of(const NomaFormat& f, std::int64_t rx, std::int64_t most = 4) {
  PortShape s;
  s.axis = Axis::counted;
  s.axis_name = "frame";
  s.item = {{"symbol", f.air.symbols()}, {"carrier", f.air.carriers}, {"rx", rx}};
  s.most = most;
  return s;
}

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}
std::size_t place_of(const NomaFormat& f, std::int64_t rx, std::int64_t frame, std::int64_t s, std::int64_t c,
                     std::int64_t r) {
  return index(((frame * f.air.symbols() + s) * f.air.carriers + c) * rx + r);
}
/// exp(2 pi j f(c) samples / fft)
complex turn_of(const NomaFormat& f, std::int64_t c, double samples) {
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(f.air.frequency_of(c)) * samples /
                             static_cast<double>(f.air.fft));
}

struct Results {
  std::vector<cf32> train_rx, train_tx, rx;
  std::vector<float> delay, drift;
};
bool same(const Results& a, const Results& b) {
  return same_bits(a.train_rx, b.train_rx) && same_bits(a.train_tx, b.train_tx) && same_bits(a.rx, b.rx) &&
         same_bits(a.delay, b.delay) && same_bits(a.drift, b.drift);
}

constexpr Config kNothing{.format = {}, .timing = false, .drift = false};

Results slots_of(const NomaFormat& f, std::int64_t rx, const std::vector<cf32>& carriers, Config config = {},
                 bool wants_pilots = true) {
  config.format = f;
  const std::int64_t frames = std::ssize(carriers) / (f.air.symbols() * f.air.carriers * rx);
  const Layout layout = layout_of(config, rx);
  Results y{std::vector<cf32>(index(frames * f.pilots * rx)),
            std::vector<cf32>(index(wants_pilots ? frames * f.pilots * f.users : 0)),
            std::vector<cf32>(index(frames * f.data * rx)), std::vector<float>(index(frames)),
            std::vector<float>(index(frames))};
  const auto as_complex = [](std::vector<cf32>& v) { return reinterpret_cast<Complex*>(v.data()); };
  std::vector<cf32> given = carriers;                                      // memory of its own, for AddressSanitizer
  std::vector<std::byte> scratch(scratch_bytes(layout), std::byte{0xff});  // NaN
  run_cpu(layout, Known(f), as_complex(given), frames,
          {.train_rx = as_complex(y.train_rx),
           .train_tx = wants_pilots ? as_complex(y.train_tx) : nullptr,
           .rx = as_complex(y.rx),
           .delay = y.delay.data(),
           .drift = y.drift.data()},
          scratch.data());
  return y;
}

TEST(NomaSlots, SlotsAreTakenInOrderAndTheWindowsRampIsGone) {
  constexpr std::int64_t kRx = 3, kFrames = 2;
  const NomaFormat& f = kSmall;
  const auto x = complex_noise(kFrames * f.air.symbols() * f.air.carriers * kRx);
  const Results y = slots_of(f, kRx, x, kNothing);
  EXPECT_EQ(y.delay, (std::vector<float>{0, 0}));
  EXPECT_EQ(y.drift, (std::vector<float>{0, 0}));
  complex phase[kFrames];  // rotation of a whole frame
  for (std::int64_t frame = 0; frame < kFrames; ++frame)
    phase[frame] = complex(y.train_rx[index(frame * f.pilots * kRx)]) /
                   (complex(x[place_of(f, kRx, frame, 2, 0, 0)]) * turn_of(f, 0, 3));
  const auto expect = [&](const std::vector<cf32>& got, std::int64_t frame, std::int64_t t, std::int64_t count,
                          NomaFormat::Slot slot) {
    EXPECT_NEAR(std::abs(phase[frame]), 1, 1e-5);
    for (std::int64_t r = 0; r < kRx; ++r) {
      const complex expected = complex(x[place_of(f, kRx, frame, slot.symbol, slot.carrier, r)]) *
                               turn_of(f, slot.carrier, 3) * phase[frame];  // 24 / 8
      EXPECT_LT(std::abs(complex(got[index((frame * count + t) * kRx + r)]) - expected), 1e-5) << frame << " " << t;
    }
  };
  for (std::int64_t frame = 0; frame < kFrames; ++frame) {
    for (std::int64_t t = 0; t < f.pilots; ++t) expect(y.train_rx, frame, t, f.pilots, {2 + t / 48, t % 48});
    for (std::int64_t d = 0; d < f.data; ++d) expect(y.rx, frame, d, f.data, {4 + d / 48, d % 48});
    for (std::int64_t t = 0; t < f.pilots; ++t)
      for (std::int64_t u = 0; u < f.users; ++u)
        EXPECT_EQ(y.train_tx[index((frame * f.pilots + t) * f.users + u)], f.pilot_points(u)[index(t)]);
  }
}

/// Carriers of one frame of all users through flat channels, `delay` samples late, drifting by `drift` radians per
/// symbol; they include the window's ramp.
std::vector<cf32> heard(const NomaFormat& f, std::int64_t rx, double delay, double drift, unsigned seed = 1) {
  const auto gains = complex_noise(rx * f.users, seed), data = complex_noise(f.data_slots() * f.users, seed + 1);
  const OfdmReference reference(f.air);
  std::vector<std::vector<cf32>> pilots;
  for (std::int64_t u = 0; u < f.users; ++u) pilots.push_back(f.pilot_points(u));
  const auto sent = [&](std::int64_t s, std::int64_t c, std::int64_t u) -> complex {
    if (s < 2) return s == 0 ? 0 : reference.training()[index(c)];
    const std::int64_t t = (s - 2) * f.air.carriers + c;
    return t < f.pilot_slots() ? pilots[index(u)][index(t)] : data[index((t - f.pilot_slots()) * f.users + u)];
  };
  std::vector<cf32> x;
  for (std::int64_t s = 0; s < f.air.symbols(); ++s)
    for (std::int64_t c = 0; c < f.air.carriers; ++c) {
      const complex turn = turn_of(f, c, -delay - static_cast<double>(f.air.early())) *
                           std::polar(1.0, drift * static_cast<double>(s - 2));
      for (std::int64_t r = 0; r < rx; ++r) {
        complex sum = 0;
        for (std::int64_t u = 0; u < f.users; ++u) sum += complex(gains[index(r * f.users + u)]) * sent(s, c, u);
        x.emplace_back(sum * turn);
      }
    }
  return x;
}

void expect_taken_away(const NomaFormat& f, std::int64_t rx, double delay, double drift) {
  const Results y = slots_of(f, rx, heard(f, rx, delay, drift)), right = slots_of(f, rx, heard(f, rx, 0, 0), kNothing);
  EXPECT_NEAR(y.delay[0], delay, 1e-4) << rx;
  EXPECT_NEAR(y.drift[0], drift, 3e-5) << rx << " " << delay;
  for (std::size_t i = 0; i < y.rx.size(); ++i) ASSERT_LT(std::abs(y.rx[i] - right.rx[i]), 1e-3) << delay;
  for (std::size_t i = 0; i < y.train_rx.size(); ++i)
    ASSERT_LT(std::abs(y.train_rx[i] - right.train_rx[i]), 1e-3) << delay;
}

TEST(NomaSlots, DelayAndDriftAreMeasuredAndTakenAway) {
  for (const std::int64_t rx : {1, 3, 64})
    for (const double drift : {0.0, 0.03, -0.4}) expect_taken_away(kSmall, rx, 0, drift);
  for (const std::int64_t rx : {1, 3, 64})
    for (const double delay : {0.5, -0.37, 2.25, -2.5}) expect_taken_away(kSmall, rx, delay, 0.01);
  expect_taken_away({}, 16, 0.4, 0.004);
}

TEST(NomaSlots, FramesHaveOnePhase) {
  const auto x = heard(kSmall, 3, 0.2, 0);
  const Results still = slots_of(kSmall, 3, x);
  for (const double phase : {0.7, 2.5, -3.1}) {
    std::vector<cf32> turned = heard(kSmall, 3, 0.2, 0.05 * phase);
    for (cf32& v : turned) v = cf32(complex(v) * std::polar(1.0, phase));
    const Results y = slots_of(kSmall, 3, turned);
    for (std::size_t i = 0; i < y.rx.size(); ++i) ASSERT_LT(std::abs(y.rx[i] - still.rx[i]), 1e-3) << phase;
    for (std::size_t i = 0; i < y.train_rx.size(); ++i)
      ASSERT_LT(std::abs(y.train_rx[i] - still.train_rx[i]), 1e-3) << phase;
  }
}

TEST(NomaSlots, ADelayOfManySamples) {
  const NomaFormat f;
  EXPECT_NEAR(slots_of(f, 2, heard(f, 2, -13.7, 0)).delay[0], -13.7, 1e-4);  // 14.03 is the limit
}

TEST(NomaSlots, AntennasThatAreDeadOrNoisyHaveNoPartInDelayAndDrift) {
  constexpr std::int64_t kRx = 4;
  const auto x = heard(kSmall, kRx, 0, 0.02);
  const auto noise = complex_noise(std::ssize(x), 7);
  const auto expect_right = [&](double delay_limit, double drift_limit, auto change) {
    std::vector<cf32> changed = x;
    for (std::size_t i = 2; i < x.size(); i += kRx) changed[i] = change(i);
    const Results y = slots_of(kSmall, kRx, changed);
    EXPECT_NEAR(y.delay[0], 0, delay_limit);
    EXPECT_NEAR(y.drift[0], 0.02, drift_limit);
  };
  expect_right(1e-5, 1e-5, [](std::size_t) { return cf32(0); });
  expect_right(1e-5, 1e-5, [](std::size_t) { return cf32(kNan, 0); });
  expect_right(1e-5, 1e-5, [](std::size_t) { return cf32(3e38f, -3e38f); });
  expect_right(1e-5, 1e-5, [&](std::size_t i) { return 1e-12f * x[i]; });
  expect_right(0.05, 0.05, [&](std::size_t i) { return 1000.0f * noise[i]; });
  const Results nothing = slots_of(kSmall, kRx, std::vector<cf32>(x.size()));
  EXPECT_EQ(nothing.delay[0], 0);
  EXPECT_EQ(nothing.drift[0], 0);
}

TEST(NomaSlots, WithOneSymbolOfPilotsThereIsNoDrift) {
  NomaFormat f = kSmall;
  f.training = 1, f.pilots = 48;
  const auto x = heard(f, 2, 0, 0.02);
  EXPECT_EQ(slots_of(f, 2, x).drift[0], 0);
}

TEST(NomaSlots, MoreUsersThanCarriersAreHeard) {
  NomaFormat f = kSmall;
  f.users = 32;
  f.air.carriers = 16, f.pilots = 32, f.data = 48;
  EXPECT_NEAR(slots_of(f, 64, heard(f, 64, 0, 0.02)).drift[0], 0.02, 0.05);
}

TEST(NomaSlots, ANanStaysWhereItIsAndFramesAreComputedEachByItself) {
  constexpr std::int64_t kRx = 2;
  const auto first = heard(kSmall, kRx, 0.5, 0, 3), second = heard(kSmall, kRx, -1, 0.01, 5);
  std::vector<cf32> both = first;
  both.insert(both.end(), second.begin(), second.end());
  both[place_of(kSmall, kRx, 1, 5, 7, 1)] = {kNan, 1};  // data 48 + 7 of antenna 1
  const Results y = slots_of(kSmall, kRx, both), alone = slots_of(kSmall, kRx, second);
  for (std::int64_t d = 0; d < kSmall.data; ++d)
    for (std::int64_t r = 0; r < kRx; ++r) {
      const cf32 got = y.rx[index((kSmall.data + d) * kRx + r)];
      if (d == 55 && r == 1)
        EXPECT_TRUE(std::isnan(got.real()));
      else
        EXPECT_EQ(got, alone.rx[index(d * kRx + r)]);
    }
  EXPECT_EQ(y.delay[1], alone.delay[0]);
  EXPECT_EQ(y.drift[1], alone.drift[0]);
  EXPECT_NEAR(y.delay[0], 0.5, 1e-5);
  EXPECT_TRUE(same_bits(slots_of(kSmall, kRx, both, {}, false).rx, y.rx));
}

/// Carriers of one frame, [rx][sample], by definition.
std::vector<cf32> transformed(const NomaFormat& f, std::int64_t rx, const std::vector<cf32>& samples) {
  std::vector<cf32> carriers;
  for (std::int64_t s = 0; s < f.air.symbols(); ++s)
    for (std::int64_t c = 0; c < f.air.carriers; ++c)
      for (std::int64_t r = 0; r < rx; ++r) {
        complex sum = 0;
        for (std::int64_t n = 0; n < f.air.fft; ++n)
          sum += complex(samples[index(r * f.air.frame + f.air.begin_of(s) - f.air.early() + n)]) *
                 turn_of(f, c, -static_cast<double>(n));
        carriers.emplace_back(sum * std::sqrt(static_cast<double>(f.air.carriers)) / static_cast<double>(f.air.fft));
      }
  return carriers;
}

/// Frames as sent, from one user with a gain per antenna, cut out `late` samples too early or too late.
TEST(NomaSlots, WhatAUserSentComesOut) {
  const NomaFormat& f = kSmall;
  constexpr std::int64_t kRx = 2, kUser = 1;
  const NomaFrameMaker maker(f, SymbolMap::qpsk);
  std::vector<std::byte> scratch(maker.scratch_bytes());
  std::vector<std::uint8_t> bits(index(f.user_bits(SymbolMap::qpsk)));
  for (std::size_t b = 0; b < bits.size(); ++b) bits[b] = b * b % 7 < 3;
  std::vector<cf32> sent(index(f.air.frame));
  maker.make(kUser, 1, bits, sent.data(), scratch.data());
  const cf32 gains[kRx] = {{0.8f, 0.3f}, {-0.1f, 0.6f}};
  for (const std::int64_t late : {0, 2, -2}) {
    std::vector<cf32> received(index(kRx * f.air.frame));
    for (std::int64_t r = 0; r < kRx; ++r)
      for (std::int64_t n = 0; n < f.air.frame; ++n)
        if (n - late >= 0 && n - late < f.air.frame)
          received[index(r * f.air.frame + n)] = gains[r] * sent[index(n - late)];
    const std::vector<cf32> carriers = transformed(f, kRx, received);
    const Results y = slots_of(f, kRx, carriers, {.format = {}, .drift = false});
    EXPECT_NEAR(y.delay[0], static_cast<double>(late), 1e-3);
    const cf32 phase = std::polar(1.0f, std::arg(y.train_rx[0] / (gains[0] * y.train_tx[kUser])));
    for (std::int64_t t = 0; t < f.pilots; ++t)
      for (std::int64_t r = 0; r < kRx; ++r) {
        const cf32 expected = phase * gains[r] * y.train_tx[index(t * f.users + kUser)];
        EXPECT_LT(std::abs(y.train_rx[index(t * kRx + r)] - expected), 1e-3) << late << " " << t;
      }
    for (std::int64_t d = 0; d < f.data; ++d) {
      const cf32 s = y.rx[index(d * kRx)] / (phase * gains[0]);
      EXPECT_EQ(s.real() < 0, bits[index(2 * d)]) << late << " " << d;
      EXPECT_EQ(s.imag() < 0, bits[index(2 * d + 1)]) << late << " " << d;
    }
  }
}

TEST(NomaSlots, HasTheShapesOfTheFormat) {
  StageUnderTest s(entry(), "{}", {carriers_of({}, 16)}, 3);
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out(0).text(), "cf32 [frame up to 3][t 685][antenna 16]");
  EXPECT_EQ(s.out(1).text(), "cf32 [frame up to 3][t 685][user 6]");
  EXPECT_EQ(s.out(2).text(), "cf32 [frame up to 3][t 3840][antenna 16]");
  EXPECT_EQ(s.out(3).text(), "f32 [frame up to 3]");
  EXPECT_EQ(s.out(4).text(), "f32 [frame up to 3]");
}

TEST(NomaSlots, NoFramesAndAllOfThem) {
  const std::int64_t size = kSmall.air.symbols() * kSmall.air.carriers * 2;
  const auto x = complex_noise(4 * size);
  const auto stage = entry().make();
  Problems problems;
  const Document document = parse_document(keys_of(kSmall), "test.yaml", problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
  const std::vector<PortShape> in{carriers_of(kSmall, 2)};
  std::vector<PortShape> out(entry().outputs.size(), in[0]);
  Footprint footprint;
  ShapeContext context{.in = in, .out = out, .footprint = {&footprint, 1}, .most_new = 4, .section = section};
  stage->shape(context);
  ASSERT_TRUE(problems.empty());
  const auto backend = make_cpu_backend();
  const auto run = stage->make(*backend);
  for (std::int32_t frames : {0, 1, 4}) {
    Results y{std::vector<cf32>(index(4 * 90 * 2)), std::vector<cf32>(index(4 * 90 * 3)),
              std::vector<cf32>(index(4 * 130 * 2)), std::vector<float>(4), std::vector<float>(4)};
    std::array<std::int32_t, 5> counts{-1, -1, -1, -1, -1};
    std::vector<cf32> given = x;
    const auto port = [](auto& memory, std::int32_t& count) {
      return PortIo{.data = reinterpret_cast<std::byte*>(memory.data()), .length = 4, .count = &count};
    };
    const PortIo from = port(given, frames);
    const PortIo to[] = {port(y.train_rx, counts[0]), port(y.train_tx, counts[1]), port(y.rx, counts[2]),
                         port(y.delay, counts[3]), port(y.drift, counts[4])};
    std::vector<std::byte> scratch(context.scratch_bytes);
    run->enqueue({.in = {&from, 1}, .out = to, .scratch = scratch.data()}, {});
    EXPECT_THAT(counts, ::testing::Each(frames));
    Results expected = slots_of(kSmall, 2, {x.begin(), x.begin() + frames * size});
    expected.train_rx.resize(y.train_rx.size());
    expected.train_tx.resize(y.train_tx.size());
    expected.rx.resize(y.rx.size());
    expected.delay.resize(y.delay.size());
    expected.drift.resize(y.drift.size());
    EXPECT_TRUE(same(y, expected)) << frames;
  }
}

TEST(NomaSlots, RefusesWhatCannotBe) {
  const auto complaint = [](const std::string& yaml, const PortShape& in) {
    return StageUnderTest(entry(), yaml, {in}).complaints();
  };
  EXPECT_THAT(complaint("{}", carriers_of(kSmall, 2)), HasSubstr("has to be [frame][symbol 34][carrier 144][rx]"));
  EXPECT_THAT(complaint("{}", carriers_of({}, 65)), HasSubstr("1 to 64 receive antennas, not 65"));
  EXPECT_THAT(complaint("{pilots: 721}", carriers_of({}, 2)), HasSubstr("pilots"));
  EXPECT_THAT(complaint("{timing: perhaps}", carriers_of({}, 2)), HasSubstr("timing"));
}

}  // namespace
}  // namespace iqd::noma_slots
