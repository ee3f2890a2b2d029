// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync_model.hpp"
#include "tests/support/stage_under_test.hpp"

/// For the tests: the stage, fed with streams in blocks.
namespace iqd::ofdm_sync {

using testing::same_bits;
using testing::stream_of;
using Starts = std::vector<std::int64_t>;
using Counts = std::vector<std::int64_t>;
template <class Sample> using Rows = std::vector<std::vector<Sample>>;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr double kRate = 7.68e6;
inline constexpr double kSpacing = 15e3;

/// Short frames for short tests: 1160 samples of 8 symbols, 24 before the first transform.
inline const std::string kShort = "fft: 128, carriers: 72, prefix: 16, frame: 1160, tx: 2, pilot_every: 12";
inline OfdmFormat short_format() {
  return {.fft = 128, .carriers = 72, .prefix = 16, .frame = 1160, .tx = 2, .pilot_every = 12};
}
inline const std::string kWide = "fft: 2048, carriers: 1200, prefix: 144, frame: 30720, tx: 4";
inline OfdmFormat wide_format() {
  return {.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720, .tx = 4};
}

/// All results of a stream, or of a block.
struct Results {
  std::vector<cf32> frames;
  Starts start;
  std::vector<float> offset_hz;
  std::vector<float> metric;
  Counts events = Counts(kEvents.size());

  /// Appends a block with this many frames.
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

inline bool same(const Results& a, const Results& b) {
  return a.start == b.start && a.events == b.events && same_bits(a.frames, b.frames) &&
         same_bits(a.offset_hz, b.offset_hz) && same_bits(a.metric, b.metric);
}

/// The stage, fed block by block, each in its own memory so that an address checker sees every stray read.
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

inline Rows<cf32> rounded(const std::vector<Row>& x) {
  Rows<cf32> y;
  for (const Row& row : x) y.emplace_back(row.begin(), row.end());
  return y;
}

/// A scene with short frames.
inline Scene short_scene(Starts starts) {
  Scene s{.format = short_format(), .starts = std::move(starts)};
  s.rate_hz = kSpacing * 128;
  s.length = s.starts.back() + 1160 + 700;
  s.noise_db = -20;
  return s;
}
inline Results sync_short(const Rows<cf32>& x, Cut cut = {}) {
  cut.rate_hz = kSpacing * 128;
  return sync(kShort, x, cut);
}
inline Results sync_short(const Scene& s, const Cut& cut = {}) {
  return sync_short(rounded(receive(s)), cut);
}

/// `sync(x, cut)` gives `whole`, however the stream of short frames is cut.
template <class Sync> void expect_cuts_do_not_matter(const Rows<cf32>& x, const Results& whole, Sync sync) {
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{29}, {1, 1159, 1, 1439, 1160}, {3000, 4900}, {97, 5000, 3}, {1160}, {580}})
    EXPECT_TRUE(same(sync(x, Cut{.lengths = lengths}), whole)) << lengths[0];
  // Neighbours may ask for more samples.
  EXPECT_TRUE(same(sync(x, Cut{.lengths = {200, 1160}, .more = 5000}), whole));
}

inline const std::string kRejects = "reject_tones: true";

/// Five frames of 5 MHz, 20 dB above the noise, through paths up to 2.5 us apart.
inline Scene scene_beside_tone(double tone_db, double tone_at, std::int64_t rx = 2, unsigned seed = 1) {
  Scene s{.format = OfdmFormat{}, .rx = rx, .starts = {300, 7980, 15660, 23340, 31020 + 900}};
  s.length = s.starts.back() + 7680 + 500;
  s.echoes = {{0, 0}, {5, -4}, {19, -12}};
  s.noise_db = -20;
  s.offset_hz = 7.3e3;
  s.tone_db = tone_db;
  s.tone_at = tone_at;
  s.seed = seed;
  return s;
}

inline Scene short_scene_beside_tone(Starts starts) {
  Scene s = short_scene(std::move(starts));
  s.tone_db = 23.5;  // 5 dB above the frames, as 30 dB are with 300 carriers
  s.tone_at = 10.3;
  return s;
}
inline Results sync_short_beside_tone(const Rows<cf32>& x, Cut cut = {}) {
  cut.rate_hz = kSpacing * 128;
  return sync(kShort + ", " + kRejects, x, cut);
}

inline void expect_near(const Starts& found, const Starts& sent, std::int64_t close, double tone_at) {
  ASSERT_EQ(found.size(), sent.size()) << tone_at;
  for (std::size_t f = 0; f < sent.size(); ++f) EXPECT_LE(std::abs(found[f] - sent[f]), close) << tone_at << " " << f;
}

}  // namespace iqd::ofdm_sync
