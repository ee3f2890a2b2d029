// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// From antennas to bits: frames through a multipath channel. Each stage on CUDA against the CPU's on the same input,
// and the final bits against the sent ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "signal/formats/ofdm_format.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

constexpr std::int64_t kFrames = 4;
constexpr std::int64_t kBeforeFrame = 1234;  // noise before the first frame
constexpr std::int64_t kTaps = 5;            // of the channel, sample by sample

struct ChainCase {
  const char* name;
  OfdmFormat format;
  Modulation modulation;
  int rx;
  double snr_db;
  double offset_hz;
  double last_antenna_db;  // relative to the others
};

void PrintTo(const ChainCase& c, std::ostream* out) {
  *out << c.name << ", " << c.rx << " antennas, " << c.snr_db << " dB";
}

double rate_of(const OfdmFormat& f) {
  return static_cast<double>(f.fft) * 15e3;
}

struct ChainHeard {
  std::vector<cf32> samples;  // [rx][n]
  std::vector<std::uint8_t> information;
};

/// x_t(n) of all antennas, and the words in it.
std::vector<std::vector<cf32>> sent_frames(const ChainCase& c, std::vector<std::uint8_t>& information) {
  const OfdmFrameMaker maker(c.format, c.modulation);
  const OfdmFrameBits bits_of_frame(c.format.bits(c.modulation), whole_code(ldpc_codes().front()));
  std::vector<std::byte> scratch(std::max(maker.scratch_bytes(), bits_of_frame.scratch_bytes()));
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(bits_of_frame.bits()));
  std::vector<std::uint8_t> words(static_cast<std::size_t>(bits_of_frame.information()));
  std::vector<std::vector<cf32>> sent(static_cast<std::size_t>(c.format.tx));
  for (auto& x : sent) x.resize(static_cast<std::size_t>(kFrames * c.format.frame));
  for (std::int64_t f = 0; f < kFrames; ++f) {
    bits_of_frame.payload(f, words);
    information.insert(information.end(), words.begin(), words.end());
    bits_of_frame.make(f, bits, scratch.data());
    std::vector<cf32*> antennas;
    for (auto& x : sent) antennas.push_back(x.data() + f * c.format.frame);
    maker.make(bits, antennas, scratch.data());
  }
  return sent;
}

ChainHeard frames_through(const ChainCase& c) {
  ChainHeard heard;
  const auto sent = sent_frames(c, heard.information);
  std::mt19937 generator(5);
  std::normal_distribution<float> normal(0, std::sqrt(0.5F));
  const auto complex_normal = [&] { return cf32(normal(generator), normal(generator)); };
  const std::int64_t length = kBeforeFrame + kFrames * c.format.frame + 3000;
  const auto tx = static_cast<float>(c.format.tx);
  // Noise power per carrier; unused carriers add to the noise power per sample.
  const float noise = std::sqrt(tx * std::pow(10.0F, -static_cast<float>(c.snr_db) / 10) *
                                static_cast<float>(c.format.fft) / static_cast<float>(c.format.carriers));
  for (int r = 0; r < c.rx; ++r) {
    std::vector<cf32> h;
    for (std::int64_t i = 0; i < c.format.tx * kTaps; ++i)
      h.push_back(complex_normal() * std::exp(-0.4F * static_cast<float>(i % kTaps)) / 1.35F);
    const float level = r == c.rx - 1 ? std::pow(10.0F, static_cast<float>(c.last_antenna_db) / 20) : 1;
    for (std::int64_t n = 0; n < length; ++n) {
      cf32 y = noise * complex_normal();
      for (std::int64_t t = 0; t < c.format.tx; ++t)
        for (std::int64_t d = 0; d < kTaps; ++d) {
          const std::int64_t at = n - kBeforeFrame - d;
          if (at < 0 || at >= kFrames * c.format.frame) continue;
          y += h[static_cast<std::size_t>(t * kTaps + d)] *
               sent[static_cast<std::size_t>(t)][static_cast<std::size_t>(at)];
        }
      const double turn = std::remainder(c.offset_hz / rate_of(c.format) * static_cast<double>(n), 1.0);
      heard.samples.push_back(0.1F * level * y * std::polar(1.0F, static_cast<float>(2 * M_PI * turn)));
    }
  }
  return heard;
}

std::string format_of(const OfdmFormat& f) {
  return fmt::format("{{fft: {}, carriers: {}, prefix: {}, frame: {}, tx: {}, midambles: {}{}}}", f.fft, f.carriers,
                     f.prefix, f.frame, f.tx, f.midambles, f.tail ? ", tail: true" : "");
}

/// All stages' outputs. Each stage reads from `feed` if given, else the outputs of the stages before it.
std::map<std::string, Ports> receive_chain(const ChainCase& c, const ChainHeard& heard, const std::string& backend,
                                           std::int64_t block, const std::map<std::string, Ports>* feed = nullptr) {
  std::map<std::string, Ports> all;
  const auto from = [&](const char* stage, const char* port) {
    return input_of((feed ? *feed : all).at(stage).at(port));
  };
  const std::string format = format_of(c.format);
  const std::string_view modulation = enum_names(c.modulation)[static_cast<std::size_t>(c.modulation)];
  all["sync"] = run("ofdm_sync", format, {input_of(heard.samples, rate_of(c.format), c.rx)}, backend, block);
  all["demod"] = run("ofdm_demod", format, {from("sync", "frames")}, backend);
  const std::string track = c.format.tail ? format.substr(0, format.size() - 1) + ", track: frame}" : format;
  all["estimator"] = run("mimo_channel_estimator", track, {from("demod", "carriers")}, backend);
  all["detector"] = run("mtt_detector", fmt::format("{{modulation: {}, llr: i8}}", modulation),
                        {from("estimator", "y"), from("estimator", "h"), from("estimator", "noise")}, backend);
  all["decoder"] = run("ldpc_decoder", "{interleave: frame}", {from("detector", "llr")}, backend);
  return all;
}

/// Frames whose antennas announce modulations, behind another channel each, in noise.
std::vector<cf32> announcing_frames(const OfdmFormat& f, std::int64_t rx, std::int64_t count) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal(0, std::sqrt(0.5F));
  const auto complex_normal = [&] { return cf32(normal(generator), normal(generator)); };
  const OfdmReference reference(f);
  std::vector<cf32> carriers;
  for (std::int64_t frame = 0; frame < count; ++frame) {
    std::vector<cf32> h;
    for (std::int64_t i = 0; i < rx * f.tx; ++i) h.push_back(complex_normal());
    for (std::int64_t s = 0; s < f.symbols(); ++s)
      for (std::int64_t c = 0; c < f.carriers; ++c)
        for (std::int64_t r = 0; r < rx; ++r) {
          cf32 y = complex_normal();
          for (std::int64_t a = 0; a < f.tx; ++a) {
            cf32 x = 0;
            if (s == 0 && reference.sync_antenna(c) == a)
              x = reference.sync()[static_cast<std::size_t>(c)] *
                  OfdmAnnouncement::signs(1 + static_cast<int>((frame + a) % 6),
                                          f.carriers)[static_cast<std::size_t>(reference.sync_number(c))];
            if (s > 0 && s <= f.tx) x = reference.training()[static_cast<std::size_t>(c)] * reference.cover(a, s - 1);
            y += h[static_cast<std::size_t>(r * f.tx + a)] * x;
          }
          carriers.push_back(y);
        }
  }
  return carriers;
}

TEST(AnnouncedModulation, IsReadAlikeOnCuda) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO MODULATION WAS READ ON CUDA: " << why;
  for (const std::int64_t tx : {1, 2, 4, 8}) {
    const OfdmFormat f{.fft = 256, .carriers = 180, .prefix = 18, .frame = 12 * 274 + 7, .tx = tx};
    const auto carriers = items(announcing_frames(f, tx, 9), Element::cf32, "frame",
                                {{"symbol", f.symbols()}, {"carrier", f.carriers}, {"rx", tx}});
    for (const std::int64_t block : {0, 1, 4}) {
      const Ports cpu = run("mimo_modulation", format_of(f), {carriers}, "cpu", block);
      const Ports cuda = run("mimo_modulation", format_of(f), {carriers}, "cuda", block);
      EXPECT_EQ(values<std::uint8_t>(cpu.at("modulation")), values<std::uint8_t>(cuda.at("modulation"))) << tx;
      EXPECT_EQ(values<std::int64_t>(cpu.at("events")), values<std::int64_t>(cuda.at("events"))) << tx;
      const auto a = values<float>(cpu.at("margin")), b = values<float>(cuda.at("margin"));
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4F * a[i]) << tx;
    }
  }
}

std::size_t errors(const ChainHeard& heard, const Ports& decoder) {
  const auto bits = values<std::uint8_t>(decoder.at("bits"));
  if (bits.size() != heard.information.size()) return std::max(bits.size(), heard.information.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) wrong += bits[i] != heard.information[i];
  return wrong;
}

std::vector<std::int64_t> starts_of(const ChainCase& c) {
  std::vector<std::int64_t> starts;
  for (std::int64_t f = 0; f < kFrames; ++f) starts.push_back(kBeforeFrame + f * c.format.frame);
  return starts;
}

/// The first path may be weak, so a frame may seem to start a little later.
void expect_starts(const ChainCase& c, const Ports& sync) {
  const auto found = values<std::int64_t>(sync.at("start"));
  const auto expected = starts_of(c);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LE(std::abs(found[i] - expected[i]), kTaps) << i;
}

const ChainCase kCases[] = {
    {"two_in_5mhz", {}, Modulation::qam16, 2, 25, 3000, 0},
    {"two_at_four", {}, Modulation::qam64, 4, 25, -41'000, 0},
    {"levels_apart", {}, Modulation::qpsk, 3, 18, 20'000, -40},
    {"with_midambles", {.midambles = 2}, Modulation::qam16, 2, 25, 3000, 0},
    {"with_tails", {.midambles = 1, .tail = true}, Modulation::qam16, 2, 25, 3000, 0},
    {"four_in_20mhz", {2048, 1200, 144, 30720, 4, 25}, Modulation::qam64, 4, 34, -700, 0},
};

class ChainOnCuda : public ::testing::TestWithParam<ChainCase> {};

TEST_P(ChainOnCuda, EachStageAgreesWithTheCpu) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO FRAME WAS RECEIVED ON CUDA: " << why;
  const ChainHeard heard = frames_through(GetParam());
  const auto cpu = receive_chain(GetParam(), heard, "cpu", 0), cuda = receive_chain(GetParam(), heard, "cuda", 0, &cpu);
  EXPECT_EQ(values<std::int64_t>(cuda.at("sync").at("start")), values<std::int64_t>(cpu.at("sync").at("start")));
  struct Limit {
    const char *stage, *port;
    double relative;
  };
  for (const Limit& l : {Limit{"sync", "frames", 1e-4},
                         {"sync", "metric", 1e-4},
                         {"sync", "offset_hz", 1e-4},
                         {"sync", "events", 0},
                         {"demod", "carriers", 1e-5},
                         {"estimator", "y", 1e-4},
                         {"estimator", "h", 1e-4},
                         {"estimator", "noise", 1e-3},
                         {"estimator", "phase", 1e-3},
                         {"detector", "events", 0},
                         {"decoder", "bits", 0},
                         {"decoder", "iterations", 0},
                         {"decoder", "events", 0}})
    EXPECT_LE(distance(cpu.at(l.stage).at(l.port), cuda.at(l.stage).at(l.port)),
              GetParam().format.tail && l.stage == std::string_view("estimator") ? 10 * l.relative : l.relative)
        << l.stage << '.' << l.port;
}

TEST_P(ChainOnCuda, TheWholeReceiverDecodesInBlocks) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO FRAME WAS RECEIVED ON CUDA: " << why;
  const ChainHeard heard = frames_through(GetParam());
  const auto cuda = receive_chain(GetParam(), heard, "cuda", GetParam().format.frame);
  expect_starts(GetParam(), cuda.at("sync"));
  EXPECT_EQ(errors(heard, cuda.at("decoder")), 0u);
}

INSTANTIATE_TEST_SUITE_P(Frames, ChainOnCuda, ::testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

/// More antennas than the multi-antenna receiver supports, and few carriers, as for several users.
TEST(FrontEndOnCuda, HearsManyAntennas) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO FRAME WAS RECEIVED ON CUDA: " << why;
  for (const int rx : {9, 16, 64}) {
    const ChainCase c{"many", {512, 36, 36, 7680, 1, 25}, Modulation::qpsk, rx, 15, 2000, -40};
    const ChainHeard heard = frames_through(c);
    const auto sync = [&](const char* backend) {
      return run("ofdm_sync", format_of(c.format), {input_of(heard.samples, rate_of(c.format), rx)}, backend);
    };
    const Ports cpu = sync("cpu"), cuda = sync("cuda");
    EXPECT_EQ(values<std::int64_t>(cpu.at("start")).size(), std::size_t{kFrames}) << rx;
    for (const auto& [port, limit] :
         {std::pair{"start", 0.0}, {"events", 0.0}, {"metric", 1e-4}, {"offset_hz", 1e-4}, {"frames", 1e-4}})
      EXPECT_LE(distance(cpu.at(port), cuda.at(port)), limit) << rx << ' ' << port;
    const auto carriers = [&](const char* backend) {
      return run("ofdm_demod", format_of(c.format), {input_of(cpu.at("frames"))}, backend).at("carriers");
    };
    EXPECT_LE(distance(carriers("cpu"), carriers("cuda")), 1e-5) << rx;
  }
}

/// Frames and a tone 30 dB above a carrier, which is 5 dB above all carriers.
ChainHeard frames_beside_tone(const ChainCase& c) {
  ChainHeard heard = frames_through(c);
  const std::int64_t length = std::ssize(heard.samples) / c.rx;
  for (std::int64_t i = 0; i < std::ssize(heard.samples); ++i) {
    const double turn = std::remainder(40.5 / 512 * static_cast<double>(i % length), 1.0);
    heard.samples[static_cast<std::size_t>(i)] +=
        std::polar(0.1F * std::sqrt(2 * 3.3F), static_cast<float>(2 * M_PI * turn));
  }
  return heard;
}
Ports sync_beside_tone(const ChainCase& c, const ChainHeard& heard, const char* backend, std::int64_t block) {
  return run("ofdm_sync", "{reject_tones: true}", {input_of(heard.samples, rate_of(c.format), c.rx)}, backend, block);
}
const ChainCase kBesideTone[] = {
    {"two", {}, Modulation::qpsk, 2, 20, 3000, 0},
    {"levels_apart", {}, Modulation::qpsk, 4, 20, 3000, -20},
    {"many", {}, Modulation::qpsk, 64, 20, 3000, 0},
};

TEST(FrontEndOnCuda, HearsFramesBesideATone) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO FRAME WAS RECEIVED ON CUDA: " << why;
  for (const ChainCase& c : kBesideTone) {
    const ChainHeard heard = frames_beside_tone(c);
    const Ports cpu = sync_beside_tone(c, heard, "cpu", 0);
    for (const std::int64_t block : {0, 7680}) {
      const Ports cuda = sync_beside_tone(c, heard, "cuda", block);
      for (const auto& [port, limit] :
           {std::pair{"start", 0.0}, {"metric", 0.0}, {"offset_hz", 1e-4}, {"frames", 1e-4}})
        EXPECT_LE(distance(cpu.at(port), cuda.at(port)), limit) << c.name << ' ' << port << ' ' << block;
    }
  }
}

TEST(Chain, HearsFramesBesideAToneOnTheCpu) {
  for (const ChainCase& c : kBesideTone) {
    const ChainHeard heard = frames_beside_tone(c);
    const Ports whole = sync_beside_tone(c, heard, "cpu", 0), blocks = sync_beside_tone(c, heard, "cpu", 5003);
    expect_starts(c, whole);
    for (const char* port : {"start", "metric", "offset_hz", "frames"})
      EXPECT_EQ(distance(whole.at(port), blocks.at(port)), 0) << c.name << ' ' << port;
  }
}

TEST(Chain, IsReceivedOnTheCpu) {
  for (const ChainCase& c : {kCases[0], kCases[2], kCases[3], kCases[4]}) {
    const ChainHeard heard = frames_through(c);
    const auto whole = receive_chain(c, heard, "cpu", 0), blocks = receive_chain(c, heard, "cpu", 5003);
    expect_starts(c, whole.at("sync"));
    EXPECT_EQ(errors(heard, whole.at("decoder")), 0u) << c.name;
    EXPECT_EQ(distance(whole.at("sync").at("frames"), blocks.at("sync").at("frames")), 0) << c.name;
    EXPECT_EQ(distance(whole.at("detector").at("llr"), blocks.at("detector").at("llr")), 0) << c.name;
  }
}

}  // namespace
}  // namespace iqd::conformance
