// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>

#include "pipeline/stages/telemetry/equalizer/channel_fit_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/decisions_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer_model.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::equalizer {

static void PrintTo(Track track, std::ostream* out) {
  *out << enum_names(track)[static_cast<std::size_t>(track)];
}

namespace {

using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using Values = std::vector<cf32>;

constexpr double kSomeNoise = 0.04;  // Eb/N0 of 17 dB
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

PacketFormat packets_of(std::int64_t payload_bits, std::int64_t samples_per_bit = 2) {
  PacketFormat format;
  format.payload_bits = payload_bits;
  format.samples_per_bit = samples_per_bit;
  return format;
}
std::vector<Ray> two_rays() {
  return {{0, {0.8, 0.6}}, {6, std::polar(0.5, 1.0)}};
}
Received packet_of(const PacketFormat& format, double noise, unsigned seed) {
  return receive(format, two_rays(), noise, seed, format.pilot());
}

std::vector<float> floats_of(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

Setup setup_of(const PacketFormat& format, Track track, std::vector<Kind> kinds = {Kind::fde1}) {
  Setup s;
  s.format = format;
  for (const Kind kind : kinds) s.outputs.push_back({kind, true});
  s.cma_step = 0.05F;
  s.cma_iterations = 3;
  s.zf_load = 1e-6F;
  s.window.size = transform_size(format);
  s.segment.size = segment_size(format);
  for (Bins* bins : {&s.window, &s.segment}) {
    bins->detection = floats_of(soqpsk::detection_response(bins->size, format.samples_per_bit));
    bins->psi = floats_of(soqpsk::power_spectrum(bins->size, format.samples_per_bit));
  }
  s.track = track;
  s.gains = telemetry::gains_of(0.005, 2);
  for (const std::uint8_t bit : format.pilot()) s.pilot.push_back(bit != 0 ? 1.0F : -1.0F);
  s.modulator.emplace(format.samples_per_bit);
  return s;
}

/// A packet as the stage gets it, and what comes out.
struct Case {
  Setup setup;
  Values window, channel;
  float noise;
  Values symbols, taps;

  Case(Setup given, const Received& packet)
      : setup(std::move(given)),
        window(packet.window.begin(), packet.window.end()),
        channel(packet.channel.begin(), packet.channel.end()),
        noise(static_cast<float>(packet.noise)) {}

  const Values& run() {
    const Equalizer equalizer(setup);
    symbols.assign(setup.outputs.size() * at(setup.format.bits()), cf32(kNotANumber, kNotANumber));
    taps.assign(at(setup.count_linear() * kTaps), cf32(kNotANumber, kNotANumber));
    std::vector<std::byte> scratch(Equalizer::scratch_bytes(setup), std::byte{0xff});
    equalizer.run({window.data(), channel.data(), noise, symbols.data(), taps.data()}, scratch.data());
    return symbols;
  }
};

/// The rms distance from what the channel as it is gives, relative to that.
double distance(const Values& got, const Values& wanted) {
  double left = 0, all = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    left += std::norm(Complex(got[i]) - Complex(wanted[i]));
    all += std::norm(Complex(wanted[i]));
  }
  return std::sqrt(left / all);
}
bool finite(const Values& values) {
  return std::all_of(values.begin(), values.end(),
                     [](cf32 v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); });
}

/// Memory for something in a lane's scratch, filled with NaN.
template <class T> struct InScratch {
  explicit InScratch(const Setup& setup)
      : memory(bytes(setup), std::byte{0xff}), scratch(memory.data()), is(setup, scratch) {}
  static std::size_t bytes(const Setup& setup) {
    Scratch count(nullptr);
    const T counted(setup, count);
    return count.bytes();
  }
  std::vector<std::byte> memory;
  Scratch scratch;
  T is;
};

TEST(Decisions, FollowAPhaseThatTurns) {
  const PacketFormat format = packets_of(3000);
  const auto setup = setup_of(format, Track::refine);
  InScratch<Decisions> decisions(setup);
  const Received packet = receive(format, {{0, 1}}, 0, 1, format.pilot());
  constexpr double kTurn = 2e-4;  // radian a bit
  Values symbols;
  for (std::int64_t k = 0; k < format.bits(); ++k) {
    const Complex state((packet.bits[at(k - k % 2)] != 0 ? 1 : -1), packet.bits[at(k - k % 2 + 1)] != 0 ? 1 : -1);
    symbols.emplace_back(state * std::polar(3.0, kTurn * static_cast<double>(k)));
  }
  decisions.is.begin(symbols.data());
  decisions.is.follow(symbols.data(), 0, 500);
  decisions.is.follow(symbols.data(), 500, format.bits() - 500);
  EXPECT_TRUE(decisions.is.good());
  EXPECT_TRUE(std::equal(packet.bits.begin(), packet.bits.end(), decisions.is.bits()));
  for (std::int64_t k = 2000; k < format.bits(); k += 2)
    ASSERT_LT(std::abs(Complex(decisions.is.phasors()[k / 2]) - std::polar(1.0, -kTurn * static_cast<double>(k))),
              2e-3);
  symbols[at(format.bits() - 1)] = {0, kNotANumber};
  decisions.is.begin(symbols.data());
  decisions.is.follow(symbols.data(), 0, format.bits());
  EXPECT_FALSE(decisions.is.good());
  std::fill(symbols.begin(), symbols.end(), cf32());
  decisions.is.begin(symbols.data());
  decisions.is.follow(symbols.data(), 0, format.bits());
  EXPECT_FALSE(decisions.is.good());
}

/// The least squares of ChannelFit, by Gauss's elimination in double precision.
Signal fitted(const Signal& p, const Signal& x, std::int64_t begin, std::int64_t end, double rho,
              const Signal& before) {
  std::vector<Signal> rows(at(kChannelTaps), Signal(at(kChannelTaps + 1)));
  const auto column = [&](std::int64_t n, std::int64_t i) { return p[at(n - kChannelFirst - i)]; };
  for (std::int64_t i = 0; i < kChannelTaps; ++i) {
    Signal& row = rows[at(i)];
    row[at(i)] = rho + 1;
    row[at(kChannelTaps)] = rho * before[at(i)];
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t j = 0; j < kChannelTaps; ++j) row[at(j)] += std::conj(column(n, i)) * column(n, j);
      row[at(kChannelTaps)] += std::conj(column(n, i)) * x[at(n)];
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Complex factor = k == i ? 0 : rows[k][i] / rows[i][i];
      for (std::size_t j = i; j < rows[k].size(); ++j) rows[k][j] -= factor * rows[i][j];
    }
  Signal h;
  for (std::size_t i = 0; i < rows.size(); ++i) h.push_back(rows[i].back() / rows[i][i]);
  return h;
}

TEST(ChannelFit, SolvesItsEquations) {
  const PacketFormat format = packets_of(300);
  const auto setup = setup_of(format, Track::refine);
  const Received packet = packet_of(format, kSomeNoise, 2);
  InScratch<ChannelFit> fit(setup);
  InScratch<Decisions> decisions(setup);
  decisions.is.begin(Values(at(format.bits())).data());
  std::vector<std::uint8_t> bits(4 + packet.bits.size() + 5);
  std::copy_n(decisions.is.bits() - 4, 4, bits.begin());
  std::copy(packet.bits.begin(), packet.bits.end(), bits.begin() + 4);
  // The preamble continues before the packet.
  std::vector<std::uint8_t> longer(packet.bits.begin(), packet.bits.begin() + format.period_bits());
  longer.insert(longer.end(), packet.bits.begin(), packet.bits.end());
  Signal p = soqpsk::modulate(longer, 2);
  p.erase(p.begin(), p.begin() + format.period());
  const Signal x(packet.window.begin() + PacketFormat::kGuard, packet.window.end());
  const Values received(x.begin(), x.end());
  struct Stretch {
    std::int64_t begin, end;
    float rho;
  };
  for (const Stretch s : {Stretch{16, format.bits() - 16, 0}, {16, 255, 24}, {101, 280, 3}}) {
    fit.is.modulate(bits.data() + 4, s.begin - 13, s.end + 6);
    fit.is.take(received.data(), s.begin, s.end);
    Values h(packet.channel.begin(), packet.channel.end());
    const std::int64_t middle = s.begin + 37;
    std::array<LagSums, 3> sums;
    fit.is.sum(s.begin, middle, sums[0]);
    fit.is.sum(middle, s.end, sums[1]);
    fit.is.sum(s.end, s.begin, sums[2]);  // empty
    fit.is.fit(sums, s.begin, s.end, s.rho, h.data());
    const Signal wanted = fitted(p, x, 2 * s.begin, 2 * s.end, s.rho, packet.channel);
    // The signal has hardly any power at the band's edges, so single precision is not exact there.
    EXPECT_LT(distance(h, Values(wanted.begin(), wanted.end())), 1e-3) << s.begin;
  }
}

TEST(ChannelFit, LeavesAChannelIfTheNewOneIsNotFinite) {
  const PacketFormat format = packets_of(300);
  const auto setup = setup_of(format, Track::refine);
  const Received packet = packet_of(format, kSomeNoise, 3);
  InScratch<ChannelFit> fit(setup);
  std::vector<std::uint8_t> bits(packet.bits.size() + 9);
  for (const float bad : {kNotANumber, 3e38F}) {
    Values x(packet.window.begin() + PacketFormat::kGuard, packet.window.end());
    std::fill_n(x.begin() + 100, 50, cf32(bad, -bad));
    fit.is.modulate(bits.data() + 4, 0, format.bits());
    fit.is.take(x.data(), 16, format.bits() - 16);
    const Values before(packet.channel.begin(), packet.channel.end());
    Values h = before;
    LagSums sums;
    fit.is.sum(16, format.bits() - 16, sums);
    fit.is.fit({&sums, 1}, 16, format.bits() - 16, 0, h.data());
    EXPECT_TRUE(same_bits(h, before)) << bad;
  }
}

/// Noise on the channel's taps, as an estimate from a short pilot has it.
Received blurred(Received packet, double sigma) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal(0, sigma);
  for (Complex& v : packet.channel) v += Complex(normal(engine), normal(engine));
  return packet;
}

class Tracks : public ::testing::TestWithParam<Track> {};
INSTANTIATE_TEST_SUITE_P(Equalizer, Tracks, ::testing::Values(Track::refine, Track::on));

TEST_P(Tracks, TheErrorOfTheEstimateIsForgotten) {
  for (const std::int64_t s : {2, 4, 8}) {
    const PacketFormat format = packets_of(s == 8 ? 1500 : 2000, s);
    const Received packet = packet_of(format, 0.01, 4);
    const std::vector<Kind> kinds{Kind::fde1, Kind::fde2};
    Case exact(setup_of(format, Track::off, kinds), packet);
    Case off(setup_of(format, Track::off, kinds), blurred(packet, 0.03));
    Case tracked(setup_of(format, GetParam(), kinds), blurred(packet, 0.03));
    exact.run();
    const double before = distance(off.run(), exact.symbols);
    EXPECT_LT(distance(tracked.run(), exact.symbols), before / 2) << s;
  }
}

TEST_P(Tracks, ThePhaseIsTakenOff) {
  const PacketFormat format = packets_of(2000);
  Received packet = packet_of(format, 0.01, 6);
  Case still(setup_of(format, GetParam()), packet);
  for (std::size_t n = 0; n < packet.window.size(); ++n)
    packet.window[n] *= std::polar(1.0, 1e-4 * (static_cast<double>(n) - PacketFormat::kGuard));
  Case turning(setup_of(format, GetParam()), packet);
  still.run();
  EXPECT_LT(distance(turning.run(), still.symbols), 0.03);
}

TEST_P(Tracks, AKindIsTheSameAloneAndAmongOthers) {
  const PacketFormat format = packets_of(300);
  const Received packet = packet_of(format, kSomeNoise, 7);
  std::vector<Kind> kinds{Kind::fde2, Kind::fde1};
  if (GetParam() == Track::refine) kinds.insert(kinds.begin() + 1, {Kind::cma, Kind::zf, Kind::mmse});
  Case all(setup_of(format, GetParam(), kinds), packet);
  all.run();
  EXPECT_TRUE(finite(all.symbols) && finite(all.taps));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    Case alone(setup_of(format, GetParam(), {kinds[i]}), packet);
    const auto own = all.symbols.begin() + static_cast<std::ptrdiff_t>(i) * format.bits();
    EXPECT_TRUE(same_bits(alone.run(), Values(own, own + format.bits()))) << i;
  }
}

TEST_P(Tracks, TheDetectionFilterIsForEach) {
  const PacketFormat format = packets_of(300);
  Case both(setup_of(format, GetParam(), {Kind::fde1, Kind::fde2}), packet_of(format, kSomeNoise, 7));
  Case mixed = both;
  mixed.setup.outputs[0].filtered = false;
  both.run();
  mixed.run();
  const auto half = format.bits();
  EXPECT_TRUE(std::equal(both.symbols.begin() + half, both.symbols.end(), mixed.symbols.begin() + half));
  EXPECT_FALSE(std::equal(both.symbols.begin(), both.symbols.begin() + half, mixed.symbols.begin()));
}

TEST_P(Tracks, GainChangesNothing) {
  const PacketFormat format = packets_of(300);
  Case plain(setup_of(format, GetParam()), packet_of(format, kSomeNoise, 8));
  Case loud = plain;
  for (Values* values : {&loud.window, &loud.channel})
    for (cf32& v : *values) v *= 0x1p50F;
  loud.noise *= 0x1p100F;
  plain.run();
  EXPECT_TRUE(same_bits(loud.run(), plain.symbols));
}

TEST_P(Tracks, EdgeValues) {
  const PacketFormat format = packets_of(300);
  const Case plain(setup_of(format, GetParam()), packet_of(format, kSomeNoise, 9));
  const auto run_with = [&](auto change) {
    Case c = plain;
    change(c);
    return c.run();
  };
  EXPECT_TRUE(finite(run_with([](Case& c) { c.noise = 0; })));
  EXPECT_EQ(run_with([](Case& c) { std::fill(c.window.begin(), c.window.end(), cf32()); }), Values(at(format.bits())));
  EXPECT_EQ(run_with([](Case& c) { std::fill(c.channel.begin(), c.channel.end(), cf32()); }),
            Values(at(format.bits())));
  for (const cf32 v : run_with([](Case& c) { c.window.back() = {kNotANumber, 0}; })) EXPECT_TRUE(std::isnan(v.real()));
}

/// Two rays; the second turns by `turn` in a sample, and the estimate is that of the packet's beginning.
Received moving_packet(const PacketFormat& format, double turn, double noise) {
  Received packet = receive(format, {{0, {0.8, 0.6}}}, noise, 10, format.pilot());
  const Received echo = receive(format, {{6, std::polar(0.5, 1.0)}}, 0, 10, format.pilot());
  for (std::size_t n = 0; n < packet.window.size(); ++n)
    packet.window[n] += echo.window[n] * std::polar(1.0, turn * (static_cast<double>(n) - PacketFormat::kGuard - 200));
  for (std::size_t i = 0; i < packet.channel.size(); ++i) packet.channel[i] += echo.channel[i];
  return packet;
}

/// Of a packet's symbols, decided by the loop.
std::int64_t errors_of(const Setup& setup, const Values& symbols, const Received& packet) {
  InScratch<Decisions> decisions(setup);
  decisions.is.begin(symbols.data());
  decisions.is.follow(symbols.data(), 0, setup.format.bits());
  std::int64_t errors = 0;
  for (std::size_t k = 0; k < packet.bits.size(); ++k) errors += decisions.is.bits()[k] != packet.bits[k];
  return errors;
}

TEST(Track, OnFollowsAChannelThatMoves) {
  const PacketFormat format = packets_of(3000);
  constexpr double kTurn = 4.0 / 3000;  // radian a sample: 1.4 turns of a circle in the packet
  const Received packet = moving_packet(format, kTurn, 0.02);
  Case off(setup_of(format, Track::off), packet), on(setup_of(format, Track::on), packet);
  EXPECT_GT(errors_of(off.setup, off.run(), packet), 100);
  EXPECT_EQ(errors_of(on.setup, on.run(), packet), 0);
}

/// A packet whose pilot and payload are no multiples of a segment.
TEST(Track, OnTakesAnyLength) {
  PacketFormat format = packets_of(1010);
  format.sync_word = "034776C72";
  const Received packet = packet_of(format, 0.01, 12);
  Case exact(setup_of(format, Track::off), packet), on(setup_of(format, Track::on), packet);
  exact.run();
  EXPECT_LT(distance(on.run(), exact.symbols), 0.1);
  EXPECT_EQ(errors_of(on.setup, on.symbols, packet), 0);
}

std::string complaints_of(const std::string& keys, std::int64_t payload_bits, const std::string& kinds = "fde1") {
  const auto port = [](Element element, std::vector<Dim> item) {
    PortShape shape;
    shape.element = element;
    shape.axis = Axis::counted;
    shape.axis_name = "packet";
    shape.most = 4;
    shape.item = std::move(item);
    return shape;
  };
  const PacketFormat format = packets_of(payload_bits);
  return StageUnderTest(entry(),
                        "{kinds: [" + kinds + "], payload_bits: " + std::to_string(payload_bits) + ", " + keys + "}",
                        {port(Element::cf32, {{"sample", format.window()}}),
                         port(Element::cf32, {{"tap", kChannelTaps}}), port(Element::f32, {})})
      .complaints();
}

TEST(Track, RefusesWhatCannotBe) {
  EXPECT_EQ(complaints_of("track: refine", 64), "");
  EXPECT_EQ(complaints_of("track: off", 62), "");
  EXPECT_THAT(complaints_of("track: refine", 62), HasSubstr("track: needs a payload of 64 bits"));
  EXPECT_THAT(complaints_of("track: refined", 300), HasSubstr("refine"));
  EXPECT_EQ(complaints_of("track: on", 300, "fde2, fde1"), "");
  EXPECT_THAT(complaints_of("track: on", 300, "fde2, mmse"), HasSubstr("only fde1 and fde2"));
}

}  // namespace
}  // namespace iqd::equalizer
