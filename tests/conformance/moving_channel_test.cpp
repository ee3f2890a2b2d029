// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// mimo_channel_estimator in air that moves: CUDA against the CPU, on frames in the frequency domain.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "signal/formats/ofdm_format.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

using Complex = std::complex<double>;

struct MovingCase {
  const char* name;
  OfdmFormat format;
  int rx;
  double noise = 0.02;     // variance; an antenna's signal has the power of `tx`
  double interferer = 0;   // power at each antenna, from one direction
  std::int64_t tone = -1;  // a carrier that has 30 dB more noise, and its neighbours less and less
  int silent = -1;         // an antenna
  bool last_alone = true;  // with a tail: no frame follows the last one
};

void PrintTo(const MovingCase& c, std::ostream* out) {
  *out << c.name;
}

/// [frame][symbol][carrier][rx], with the tail's; data are QPSK.
std::vector<cf32> moving_frames(const MovingCase& c, int frames) {
  const OfdmFormat& f = c.format;
  const OfdmReference reference(f);
  std::mt19937 engine(7);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  const auto draw = [&] { return Complex(normal(engine), normal(engine)); };
  constexpr int kPaths = 3;
  std::vector<cf32> y;
  for (int frame = 0; frame < frames; ++frame) {
    std::vector<Complex> gains(static_cast<std::size_t>(kPaths * c.rx * f.tx)), from(static_cast<std::size_t>(c.rx));
    for (Complex& g : gains) g = draw() / std::sqrt(double{kPaths});
    for (Complex& d : from) d = std::polar(1.0, 6.0 * normal(engine));
    for (std::int64_t at_symbol = 0; at_symbol < f.symbols() + f.tail_symbols(); ++at_symbol)
      for (std::int64_t k = 0; k < f.carriers; ++k) {
        const bool tail = at_symbol >= f.symbols();
        const std::int64_t s = tail ? at_symbol - f.symbols() : at_symbol;
        const double time = tail ? f.tail_position(s) : static_cast<double>(s);
        const auto behind = static_cast<std::int32_t>(s - 1 - f.tx);
        const std::int32_t comb = behind < 0 ? -1 : f.comb().in(behind);
        const double shares[] = {0.0, 0.1, 0.3};  // of the prefix
        const double moves[] = {0.06, -0.04, 0.02};
        Complex sent[OfdmFormat::kMostTx];
        for (std::int64_t a = 0; a < f.tx; ++a) {
          const auto at = static_cast<std::size_t>(k);
          if (tail && c.last_alone && frame == frames - 1)
            sent[a] = 0;
          else if (s == 0)
            sent[a] = reference.sync_antenna(k) == a ? reference.sync()[at] : 0;
          else if (behind < 0)
            sent[a] = static_cast<double>(reference.training()[at]) * Complex(reference.cover(a, s - 1));
          else if (comb >= 0)
            sent[a] = reference.midamble(comb, k, a);
          else if (f.is_pilot(k))
            sent[a] = reference.pilot(behind, k / f.pilot_every, a);
          else
            sent[a] = Complex(engine() % 2 ? 1 : -1, engine() % 2 ? 1 : -1) / std::sqrt(2.0);
        }
        const Complex other = std::sqrt(c.interferer) * draw();
        const double far = static_cast<double>(std::abs(k - c.tone)) + 0.5;
        const Complex line =
            c.tone < 0 ? 0 : std::sqrt(1000 * 0.25) / far * std::polar(1.0, 2.1 * static_cast<double>(at_symbol));
        for (int r = 0; r < c.rx; ++r) {
          Complex sum = std::sqrt(c.noise) * draw() + other * from[static_cast<std::size_t>(r)] +
                        line * std::conj(from[static_cast<std::size_t>(r)]);
          for (std::int64_t a = 0; a < f.tx; ++a)
            for (int p = 0; p < kPaths; ++p) {
              const double late = (shares[p] + 0.125) * static_cast<double>(f.prefix);
              sum += gains[static_cast<std::size_t>((p * c.rx + r) * f.tx + a)] * sent[a] *
                     std::polar(1.0, moves[p] * time - 2 * std::numbers::pi * static_cast<double>(f.frequency_of(k)) *
                                                           late / static_cast<double>(f.fft));
            }
          y.emplace_back(r == c.silent ? Complex() : sum);
        }
      }
  }
  return y;
}

StageInput carriers_of(const MovingCase& c, const std::vector<cf32>& y, int frames) {
  StageInput in;
  in.shape.element = Element::cf32;
  in.shape.rate_hz = in.shape.source_rate_hz = static_cast<double>(c.format.fft) * 15e3;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = "frame";
  in.shape.item = {
      {"symbol", c.format.symbols() + c.format.tail_symbols()}, {"carrier", c.format.carriers}, {"rx", c.rx}};
  in.shape.most = in.length = frames;
  in.data.resize(y.size() * sizeof(cf32));
  std::memcpy(in.data.data(), y.data(), in.data.size());
  return in;
}

std::string format_keys(const OfdmFormat& f) {
  return fmt::format(
      "fft: {}, carriers: {}, prefix: {}, frame: {}, tx: {}, pilot_every: {}, midambles: {}, "
      "tail: {}",
      f.fft, f.carriers, f.prefix, f.frame, f.tx, f.pilot_every, f.midambles, f.tail);
}
OfdmFormat with_tx(OfdmFormat f, std::int64_t tx) {
  f.tx = tx;
  return f;
}
constexpr OfdmFormat kTwenty{.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720};

const MovingCase kMoving[] = {
    {"two", {}, 2},
    {"four", with_tx({}, 4), 4, 0.05},
    {"one", with_tx({}, 1), 1},
    {"wide", with_tx(kTwenty, 4), 4, 0.02},
    {"interferer", {}, 4, 0.02, 2},
    {"tone", {}, 2, 0.02, 0, 100},
    {"silent", {}, 3, 0.02, 0, -1, 1},
    {"short", {.fft = 64, .carriers = 26, .prefix = 9, .frame = 1000, .tx = 3, .pilot_every = 7}, 5},
    {"midamble", {.midambles = 1}, 2},
    {"midambles", {.tx = 4, .midambles = 4}, 4, 0.05},
    {"midamble_tone", {.midambles = 2}, 2, 0.02, 0, 100},
    {"tail", {.tail = true}, 2},
    {"tail_four", {.tx = 4, .midambles = 1, .tail = true}, 4, 0.05, 0, -1, -1, false},
    {"tail_tone", {.tail = true}, 3, 0.02, 0, 100, 1},
    {"tail_wide", {2048, 1200, 144, 30720, 4, 25, -1, 0, true}, 4, 0.02},
    {"eight", {.fft = 256, .carriers = 150, .prefix = 20, .frame = 5000, .tx = 8, .pilot_every = 10}, 8},
};

class MovingChannelOnCuda : public ::testing::TestWithParam<MovingCase> {};

TEST_P(MovingChannelOnCuda, IsThatOfTheCpu) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO CHANNEL WAS FOLLOWED ON CUDA: " << why;
  const MovingCase& c = GetParam();
  const OfdmFormat& f = c.format;
  constexpr int frames = 3;
  const auto y = moving_frames(c, frames);
  for (const std::string way : {"track: frame", "whiten: band", "whiten: groups", "track: frame, whiten: groups",
                                "track: frame, whiten: groups, em: 3, time_functions: 3, step: 1.25, group: 7"}) {
    if (f.tail && !way.starts_with("track")) continue;
    const std::string keys = fmt::format("{{{}, {}}}", format_keys(f), way);
    const Ports cpu = run("mimo_channel_estimator", keys, {carriers_of(c, y, frames)}, "cpu");
    const Ports cuda = run("mimo_channel_estimator", keys, {carriers_of(c, y, frames)}, "cuda");
    for (const auto& [port, limit] : {std::pair{"y", 1e-3},
                                      {"h", 1e-3},
                                      {"noise", 2e-3},
                                      {"phase", 3e-3},
                                      {"level", 1e-5},
                                      {"covariance", 1e-3},
                                      {"doppler", 2e-3},
                                      {"interference", 1e-5}})
      EXPECT_LE(distance(cpu.at(port), cuda.at(port)), limit) << way << ' ' << port;
  }
}

/// LLRs as a decoder gives them: some do not belong to what was sent.
StageInput soft_for(const MovingCase& c, int frames, std::int64_t bits = 2) {
  const OfdmFormat& f = c.format;
  StageInput in;
  in.shape.element = Element::f32;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = "frame";
  in.shape.item = {{"carrier", f.data_carriers()}, {"symbol", f.data_symbols()}, {"tx", f.tx}, {"bit", bits}};
  in.shape.most = in.length = frames;
  std::mt19937 engine(9);
  std::normal_distribution<float> strength(6, 5);
  std::vector<float> llr(static_cast<std::size_t>(frames * in.shape.item_size()));
  for (float& x : llr) x = (engine() % 2 ? 1.0f : -1.0f) * strength(engine);
  in.data.resize(llr.size() * sizeof(float));
  std::memcpy(in.data.data(), llr.data(), in.data.size());
  return in;
}

TEST_P(MovingChannelOnCuda, WithKnownDataIsThatOfTheCpu) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO CHANNEL WAS FOLLOWED ON CUDA: " << why;
  const MovingCase& c = GetParam();
  constexpr int frames = 3;
  const std::vector<StageInput> in{carriers_of(c, moving_frames(c, frames), frames), soft_for(c, frames)};
  for (const char* way : {"track: frame", "track: frame, whiten: groups"}) {
    const std::string keys = fmt::format("{{{}, {}}}", format_keys(c.format), way);
    const Ports cpu = run("mimo_channel_estimator", keys, in, "cpu");
    const Ports cuda = run("mimo_channel_estimator", keys, in, "cuda");
    // Wrong bits leave many powers near the threshold, so the kept sets may differ by a few: h by 1e-2.
    for (const auto& [port, limit] : {std::pair{"y", 1e-2}, {"h", 1e-2}, {"noise", 1e-2}, {"covariance", 1e-2}})
      EXPECT_LE(distance(cpu.at(port), cuda.at(port)), limit) << way << ' ' << port;
  }
}

/// Another modulation of each antenna in each frame: QPSK, 16-QAM, none, 64-QAM, for which there is no room.
StageInput sent_for(const MovingCase& c, int frames) {
  StageInput in;
  in.shape.element = Element::u8;
  in.shape.axis = Axis::counted;
  in.shape.axis_name = "frame";
  in.shape.item = {{"tx", c.format.tx}};
  in.shape.most = in.length = frames;
  constexpr std::uint8_t kBits[] = {2, 4, 0, 6};
  for (std::int64_t i = 0; i < frames * c.format.tx; ++i) in.data.push_back(std::byte{kBits[i % std::ssize(kBits)]});
  return in;
}

TEST_P(MovingChannelOnCuda, WithDataOfMixedAlphabetsIsThatOfTheCpu) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO CHANNEL WAS FOLLOWED ON CUDA: " << why;
  const MovingCase& c = GetParam();
  constexpr int frames = 3;
  const std::vector<StageInput> in{carriers_of(c, moving_frames(c, frames), frames), soft_for(c, frames, 4),
                                   sent_for(c, frames)};
  const std::string keys = fmt::format("{{{}, track: frame, whiten: groups, modulation: port}}", format_keys(c.format));
  const Ports cpu = run("mimo_channel_estimator", keys, in, "cpu");
  const Ports cuda = run("mimo_channel_estimator", keys, in, "cuda");
  for (const char* const port : {"y", "h", "noise", "covariance"})
    EXPECT_LE(distance(cpu.at(port), cuda.at(port)), 1e-2) << port;
}

TEST_P(MovingChannelOnCuda, ABadFrameIsMarked) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO CHANNEL WAS FOLLOWED ON CUDA: " << why;
  const MovingCase& c = kMoving[0];
  auto y = moving_frames(c, 3);
  y[y.size() / 2] = {std::numeric_limits<float>::quiet_NaN(), 0};
  const Ports got = run("mimo_channel_estimator", "{track: frame, whiten: groups}", {carriers_of(c, y, 3)}, "cuda");
  for (const char* port : {"y", "h", "noise", "phase", "level", "covariance", "doppler", "interference"}) {
    const auto floats = values<float>(got.at(port));
    const std::size_t third = floats.size() / 3;
    for (std::size_t i = 0; i < floats.size(); ++i)
      ASSERT_EQ(std::isnan(floats[i]), i / third == 1) << port << ' ' << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, MovingChannelOnCuda, ::testing::ValuesIn(kMoving),
                         [](const auto& test) { return test.param.name; });

/// On the CPU, with and without what shows the channel better: the cases hold what they say.
TEST(MovingChannelCases, HaveTailsAndMidambles) {
  for (const MovingCase& c : kMoving) {
    if (!c.format.tail) continue;
    constexpr int frames = 2;
    auto y = moving_frames(c, frames);
    const std::string keys = fmt::format("{{{}, track: frame, whiten: groups}}", format_keys(c.format));
    const auto noise = [&] {
      return values<float>(run("mimo_channel_estimator", keys, {carriers_of(c, y, frames)}, "cpu").at("noise"));
    };
    const auto with = noise();
    const auto item = std::ssize(y) / frames, own = c.format.symbols() * c.format.carriers * c.rx;
    for (int frame = 0; frame < frames; ++frame) std::fill_n(y.begin() + frame * item + own, item - own, cf32());
    const auto without = noise();
    ASSERT_EQ(with.size(), without.size());
    for (const std::size_t frame : {0u, 1u}) {
      const std::size_t at = frame * with.size() / frames;
      EXPECT_EQ(with[at] == without[at], c.last_alone && frame == 1) << c.name << ' ' << frame;
    }
  }
}

/// The frames of a transmitter whose clock is fast by `error`: carriers turn.
std::vector<cf32> with_clock(std::vector<cf32> y, const MovingCase& c, double error) {
  const OfdmFormat& f = c.format;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / c.rx;
    const std::int64_t s = row / f.carriers % (f.symbols() + f.tail_symbols());
    const double place = s < f.symbols() ? static_cast<double>(s) : f.tail_position(s - f.symbols());
    const double turns =
        error * place * static_cast<double>(f.frequency_of(row % f.carriers) * f.symbol()) / static_cast<double>(f.fft);
    y[i] = cf32(Complex(y[i]) * std::polar(1.0, 2 * std::numbers::pi * turns));
  }
  return y;
}

TEST(OfdmClockOnCuda, IsThatOfTheCpu) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO CLOCK WAS MEASURED ON CUDA: " << why;
  for (const MovingCase& c : kMoving)
    for (const char* memory : {"1", "4"}) {
      const auto y = with_clock(moving_frames(c, 3), c, 30e-6);
      const std::string keys = fmt::format("{{{}, memory: {}}}", format_keys(c.format), memory);
      const Ports cpu = run("ofdm_clock", keys, {carriers_of(c, y, 3)}, "cpu");
      const Ports cuda = run("ofdm_clock", keys, {carriers_of(c, y, 3)}, "cuda");
      EXPECT_LE(distance(cpu.at("carriers"), cuda.at("carriers")), 2e-6) << c.name;
      EXPECT_LE(distance(cpu.at("clock"), cuda.at("clock")), 1e-4) << c.name;
    }
}

}  // namespace
}  // namespace iqd::conformance
