// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync_model.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ofdm_sync {
StageEntry entry();
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;
using Starts = std::vector<std::int64_t>;
using Counts = std::vector<std::int64_t>;
template <class Sample> using Rows = std::vector<std::vector<Sample>>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kRate = 7.68e6;
constexpr double kSpacing = 15e3;

/// Short frames, so that tests are: 1160 samples of 7 symbols, 88 in front of the first transform.
const std::string kShort = "fft: 128, carriers: 72, prefix: 16, frame: 1160, tx: 2, pilot_every: 12";
OfdmFormat short_format() {
  return {.fft = 128, .carriers = 72, .prefix = 16, .frame = 1160, .tx = 2, .pilot_every = 12};
}
const std::string kWide = "fft: 2048, carriers: 1200, prefix: 144, frame: 30720, tx: 4";
OfdmFormat wide_format() {
  return {.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720, .tx = 4};
}

/// All that came of a stream, or of a block.
struct Results {
  std::vector<cf32> frames;
  Starts start;
  std::vector<float> offset_hz;
  std::vector<float> metric;
  Counts events = Counts(kEvents.size());

  /// A block behind those so far, with so many frames.
  void append(const Results& block, std::int64_t count) {
    const auto add = [](auto& to, const auto& from, std::int64_t n) {
      to.insert(to.end(), from.begin(), from.begin() + n);
    };
    add(frames, block.frames, count * std::ssize(block.frames) / std::ssize(block.start));
    add(start, block.start, count);
    add(offset_hz, block.offset_hz, count);
    add(metric, block.metric, count);
    for (std::size_t e = 0; e < events.size(); ++e) events[e] += block.events[e];
  }
};

bool same(const Results& a, const Results& b) {
  return a.start == b.start && a.events == b.events && same_bits(a.frames, b.frames) &&
         same_bits(a.offset_hz, b.offset_hz) && same_bits(a.metric, b.metric);
}

/// The stage, fed block by block, each in memory of its own so that an address checker sees every stray read.
class SyncUnderTest {
 public:
  SyncUnderTest(const std::string& keys, Element element, std::int64_t rows, double rate_hz, std::int64_t most_new)
      : shapes_(entry().outputs.size(), stream_of(element, rows, rate_hz)) {
    Problems problems;
    const Document document = parse_document("{" + keys + "}", "test.yaml", problems);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage_->fields(v); }, problems);
    const std::vector<PortShape> in{shapes_[0]};
    ShapeContext context{
        .in = in, .out = shapes_, .footprint = {&footprint_, 1}, .most_new = most_new, .section = section};
    stage_->shape(context);
    EXPECT_TRUE(problems.empty()) << problems.front().text();
    scratch_.resize(context.scratch_bytes);
    run_ = stage_->make(*backend_);
  }

  std::int64_t more = 0;  // samples than it asks for, on both sides

  /// The block of the new samples at … end - 1, of a stream whose first sample is number `first_of_all`.
  template <class Sample>
  void block(const Rows<Sample>& x, std::int64_t at, std::int64_t end, std::int64_t first_of_all, Results& all) {
    const std::int64_t first = std::max<std::int64_t>(0, at - footprint_.past - more);
    const std::int64_t last = std::min(std::ssize(x[0]), end + footprint_.future + more);
    std::vector<Sample> samples;
    for (const auto& row : x) samples.insert(samples.end(), row.begin() + first, row.begin() + last);
    const auto most = static_cast<std::size_t>(shapes_[0].most);
    Results r{std::vector<cf32>(most * static_cast<std::size_t>(shapes_[0].item_size())), Starts(most),
              std::vector<float>(most), std::vector<float>(most)};
    std::int32_t counts[5] = {};
    const auto port = [&](auto& memory, std::size_t o) {
      return PortIo{.data = reinterpret_cast<std::byte*>(memory.data()),
                    .length = shapes_[o].most,
                    .item = shapes_[o].item_size(),
                    .count = &counts[o]};
    };
    const PortIo input{.data = reinterpret_cast<std::byte*>(samples.data()),
                       .first = first_of_all + first,
                       .length = last - first,
                       .pitch = (last - first) * static_cast<std::int64_t>(sizeof(Sample)),
                       .rows = std::ssize(x)};
    const std::vector<PortIo> out{port(r.frames, 0), port(r.start, 1), port(r.offset_hz, 2), port(r.metric, 3),
                                  port(r.events, 4)};
    run_->enqueue({.in = {&input, 1},
                   .out = out,
                   .first_new = first_of_all + at,
                   .end_new = first_of_all + end,
                   .scratch = scratch_.data()},
                  {});
    for (const int o : {1, 2, 3}) EXPECT_EQ(counts[o], counts[0]);
    EXPECT_EQ(counts[4], 1);
    all.append(r, counts[0]);
  }

 private:
  std::unique_ptr<Stage> stage_ = entry().make();
  std::vector<PortShape> shapes_;
  Footprint footprint_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<StageRun> run_;
};

struct Cut {
  std::vector<std::int64_t> lengths = {1 << 30};  // of blocks; the last one repeats
  std::int64_t first_of_all = 0;
  double rate_hz = kRate;
  std::int64_t more = 0;
};

template <class Sample> Results sync(const std::string& keys, const Rows<Sample>& x, const Cut& cut = {}) {
  const std::int64_t length = std::ssize(x[0]);
  const std::int64_t longest = *std::max_element(cut.lengths.begin(), cut.lengths.end());
  SyncUnderTest stage(keys, element_of<Sample>, std::ssize(x), cut.rate_hz, std::min(longest, length));
  stage.more = cut.more;
  Results all;
  std::size_t turn = 0;
  for (std::int64_t at = 0; at < length;) {
    const std::int64_t end = std::min(length, at + cut.lengths[std::min(turn++, cut.lengths.size() - 1)]);
    stage.block(x, at, end, cut.first_of_all, all);
    at = end;
  }
  return all;
}

Rows<cf32> rounded(const std::vector<Row>& x) {
  Rows<cf32> y;
  for (const Row& row : x) y.emplace_back(row.begin(), row.end());
  return y;
}

/// A scene with short frames.
Scene short_scene(Starts starts) {
  Scene s{.format = short_format(), .starts = std::move(starts)};
  s.rate_hz = kSpacing * 128;
  s.length = s.starts.back() + 1160 + 700;
  s.noise_db = -20;
  return s;
}
Results sync_short(const Rows<cf32>& x, Cut cut = {}) {
  cut.rate_hz = kSpacing * 128;
  return sync(kShort, x, cut);
}
Results sync_short(const Scene& s, const Cut& cut = {}) {
  return sync_short(rounded(receive(s)), cut);
}

TEST(OfdmSync, FindsFramesBackToBackAndWithGaps) {
  const OfdmFormat format;
  Scene s{.format = format, .starts = {500, 500 + 7680, 500 + 2 * 7680 + 3001}};
  s.length = s.starts.back() + 7680 + 10;
  s.noise_db = -20;
  const auto x = rounded(receive(s));
  const Results r = sync("", x);
  EXPECT_EQ(r.start, s.starts);
  EXPECT_THAT(r.events, ElementsAre(3, 0, 0, 0));
  for (const float metric : r.metric) EXPECT_NEAR(metric, 1 / 1.01, 0.005);
}

/// Sample m of a frame times exp(-2 pi j offset m / rate), with the offset that is given.
TEST(OfdmSync, FramesAreTheSamplesWithoutTheOffset) {
  Scene s = short_scene({300, 1700});
  s.offset_hz = 12345;
  const auto x = rounded(receive(s));
  const Results r = sync_short(x);
  ASSERT_EQ(r.start, s.starts);
  std::size_t i = 0;
  for (std::size_t f = 0; f < 2; ++f)
    for (const auto& row : x)
      for (std::int64_t m = 0; m < 1160; ++m, ++i) {
        const double turns = -static_cast<double>(r.offset_hz[f]) * static_cast<double>(m) / (kSpacing * 128);
        const auto exact = std::complex<double>(row[static_cast<std::size_t>(s.starts[f] + m)]) *
                           std::polar(1.0, 2 * std::numbers::pi * turns);
        ASSERT_LT(std::abs(std::complex<double>(r.frames[i]) - exact), 3e-7 * std::abs(exact) + 1e-12) << f << " " << m;
      }
}

TEST(OfdmSync, HowTheStreamIsCutDoesNotMatter) {
  Scene s = short_scene({0, 1160, 2600, 3760, 4920, 7000});
  s.offset_hz = -33e3;
  s.noise_db = -6;
  s.echoes = {{0, -3}, {7, 0}, {13, -6}};
  const auto x = rounded(receive(s));
  const Results whole = sync_short(x);
  EXPECT_EQ(whole.start.size(), s.starts.size());
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{29}, {1, 1159, 1, 1439, 1160}, {3000, 4900}, {97, 5000, 3}, {1160}, {580}})
    EXPECT_TRUE(same(sync_short(x, {.lengths = lengths}), whole)) << lengths[0];
  // Neighbours may ask for more.
  EXPECT_TRUE(same(sync_short(x, {.lengths = {200, 1160}, .more = 5000}), whole));
  Rows<cf32> front;
  for (const auto& row : x) front.emplace_back(row.begin(), row.begin() + 1900);
  EXPECT_TRUE(same(sync_short(front, {.lengths = {1}}), sync_short(front)));
}

/// The grid lies by absolute position, and after a gap a stream begins anywhere.
TEST(OfdmSync, AStreamMayBeginAnywhere) {
  const Scene s = short_scene({40, 1201, 3000});
  const auto x = rounded(receive(s));
  for (const std::int64_t first : {1, 2, 3, 1000003}) {
    const Results whole = sync_short(x, {.first_of_all = first});
    EXPECT_EQ(whole.start, (Starts{first + 40, first + 1201, first + 3000}));
    EXPECT_TRUE(same(sync_short(x, {.lengths = {333}, .first_of_all = first}), whole));
  }
}

struct Air {
  double snr_db;
  double offset_hz;
};
class OfdmSyncInNoise : public ::testing::TestWithParam<Air> {};

TEST_P(OfdmSyncInNoise, StartsAreExactAndOffsetsClose) {
  const OfdmFormat format;
  Scene s{.format = format, .starts = {100, 100 + 7680, 100 + 3 * 7680}};
  s.length = s.starts.back() + 7680;
  s.noise_db = -GetParam().snr_db;
  s.offset_hz = GetParam().offset_hz;
  s.seed = 77;
  const Results r = sync("", rounded(receive(s)));
  EXPECT_EQ(r.start, s.starts);
  EXPECT_THAT(r.events, ElementsAre(3, 0, 0, 0));
  // Of two antennas; at 10 dB 0.002 carriers are one standard deviation.
  const double close = GetParam().snr_db >= 10 ? 0.007 : 0.04;
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset / kSpacing, s.offset_hz / kSpacing, close);
}

INSTANTIATE_TEST_SUITE_P(All, OfdmSyncInNoise,
                         ::testing::Values(Air{0, -60e3}, Air{0, -37e3}, Air{0, 0}, Air{0, 22.5e3}, Air{0, 60e3},
                                           Air{10, -60e3}, Air{10, -15e3}, Air{10, 1e3}, Air{10, 44.9e3},
                                           Air{20, -30e3}, Air{30, 14.9e3}, Air{30, 60e3}),
                         [](const auto& i) { return std::to_string(i.index); });

TEST(OfdmSync, FourAntennasOfTwentyMegahertz) {
  Scene s{.format = wide_format(), .rx = 4, .starts = {1000, 1000 + 30720}};
  s.length = s.starts.back() + 30720;
  s.rate_hz = 30.72e6;
  s.noise_db = 0;
  s.offset_hz = -51e3;
  const Results r = sync(kWide, rounded(receive(s)), {.rate_hz = s.rate_hz});
  EXPECT_EQ(r.start, s.starts);
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.01 * kSpacing);
}

/// The frame starts with the first path, and all others are within one prefix; carriers of 300 of 512 tell paths apart
/// to some two samples.
TEST(OfdmSync, StartsWithTheFirstPath) {
  const OfdmFormat format;
  const std::vector<std::vector<Echo>> channels{{{0, 0}, {35, 0}},
                                                {{0, -10}, {20, 0}},
                                                {{0, 0}, {5, -3}, {36, -10}},
                                                {{0, -6}, {36, 0}},
                                                {{0, 0}, {12, -1}, {24, -2}}};
  for (const auto& echoes : channels)
    for (const double snr_db : {10, 25}) {
      Scene s{.format = format, .starts = {100, 100 + 7680, 100 + 2 * 7680}, .echoes = echoes};
      s.length = s.starts.back() + 7680 + 40;
      s.noise_db = -snr_db;
      s.offset_hz = 20e3;
      const Results r = sync("", rounded(receive(s)));
      ASSERT_EQ(r.start.size(), 3u) << echoes[1].delay;
      for (std::size_t f = 0; f < 3; ++f)
        EXPECT_LE(std::abs(r.start[f] - s.starts[f]), 2) << echoes[1].delay << " " << snr_db;
    }
}

/// However one antenna compares with the other: weaker in all, its signal alone weaker, dead, or full of noise.
TEST(OfdmSync, AntennasThatDiffer) {
  Scene s = short_scene({100, 1400, 2600});
  s.noise_db = -10;
  for (const std::vector<double>& levels : {std::vector<double>{0, -40}, {-40, 0}, {0, -400}, {60, -60}}) {
    s.level_db = levels;
    EXPECT_EQ(sync_short(s).start, s.starts) << levels[0];
  }
  s.level_db = {};
  auto x = rounded(receive(s));
  const auto noise = testing::complex_noise(std::ssize(x[0]), 9);
  for (const float level : {0.01f, 1.0f, 100.0f}) {
    for (std::size_t n = 0; n < noise.size(); ++n) x[0][n] = level * noise[n];
    EXPECT_EQ(sync_short(x).start, s.starts) << level;
  }
  std::fill(x[0].begin(), x[0].end(), cf32(0.7f, -0.1f));  // a constant: alike in all places
  EXPECT_EQ(sync_short(x).start, s.starts);
}

/// What radios add in the middle of their band, ten times the signal's power.
TEST(OfdmSync, AConstantIsNotInTheWay) {
  Scene s{.format = OfdmFormat{}, .starts = {300, 300 + 7680 + 500}};
  s.length = s.starts.back() + 7680 + 300;
  s.noise_db = -10;
  s.offset_hz = 21e3;
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (cf32& v : row) v += cf32(2, -2.5f);
  const Results r = sync("", x);
  EXPECT_EQ(r.start, s.starts);
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.01 * kSpacing);
  for (auto& row : x) row.assign(30000, cf32(2, -2.5f));
  EXPECT_THAT(sync("", x).events, ElementsAre(0, 0, 0, 0));
}

TEST(OfdmSync, OneOfEightAntennasIsEnough) {
  Scene s = short_scene({100, 1400, 2600});
  s.rx = 1;
  s.noise_db = -3;
  auto x = rounded(receive(s));
  for (unsigned r = 0; r < 7; ++r) x.push_back(testing::complex_noise(std::ssize(x[0]), 20 + r));
  EXPECT_EQ(sync_short(x).start, s.starts);
}

TEST(OfdmSync, NothingIsFoundInNoise) {
  const auto x = testing::complex_noise(400000);
  EXPECT_THAT(sync("", Rows<cf32>{x}).events, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(sync("", Rows<cf32>{x, testing::complex_noise(400000, 2)}).events, ElementsAre(0, 0, 0, 0));
}

/// Their halves are alike in all places; it is the known symbols that tell them from frames.
TEST(OfdmSync, NothingIsFoundInTonesAndConstants) {
  for (const double frequency : {0.0, 0.1, 1.0, 7.5, 100.0, -63.3}) {
    Rows<cf32> x(1);
    for (int n = 0; n < 30000; ++n) x[0].emplace_back(std::polar(0.3, 2 * std::numbers::pi * frequency / 512 * n));
    EXPECT_THAT(sync("", x).events, ElementsAre(0, 0, 0, 0)) << frequency;
    const auto noise = testing::complex_noise(30000, 8);
    for (std::size_t n = 0; n < noise.size(); ++n) x[0][n] += 0.01f * noise[n];
    EXPECT_THAT(sync("", x).events, ElementsAre(0, 0, 0, 0)) << frequency;
  }
}

TEST(OfdmSync, NothingIsFoundInZerosOrInWhatIsTooWeakToSquare) {
  for (const cf32 v : {cf32(0, 0), cf32(1e-30f, 0), cf32(kNan, 0), cf32(0, kInf), cf32(1e30f, 0)})
    EXPECT_THAT(sync("", Rows<cf32>(2, std::vector<cf32>(30000, v))).events, ElementsAre(0, 0, 0, 0)) << v;
}

/// A symbol of two equal halves, and data behind it: but not the known symbols.
TEST(OfdmSync, TwoEqualHalvesAreNoFrame) {
  Scene s = short_scene({300, 1460});
  auto x = rounded(receive(s));
  for (auto& row : x) {
    const auto other = testing::complex_noise(288, 5);
    std::copy(other.begin(), other.end(), row.begin() + 300 + 216);
  }
  EXPECT_EQ(sync_short(x).start, Starts{1460});
}

/// A radio with nothing to receive may give a constant, whose halves are more alike than those of a frame.
TEST(OfdmSync, AConstantBesideFramesHidesNone) {
  const Scene s = short_scene({500, 2500, 3660});
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (std::int64_t n = 0; n < std::ssize(row); ++n)
      if (std::ranges::none_of(s.starts, [n](std::int64_t start) { return n >= start && n < start + 1160; }))
        row[static_cast<std::size_t>(n)] = cf32(3e-5f, 0);
  EXPECT_EQ(sync_short(x).start, s.starts);
}

TEST(OfdmSync, AFrameNeedsItsEnd) {
  const auto x = rounded(receive(short_scene({500})));
  const auto front = [&](std::int64_t length) {
    Rows<cf32> y;
    for (const auto& row : x) y.emplace_back(row.begin(), row.begin() + length);
    return sync_short(y);
  };
  EXPECT_THAT(front(500 + 1160).events, ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(front(500 + 1159).events, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(front(500 + 700).events, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(front(500 + 300).events, ElementsAre(0, 0, 0, 0));  // before its known symbols end
}

TEST(OfdmSync, AFrameWithoutItsBeginningIsCut) {
  const auto x = rounded(receive(short_scene({0, 1160})));
  for (const std::int64_t lost : {1, 2, 3, 10, 16}) {
    Rows<cf32> rest;
    for (const auto& row : x) rest.emplace_back(row.begin() + lost, row.end());
    const Results r = sync_short(rest);
    // Up to two samples are put down to the channel.
    if (lost <= 2) {
      EXPECT_EQ(r.start, (Starts{0, 1160 - lost})) << lost;
    } else {
      EXPECT_EQ(r.start, Starts{1160 - lost}) << lost;
    }
    EXPECT_THAT(r.events, ElementsAre(lost <= 2 ? 2 : 1, lost <= 2 ? 0 : 1, 0, 0)) << lost;
    EXPECT_TRUE(same(sync_short(rest, {.lengths = {1}}), r)) << lost;
    EXPECT_TRUE(same(sync_short(rest, {.lengths = {17, 90}}), r)) << lost;
  }
}

TEST(OfdmSync, FramesThatAreNotFiniteAreLeftOut) {
  const Scene s = short_scene({500, 1660, 2820, 4500});
  const auto clean = rounded(receive(s));
  for (const float bad : {kNan, kInf, -kInf, 1e30f}) {
    auto x = clean;
    x[1][1660 + 900].real(bad);  // in the data
    x[0][2820 + 1159].imag(bad);
    const Results r = sync_short(x);
    EXPECT_EQ(r.start, (Starts{500, 4500})) << bad;
    EXPECT_THAT(r.events, ElementsAre(2, 0, 2, 0)) << bad;
    EXPECT_TRUE(same(sync_short(x, {.lengths = {333}}), r)) << bad;
    for (cf32& v : x[1]) v = {bad, 0};  // an antenna that gives nothing else: frames are found and left out
    EXPECT_THAT(sync_short(x).events, ElementsAre(0, 0, 4, 0)) << bad;
  }
}

TEST(OfdmSync, EnergiesOutOfRangeAreLeftOut) {
  const auto clean = rounded(receive(short_scene({300})));
  for (const auto& [gain, found] : {std::pair{1e-15f, 1}, {1e-17f, 0}, {1e13f, 1}, {1e14f, 0}}) {
    auto x = clean;
    for (auto& row : x)
      for (cf32& v : row) v *= gain;
    EXPECT_THAT(sync_short(x).events, ElementsAre(found, 0, 1 - found, 0)) << gain;
  }
}

TEST(OfdmSync, SaturatedSamples) {
  Scene s{.format = OfdmFormat{}, .starts = {300, 300 + 7680}};
  s.length = s.starts.back() + 7680 + 30;
  s.noise_db = -20;
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (cf32& v : row) v = {std::clamp(v.real(), -0.4f, 0.4f), std::clamp(v.imag(), -0.4f, 0.4f)};
  EXPECT_EQ(sync("", x).start, s.starts);
}

TEST(OfdmSync, RadioSamplesAsTheyCome) {
  const Scene s = short_scene({0, 1500, 2900});
  Rows<sc16> x;
  Rows<cf32> same_samples;
  for (const auto& row : rounded(receive(s))) {
    auto& to = x.emplace_back();
    auto& also = same_samples.emplace_back();
    for (const cf32 v : row) {
      to.push_back({static_cast<std::int16_t>(v.real() * 5000), static_cast<std::int16_t>(v.imag() * 5000)});
      also.emplace_back(static_cast<float>(to.back().re) / 32768, static_cast<float>(to.back().im) / 32768);
    }
  }
  const Cut cut{.lengths = {1000}, .rate_hz = kSpacing * 128};
  const Results r = sync(kShort, x, cut);
  EXPECT_EQ(r.start, s.starts);
  EXPECT_TRUE(same(r, sync(kShort, same_samples, cut)));
}

TEST(OfdmSync, EightTransmitAntennas) {
  const std::string keys = "fft: 256, carriers: 180, prefix: 18, frame: 3300, tx: 8, pilot_every: 12";
  Scene s{.format = {.fft = 256, .carriers = 180, .prefix = 18, .frame = 3300, .tx = 8, .pilot_every = 12}};
  s.starts = {50, 50 + 3300};
  s.length = s.starts.back() + 3300;
  s.rate_hz = kSpacing * 256;
  s.offset_hz = 31e3;
  s.echoes = {{0, 0}, {17, 0}};
  s.noise_db = -3;
  const Results r = sync(keys, rounded(receive(s)), {.rate_hz = s.rate_hz});
  ASSERT_EQ(r.start.size(), 2u);
  for (std::size_t f = 0; f < 2; ++f) EXPECT_LE(std::abs(r.start[f] - s.starts[f]), 2);
}

/// Only offsets up to a number of carriers are tried.
TEST(OfdmSync, TheLargestOffset) {
  Scene s = short_scene({100, 1400});
  s.offset_hz = 8.3 * kSpacing;
  const auto x = rounded(receive(s));
  const Cut cut{.rate_hz = kSpacing * 128};
  EXPECT_TRUE(sync(kShort, x, cut).start.empty());
  const Results r = sync(kShort + ", max_offset: 150 kHz", x, cut);
  EXPECT_EQ(r.start, s.starts);
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.01 * kSpacing);
}

TEST(OfdmSync, MoreThanThereIsRoomFor) {
  Starts starts;
  for (std::int64_t i = 0; i < 9; ++i) starts.push_back(100 + 700 * i);  // each but the last covered by the next one
  Scene s = short_scene(starts);
  s.noise_db = -30;
  auto x = rounded(receive(s));
  // No frame covers another: what was there ends where the next begins.
  for (auto& row : x) std::fill(row.begin(), row.end(), cf32());
  for (std::size_t f = 0; f < starts.size(); ++f) {
    Scene one = short_scene({starts[f]});
    one.seed = 50 + static_cast<unsigned>(f);
    const auto y = rounded(receive(one));
    for (std::size_t r = 0; r < x.size(); ++r)
      std::copy(y[r].begin() + starts[f], y[r].begin() + std::min(std::ssize(y[r]), starts[f] + 1160),
                x[r].begin() + starts[f]);
  }
  const std::int64_t room = std::ssize(x[0]) / 1160 + (std::ssize(x[0]) % 1160 != 0) + 2;
  const Results r = sync_short(x);
  ASSERT_EQ(r.start.size(), std::min<std::size_t>(starts.size(), static_cast<std::size_t>(room)));
  EXPECT_THAT(r.events, ElementsAre(room, 0, 0, std::ssize(starts) - room));
}

TEST(OfdmSync, WhatItNeedsAndGives) {
  StageUnderTest s(entry(), "{" + kWide + "}", {stream_of(Element::sc16, 4, 30.72e6)}, 30720);
  EXPECT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out(0).text(), "cf32 [frame up to 3][rx 4][sample 30720]");
  EXPECT_EQ(s.out(1).text(), "i64 [frame up to 3]");
  EXPECT_EQ(s.out(2).text(), "f32 [frame up to 3]");
  EXPECT_EQ(s.out(3).text(), "f32 [frame up to 3]");
  EXPECT_EQ(s.out(4).text(), "i64 [event 4]");
  EXPECT_EQ(s.footprint().past, 15360 + 2048);
  EXPECT_EQ(s.footprint().future, 30720);  // what it takes to have a frame whole
  EXPECT_FALSE(s.chunk_exempt());
}

TEST(OfdmSync, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& yaml, const PortShape& in = stream_of(Element::cf32, 2, kRate)) {
    return StageUnderTest(entry(), yaml, {in}).complaints();
  };
  EXPECT_EQ(complaints("{}"), "");
  EXPECT_THAT(complaints("{threshold: 1.5}"), HasSubstr("threshold"));
  EXPECT_THAT(complaints("{fft: 500}"), HasSubstr("fft"));
  EXPECT_THAT(complaints("{max_offset: 2 MHz}"), HasSubstr("max_offset: is at most 480000 Hz"));
  EXPECT_THAT(complaints("{}", stream_of(Element::cf32, 9, kRate)), HasSubstr("1 to 8 antennas"));
  EXPECT_THAT(complaints("{}", stream_of(Element::cf32, 2, 0)), HasSubstr("needs the sample rate"));
}

}  // namespace
}  // namespace iqd::ofdm_sync
