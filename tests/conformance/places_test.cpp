// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A port says where its items lie in the spectrum. A tone of known radio frequency goes through stages, and the peak
// has to be where the axis says that this frequency is. The last tests go through stages.def.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ostream>

#include "config/reader.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

constexpr double kCentre = 100e6;
constexpr double kToneRate = 1e6;

struct ChainPart {
  const char* stage;
  std::string keys = "{}";
};

struct Path {
  const char* name;
  double offset_hz;  // of the tone from the radio's frequency
  std::vector<ChainPart> stages;
  friend void PrintTo(const Path& path, std::ostream* out) { *out << path.name; }
};

StageInput tone_at(double offset_hz, std::int64_t length = 1 << 16) {
  std::vector<cf32> x;
  for (std::int64_t n = 0; n < length; ++n)
    x.push_back(std::polar(1.0F, static_cast<float>(2 * std::numbers::pi *
                                                    std::fmod(offset_hz / kToneRate * static_cast<double>(n), 1.0))));
  StageInput in = input_of(x, kToneRate);
  in.shape.frequency_hz = kCentre;
  return in;
}

/// Taps of a complex low pass moved to a frequency, as YAML.
std::string taps_around(double hz) {
  std::string all;
  constexpr int kCoefficients = 41;
  for (int k = 0; k < kCoefficients; ++k) {
    const double window = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * (k + 1) / (kCoefficients + 1));
    const auto h = std::polar(window, 2 * std::numbers::pi * hz / kToneRate * k);
    all += fmt::format("{}[{:.9f}, {:.9f}]", k ? ", " : "", h.real(), h.imag());
  }
  return "[" + all + "]";
}

double frequency_of(const PortShape& shape, const Dim& dim, std::size_t k) {
  const Frequencies& entries = dim.frequencies;
  const auto entry = static_cast<std::int64_t>(k);
  const std::int64_t turn = entries.wrap > 0 && entry >= entries.wrap ? dim.extent : 0;
  const double offset = entries.values_hz.empty()
                            ? entries.first_hz + static_cast<double>(entry - turn) * entries.step_hz
                            : entries.values_hz.at(k);
  return shape.frequency_hz + offset;
}

/// The bin of the last dimension that holds the most.
std::size_t peak_of(const StageOutput& out) {
  std::vector<double> x = numbers_in(out.shape.element, out.joined());
  if (out.shape.element == Element::cf32) {
    for (std::size_t i = 0; i < x.size() / 2; ++i) x[i] = std::hypot(x[2 * i], x[2 * i + 1]);
    x.resize(x.size() / 2);
  }
  // The last row, since the filters have settled there.
  const auto bins = static_cast<std::ptrdiff_t>(out.shape.item.back().extent);
  return static_cast<std::size_t>(std::max_element(x.end() - bins, x.end()) - (x.end() - bins));
}

StageOutput through(StageInput in, const std::vector<ChainPart>& stages) {
  StageOutput last;
  for (const ChainPart& link : stages) {
    Ports ports = run(link.stage, link.keys, {std::move(in)}, "cpu");
    if (ports.empty()) return {};
    const auto out = ports.contains("out") ? ports.find("out") : ports.find("spectrum");
    last = std::move(out == ports.end() ? ports.begin()->second : out->second);
    in = input_of(last);
  }
  return last;
}

class Places : public ::testing::TestWithParam<Path> {};

TEST_P(Places, TheAxisShowsWhereTheToneIsOnTheAir) {
  const Path& path = GetParam();
  const std::vector<std::vector<ChainPart>> ends = {
      {{"spectrum", "{size: 500}"}},
      {{"fft", "{size: 500, shift: true}"}},
      {{"fft", "{size: 501, shift: true}"}, {"complex_to_mag_squared"}, {"log10", "{n: 10}"}},
      {{"fft", "{size: 500, window: hann}"}, {"complex_to_mag"}},
      {{"fft", "{size: 501}"}},
  };
  for (const std::vector<ChainPart>& end : ends) {
    std::vector<ChainPart> stages = path.stages;
    stages.insert(stages.end(), end.begin(), end.end());
    const StageOutput out = through(tone_at(path.offset_hz), stages);
    ASSERT_FALSE(out.rows.empty());
    const Frequencies& axis = out.shape.item.back().frequencies;
    ASSERT_TRUE(axis.known()) << end.front().stage;
    const double width = axis.step_hz != 0 ? std::fabs(axis.step_hz) : std::fabs(axis.values_hz[1]);
    EXPECT_NEAR(frequency_of(out.shape, out.shape.item.back(), peak_of(out)), kCentre + path.offset_hz, 0.51 * width)
        << end.front().stage << " " << end.front().keys;
  }
}

const Path kPaths[] = {
    {"source", 123e3, {}},
    {"below", -321e3, {}},
    {"rotate_down", 70e3, {{"rotate", "{frequency: -40 kHz}"}}},
    {"rotate_up", -70e3, {{"rotate", "{frequency: 250 kHz}"}}},
    {"rotate_beyond_the_rate", 70e3, {{"rotate", "{frequency: 1100 kHz}"}}},
    {"low_pass", 30e3, {{"fir", "{decimation: 4, design: {type: low_pass, cutoff: 100 kHz, transition: 20 kHz}}"}}},
    {"rotate_and_low_pass",
     60e3,
     {{"rotate", "{frequency: -40 kHz}"},
      {"fir", "{decimation: 4, design: {type: low_pass, cutoff: 100 kHz, transition: 20 kHz}}"}}},
    {"band_pass", 120e3, {{"fir", "{design: {type: band_pass, low: 100 kHz, high: 140 kHz, transition: 20 kHz}}"}}},
    {"band_pass_folds",
     112e3,
     {{"fir", "{decimation: 8, design: {type: band_pass, low: 100 kHz, high: 140 kHz, transition: 20 kHz}}"}}},
    {"band_pass_folds_thrice",
     330e3,
     {{"fir", "{decimation: 10, design: {type: band_pass, low: 310 kHz, high: 340 kHz, transition: 20 kHz}}"}}},
    {"complex_taps", -210e3, {{"fir", "{decimation: 5, taps: " + taps_around(-200e3) + "}"}}},
    {"complex_taps_above", 370e3, {{"fir", "{decimation: 4, taps: " + taps_around(360e3) + "}"}}},
    {"interpolated",
     30e3,
     {{"fir", "{interpolation: 3, design: {type: low_pass, cutoff: 200 kHz, transition: 100 kHz}}"}}},
    {"image",
     150e3,
     {{"fir",
       "{interpolation: 3, design: {type: band_pass, low: 1100 kHz, high: 1200 kHz, transition: 50 kHz, gain: 3}}"}}},
    {"channel", 140e3, {{"channelizer", "{channels: 8, select: [1]}"}}},
    {"channel_below", -110e3, {{"channelizer", "{channels: 8, select: [7]}"}}},
    {"channel_oversampled", 140e3, {{"channelizer", "{channels: 8, oversample: 2, select: [1]}"}}},
    {"one_of_several",
     -260e3,
     {{"channelizer", "{channels: 8, select: [0, 1, 6]}"}, {"select_channels", "{channels: [2]}"}}},
    {"upsampled", -80e3, {{"resampler", "{ratio: 3/2}"}}},
    {"downsampled", -80e3, {{"resampler", "{rate: 300 kS/s}"}}},
    {"conjugate", 70e3, {{"conjugate"}}},
    {"conjugate_and_rotate", 70e3, {{"conjugate"}, {"rotate", "{frequency: 100 kHz}"}}},
    {"conjugate_and_channel", 140e3, {{"conjugate"}, {"channelizer", "{channels: 8, select: [7]}"}}},
    {"twice_conjugate", 70e3, {{"conjugate"}, {"rotate", "{frequency: 100 kHz}"}, {"conjugate"}}},
    {"gain_and_dc", 70e3, {{"multiply_const", "{value: 3}"}, {"dc_block", "{length: 64}"}, {"agc"}}},
    {"converted", 70e3, {{"convert", "{dtype: sc16}"}, {"convert", "{dtype: cf32}"}}},
    {"kernel", 70e3, {{"kernel", "{code: \"__device__ float2 f(float2 x) { return x; }\"}"}}},
};
INSTANTIATE_TEST_SUITE_P(Paths, Places, ::testing::ValuesIn(kPaths),
                         [](const auto& path) { return std::string(path.param.name); });

/// The port behind one stage, of a stream at kCentre.
PortShape behind(const char* stage, const std::string& keys = "{}") {
  return through(tone_at(0), {{stage, keys}}).shape;
}

TEST(PlacesOf, SpanIsTheBandThatPasses) {
  EXPECT_EQ(behind("rotate", "{frequency: 10 kHz}").span_hz, 0) << "all of the rate";
  EXPECT_EQ(behind("fir", "{design: {type: low_pass, cutoff: 100 kHz, transition: 20 kHz}}").span_hz, 200e3);
  EXPECT_EQ(behind("fir", "{decimation: 8, design: {type: low_pass, cutoff: 100 kHz, transition: 20 kHz}}").span_hz, 0)
      << "wider than the rate";
  EXPECT_EQ(behind("fir", "{design: {type: band_pass, low: 100 kHz, high: 140 kHz, transition: 20 kHz}}").span_hz,
            280e3)
      << "both sides of 0 Hz";
  const PortShape folded =
      behind("fir", "{decimation: 8, design: {type: band_pass, low: 110 kHz, high: 150 kHz, transition: 20 kHz}}");
  EXPECT_EQ(folded.frequency_hz, kCentre + 125e3);
  EXPECT_EQ(folded.span_hz, 50e3) << "from -15 to 25 kHz";
  EXPECT_EQ(behind("fir", "{design: {type: rrc, symbol_rate: 100000, alpha: 0.5, ntaps: 55}}").span_hz, 150e3);
  EXPECT_EQ(behind("resampler", "{ratio: 1/2, bandwidth: 0.5}").span_hz, 250e3);
  EXPECT_EQ(behind("channelizer", "{channels: 8, oversample: 2, select: [1]}").span_hz, 125e3);
  EXPECT_EQ(behind("spectrum", "{size: 100}").span_hz, kToneRate);
  EXPECT_EQ(behind("fft", "{size: 100}").span_hz, kToneRate);
}

TEST(PlacesOf, ChannelsHaveFrequencies) {
  const PortShape channels = behind("channelizer", "{channels: 8, select: [0, 1, 4, 7]}");
  EXPECT_EQ(channels.frequency_hz, kCentre);
  EXPECT_EQ(channels.rows.at(0).frequencies.values_hz, (std::vector<double>{0, 125e3, 500e3, -125e3}));
  const StageOutput spectra =
      through(tone_at(0), {{"channelizer", "{channels: 8, select: [0, 7]}"}, {"spectrum", "{size: 100}"}});
  EXPECT_TRUE(spectra.shape.rows.at(0).frequencies.known());
  EXPECT_FALSE(spectra.shape.item.at(0).frequencies.known()) << "each channel's bins have other frequencies";
}

TEST(PlacesOf, BinsThatAreTooManyForAHeaderWrap) {
  for (const std::int64_t size : {4096, 4097, 4098})
    for (const char* front : {"multiply_const", "conjugate"}) {
      const PortShape shape = through(tone_at(0), {{front, *front == 'm' ? "{value: 1}" : "{}"},
                                                   {"fft", fmt::format("{{size: {}}}", size)}})
                                  .shape;
      const Dim& bins = shape.item.at(0);
      EXPECT_EQ(bins.frequencies.wrap, size > 4096 ? (size + 1) / 2 : 0);
      const double step = (*front == 'c' ? -1 : 1) * kToneRate / static_cast<double>(size);
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, (size - 1) / 2, (size + 1) / 2, size - 1}) {
        const auto bin = static_cast<double>(k < (size + 1) / 2 ? k : k - size);
        EXPECT_NEAR(frequency_of(shape, bins, static_cast<std::size_t>(k)), kCentre + bin * step, 1e-6) << size;
      }
    }
}

TEST(PlacesOf, NoAxisWhereItWouldNotBeTrue) {
  EXPECT_FALSE(behind("fft", "{size: 100, inverse: true}").item.at(0).frequencies.known());
  EXPECT_TRUE(behind("fft", "{size: 8192, shift: true}").item.at(0).frequencies.known());
}

TEST(PlacesOf, DemodulatedAndGeneratedSignalsAreNotOnTheAir) {
  const std::vector<ChainPart> leaves = {
      {"quadrature_demod"},
      {"complex_to_mag"},
      {"complex_to_arg"},
      {"kernel", "{code: \"__device__ float f(float2 x) { return x.x; }\", out: f32}"},
      {"signal_source", "{frequency: 1 kHz}"},
      {"soqpsk_modulator"}};
  for (const ChainPart& link : leaves) {
    const PortShape out = behind(link.stage, link.keys);
    EXPECT_FALSE(out.on_air) << link.stage;
    EXPECT_EQ(out.frequency_hz, 0) << link.stage;
  }
}

/// Every stage's outputs, planned for inputs at this frequency.
std::vector<PortShape> planned(const StageEntry& entry, double frequency_hz) {
  const Element element = entry.inputs.front().elements.front();
  std::vector<StageInput> in = inputs_for(entry, element, 1, entry.inputs.front().items() ? 4 : 2000, Signal::noise);
  for (StageInput& i : in) i.shape.frequency_hz = frequency_hz;
  Problems problems;
  const StageRunner runner(entry, keys_for(entry, element), std::move(in), 0, "cpu", problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  std::vector<PortShape> shapes;
  for (const PlanPort& port : runner.plan().ports) shapes.push_back(port.shape);
  return shapes;
}

class PlacesOfStages : public ::testing::TestWithParam<const StageEntry*> {};

TEST_P(PlacesOfStages, ARetuneMovesWhatIsOnTheAirAndNothingElse) {
  const std::vector<PortShape> before = planned(*GetParam(), kCentre), after = planned(*GetParam(), kCentre + 5e6);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t p = 0; p < before.size(); ++p) {
    PortShape expected = before[p];
    if (expected.on_air)
      expected.frequency_hz += 5e6;
    else
      EXPECT_EQ(expected.frequency_hz, 0);
    EXPECT_EQ(after[p], expected) << "port " << p;
  }
}

std::vector<const StageEntry*> every_stage() {
  std::vector<const StageEntry*> all;
  for (const StageEntry& entry : all_stages()) all.push_back(&entry);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, PlacesOfStages, ::testing::ValuesIn(every_stage()),
                         [](const auto& entry) { return std::string(entry.param->name); });

}  // namespace
}  // namespace iqd::conformance
