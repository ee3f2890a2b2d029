// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_quality/packet_quality.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>

#include "pipeline/stages/stages.hpp"
#include "signal/filters/power_of_two_fft.hpp"
#include "signal/formats/soqpsk.hpp"
#include "tests/support/coding_items.hpp"

namespace iqd::packet_quality {
namespace {

using coding::all_of;
using coding::Bytes;
using coding::items_of;
using coding::outputs_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using Floats = std::vector<float>;

constexpr std::int64_t kPilot = 192, kPayload = 6144;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Channel {
  std::vector<cf32> taps;
  float noise;
};

Channel two_rays(double strength, int apart, float noise) {
  Channel channel{std::vector<cf32>(38), noise};
  channel.taps[12] = {0.8f, 0.3f};
  channel.taps[static_cast<std::size_t>(12 + apart)] = std::polar(static_cast<float>(strength), 2.0f);
  return channel;
}

/// The definition in double precision.
class Model {
 public:
  explicit Model(int samples_per_bit = 2) : samples_per_bit_(samples_per_bit) { set_reference(setup_); }

  std::vector<double> own_levels(const Channel& channel) const {
    std::vector<std::complex<double>> x = soqpsk::modulate(setup_.reference_bits, 2);
    power_of_two_fft(x);
    const auto detection = soqpsk::detection_response(kReference, 2);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double cycles = static_cast<double>(k) / kReference - (k < kReference / 2 ? 0 : 1);  // of half a bit
      std::complex<double> h = 0;
      for (std::size_t m = 0; m < channel.taps.size(); ++m)
        h += std::complex<double>(channel.taps[m]) *
             std::polar(1.0, -2 * std::numbers::pi * cycles * 2 / samples_per_bit_ * static_cast<double>(m));
      x[k] = std::conj(x[k] * detection[k] * std::norm(h) / (std::norm(h) + double{channel.noise}));
    }
    power_of_two_fft(x);
    std::vector<double> rails;
    for (std::size_t k = 32; k < 992; ++k) {
      const double rail = k % 2 == 0 ? x[2 * k].real() : -x[2 * k].imag();
      rails.push_back(setup_.reference_bits[k] != 0 ? rail : -rail);
    }
    std::ranges::sort(rails);
    std::vector<double> levels(16);
    double sum = 0;
    for (std::size_t i = 0; i < 960; ++i) sum += rails[i] / 16, levels[i / 60] += rails[i];
    for (double& level : levels) level /= sum;
    return levels;
  }
  std::vector<double> filter_levels() const { return {std::begin(setup_.filter.at), std::end(setup_.filter.at)}; }

  static double error(std::span<const float> x, const std::vector<double>& levels) {
    const auto n = static_cast<double>(x.size());
    double m2 = 0, r2 = 0, a = 0;
    for (const double s : levels) m2 += s * s / 16;
    for (const double v : x) r2 += v * v / n, a += std::abs(v) / n;
    double v = std::max(r2 - a * a * m2, 1e-4 * r2);
    for (int i = 0; i < 8; ++i) {
      double sum = 0;
      for (const double s : x) sum += s * std::tanh(a * s / v);
      a = sum / n;
      v = std::max(r2 - a * a * m2, 1e-4 * r2);
    }
    double p = 0;
    for (const double s : levels) p += std::erfc(a * s / std::sqrt(2 * v)) / 32;
    return p;
  }
  /// Of the sixteenths of a payload.
  std::vector<double> segments(const Floats& soft, const Channel* channel) const {
    std::vector<double> p;
    for (std::size_t s = 0; s < 16; ++s) {
      const std::span x(soft.data() + kPilot + s * kPayload / 16, kPayload / 16);
      const double filter = error(x, filter_levels());
      p.push_back(std::min(channel ? std::sqrt(filter * error(x, own_levels(*channel))) : filter, 0.5));
    }
    return p;
  }

 private:
  Setup setup_;
  int samples_per_bit_;
};

Setup with_reference() {
  Setup setup;
  set_reference(setup);
  return setup;
}

/// Soft values of a packet: ± levels plus noise.
Floats soft_of(double noise, unsigned seed) {
  const Setup setup = with_reference();
  std::mt19937 engine(seed);
  std::normal_distribution<double> gauss(0, noise);
  Floats soft;
  for (std::int64_t k = 0; k < kPilot + kPayload; ++k) {
    const double level = double{setup.filter.at[engine() % kLevels]};
    soft.push_back(static_cast<float>((engine() % 2 ? level : -level) + gauss(engine)));
  }
  return soft;
}

std::vector<StageInput> inputs_of(const Floats& soft, std::int64_t kinds, const std::vector<Channel>& channels = {}) {
  Floats noise;
  std::vector<cf32> taps;
  for (const Channel& c : channels) {
    noise.push_back(c.noise);
    taps.insert(taps.end(), c.taps.begin(), c.taps.end());
  }
  std::vector<StageInput> in{items_of(soft, {{"kind", kinds}, {"bit", kPilot + kPayload}})};
  if (channels.empty()) return in;
  in.push_back(items_of(taps, {{"tap", 38}}));
  in.push_back(items_of(noise, {{"one", 1}}));
  return in;
}

Floats joined(const std::vector<Floats>& parts) {
  Floats all;
  for (const Floats& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(PacketQuality, LevelsOfTheFilterAreThoseOfAnyReference) {
  // Those of another random sequence of 1024 bits.
  const double others[kLevels] = {.7875,  .8194,  .8459,  .8597,  .8715,  .8951,  .9164,  .9580,
                                  1.0419, 1.0745, 1.0971, 1.1236, 1.1403, 1.1632, 1.1840, 1.2217};
  const auto setup = with_reference();
  for (int i = 0; i < kLevels; ++i) EXPECT_NEAR(setup.filter.at[i], others[i], 0.03) << i;
}

TEST(PacketQuality, IsThatOfTheModel) {
  const Model model;
  const std::vector<Channel> channels{two_rays(0.5, 3, 0.1f), two_rays(0.05, 6, 0.4f)};
  const std::vector<Floats> soft{soft_of(0.3, 1), soft_of(0.45, 2), soft_of(0.6, 3), soft_of(0.25, 4)};
  const auto out = outputs_of(entry(), inputs_of(joined(soft), 2, channels));
  const Floats bep = all_of<float>(out[kBep]), segments = all_of<float>(out[kSegmentBep]);
  ASSERT_EQ(segments.size(), 4 * 16u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto expected = model.segments(soft[i], &channels[i / 2]);
    double mean = 0;
    for (std::size_t s = 0; s < 16; ++s) {
      EXPECT_NEAR(segments[16 * i + s] / expected[s], 1, 1e-4) << i << ' ' << s;
      mean += expected[s] / 16;
    }
    EXPECT_NEAR(bep[i] / mean, 1, 1e-4) << i;
  }
  EXPECT_THAT(all_of<float>(out[kDqm]), ElementsAre(dqm_of(double{bep[0]}), dqm_of(double{bep[2]})));
}

TEST(PacketQuality, WithoutAChannelTheFilterAloneServes) {
  const Model model;
  const Floats soft = soft_of(0.4, 5);
  const auto expected = model.segments(soft, nullptr);
  const Floats alone = all_of<float>(outputs_of(entry(), inputs_of(soft, 1))[kSegmentBep]);
  // Nor with one that is unusable.
  const Floats dead = all_of<float>(outputs_of(entry(), inputs_of(soft, 1, {{std::vector<cf32>(38), 0}}))[kSegmentBep]);
  const Floats broken =
      all_of<float>(outputs_of(entry(), inputs_of(soft, 1, {{std::vector<cf32>(38, {kNan, 0}), 1}}))[kSegmentBep]);
  for (std::size_t s = 0; s < 16; ++s) {
    EXPECT_NEAR(alone[s] / expected[s], 1, 1e-4) << s;
    EXPECT_EQ(dead[s], alone[s]);
    EXPECT_EQ(broken[s], alone[s]);
  }
}

TEST(PacketQuality, IsTheShareOfErrors) {
  for (const double noise : {0.35, 0.5, 0.8}) {
    std::vector<Floats> soft;
    for (unsigned seed = 0; seed < 8; ++seed) soft.push_back(soft_of(noise, 10 + seed));
    const Model model;
    double expected = 0;
    for (const double s : model.filter_levels()) expected += std::erfc(s / noise / std::numbers::sqrt2) / 32;
    double mean = 0;
    for (const float p : all_of<float>(outputs_of(entry(), inputs_of(joined(soft), 1))[kBep])) mean += double{p} / 8;
    EXPECT_NEAR(mean / expected, 1, 0.08) << noise;
  }
}

TEST(PacketQuality, OfUnusablePackets) {
  Floats broken = soft_of(0.3, 1);
  broken[kPilot + 1000] = kNan;  // in one segment of sixteen
  const Floats silent(kPilot + kPayload), sure(kPilot + kPayload, 1.0f);
  const auto out = outputs_of(entry(), inputs_of(joined({broken, silent, sure, soft_of(0.3, 1)}), 1));
  const Floats bep = all_of<float>(out[kBep]), segments = all_of<float>(out[kSegmentBep]);
  EXPECT_THAT(bep[0], IsNan());
  EXPECT_EQ(std::count_if(segments.begin(), segments.begin() + 16, [](float p) { return std::isnan(p); }), 1);
  EXPECT_EQ(bep[1], 0.5f);
  EXPECT_LT(bep[2], 1e-12f);
  const Floats dqm = all_of<float>(out[kDqm]);
  EXPECT_THAT(dqm, ElementsAre(0, 0, 65535, dqm_of(double{bep[3]})));
}

TEST(PacketQuality, MetricOfProbabilities) {
  const double at[] = {0.5, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12};
  const int expected[] = {0, 5211, 10899, 16382, 21845, 27307, 32768, 38229, 43691, 49152, 54613, 60075, 65535};
  for (std::size_t i = 0; i < std::size(at); ++i) EXPECT_EQ(dqm_of(at[i]), expected[i]) << at[i];
  EXPECT_EQ(dqm_of(0), 65535);
  EXPECT_EQ(dqm_of(1e-13), 65535);
  EXPECT_EQ(dqm_of(0.7), 0);
  EXPECT_EQ(dqm_of(std::numeric_limits<double>::quiet_NaN()), 0);
  for (int dqm = 0; dqm < 65536; ++dqm) {
    const double ratio = std::pow(10, -12.0 * dqm / 65536);
    ASSERT_EQ(dqm_of(ratio / (1 + ratio)), dqm);
  }
}

// Frames

Bytes random_bits(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  Bytes bits(n);
  for (auto& b : bits) b = engine() & 1;
  return bits;
}

struct Frame {
  int mark, word, dqm;
  Bytes bits;
};
std::vector<Frame> frames_of(const StageOutput& output, std::size_t payload) {
  const Bytes bytes = all_of<std::uint8_t>(output);
  const std::size_t size = 6 + payload / 8;
  std::vector<Frame> frames;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const auto number = [&](std::size_t i) { return bytes[at + i] << 8 | bytes[at + i + 1]; };
    frames.push_back({number(0), number(2), number(4), {}});
    for (std::size_t b = 0; b < payload; ++b) frames.back().bits.push_back(bytes[at + 6 + b / 8] >> (7 - b % 8) & 1);
  }
  return frames;
}

struct Recording {
  Floats soft = joined({soft_of(0.3, 1), soft_of(0.8, 2), soft_of(0.5, 3), soft_of(0.4, 4), soft_of(0.6, 5)});
  Bytes bits = random_bits(5 * kPayload, 6);
  std::vector<StageInput> inputs() const {
    auto in = inputs_of(soft, 1, std::vector<Channel>(5, two_rays(0.3, 2, 0.1f)));
    in.push_back(items_of(bits, {{"kind", 1}, {"bit", kPayload}}));
    return in;
  }
};

TEST(QualityFrames, AreThoseOfThePackets) {
  const Recording r;
  const auto out = outputs_of(entry(), r.inputs(), 2, "{payload: 2048, word: 513}");
  const auto frames = frames_of(out[kFrames], 2048);
  const Floats segments = all_of<float>(out[kSegmentBep]);
  ASSERT_EQ(frames.size(), 15u);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    EXPECT_EQ(frames[f].mark, 0xfac4);
    EXPECT_EQ(frames[f].word, 513);
    EXPECT_TRUE(std::equal(frames[f].bits.begin(), frames[f].bits.end(),
                           r.bits.begin() + 2048 * static_cast<std::ptrdiff_t>(f)));
    double sum = 0;  // of segments of 384 bits that the frame covers
    for (std::size_t b = 0; b < 2048; ++b) sum += double{segments[(2048 * f + b) / 384]};
    EXPECT_NEAR(frames[f].dqm, dqm_of(sum / 2048), 1) << f;
  }
}

TEST(QualityFrames, AreOneStreamHoweverItIsCut) {
  const Recording r;
  for (const std::size_t payload : {4096u, 8192u, 20000u}) {
    const std::string keys = "{payload: " + std::to_string(payload) + "}";
    const auto whole = outputs_of(entry(), r.inputs(), 0, keys);
    const Bytes bytes = all_of<std::uint8_t>(whole[kFrames]);
    for (const std::int64_t block : {1, 2, 3})
      EXPECT_EQ(all_of<std::uint8_t>(outputs_of(entry(), r.inputs(), block, keys)[kFrames]), bytes) << block;
    const auto frames = frames_of(whole[kFrames], payload);
    const Floats segments = all_of<float>(whole[kSegmentBep]);
    ASSERT_EQ(frames.size(), r.bits.size() / payload);
    for (std::size_t f = 0; f < frames.size(); ++f) {
      const auto begin = static_cast<std::ptrdiff_t>(f * payload);
      EXPECT_TRUE(std::equal(frames[f].bits.begin(), frames[f].bits.end(), r.bits.begin() + begin)) << f;
      double sum = 0;
      for (std::size_t b = f * payload; b < (f + 1) * payload; ++b) sum += double{segments[b / 384]};
      EXPECT_NEAR(frames[f].dqm, dqm_of(sum / static_cast<double>(payload)), 1) << f;
    }
  }
}

TEST(QualityFrames, OfDecodedWords) {
  const Recording r;
  auto in = r.inputs();
  in[kBits] = items_of(random_bits(5 * 3 * 1024, 7), {{"word", 3}, {"bit", 1024}});
  in.push_back(items_of(Bytes{0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1}, {{"word", 3}}));
  const auto out = outputs_of(entry(), std::move(in), 0, "{payload: 1024}");
  const auto frames = frames_of(out[kFrames], 1024);
  const Floats segments = all_of<float>(out[kSegmentBep]);
  ASSERT_EQ(frames.size(), 15u);
  EXPECT_EQ(frames[0].dqm, 65535);
  double sum = 0;  // of the word's third of its packet
  for (std::size_t b = 2048; b < 4096; ++b) sum += double{segments[b / 384]};
  EXPECT_NEAR(frames[1].dqm, dqm_of(sum / 2048), 1);
  EXPECT_EQ(frames[9].dqm, 65535);
}

TEST(PacketQuality, RefusesWhatDoesNotFit) {
  const auto complaint = [](std::vector<StageInput> in, const std::string& keys) {
    Problems problems;
    const StageEntry stage = entry();
    const StageRunner runner(stage, keys, std::move(in), 0, "cpu", problems);
    return problems.empty() ? std::string() : problems[0].text();
  };
  const Recording r;
  EXPECT_THAT(complaint({items_of(Floats(100), {{"kind", 1}, {"bit", 100}})}, "{}"),
              HasSubstr("needs packets of 6336"));
  EXPECT_THAT(complaint(r.inputs(), "{payload: 1001}"), HasSubstr("multiple of 8"));
  EXPECT_THAT(complaint(r.inputs(), "{kind: fde1}"), HasSubstr("'fde1' is not among the kinds"));
  auto in = r.inputs();
  in[kBits] = items_of(Bytes(5 * 3 * 100), {{"kind", 3}, {"bit", 100}});
  EXPECT_THAT(complaint(std::move(in), "{}"), HasSubstr("has 3 kinds"));
  in = r.inputs();
  in.push_back(items_of(Bytes(5 * 7), {{"word", 7}}));
  EXPECT_THAT(complaint(std::move(in), "{}"), HasSubstr("of the words of 'bits'"));
}

}  // namespace
}  // namespace iqd::packet_quality
