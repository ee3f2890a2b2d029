// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A chain of stages gives the same as sample by sample, however the stream is cut into blocks, whatever is lost, and
// however many lanes run it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

/// A port between two gaps, computed all at once.
struct Segment {
  std::int64_t first = 0;
  std::vector<Word> words;
  std::int64_t end() const { return first + static_cast<std::int64_t>(words.size()); }
  Word at(std::int64_t n) const { return n < first || n >= end() ? 0 : words[static_cast<std::size_t>(n - first)]; }
};

struct Link {
  StageLine line;
  WindowShape window{};
  std::size_t in = 0;  // which port: 0 is the source
  std::size_t in1 = 0;
};

Segment reference(const Link& link, const std::vector<Segment>& ports) {
  const Segment& in = ports[link.in];
  Segment out;
  if (link.line.stage == "window") {
    const Footprint f = link.window.footprint();
    out.first = first_from(f, in.first);
    for (std::int64_t p = out.first; p < makeable_before(f, in.end()); ++p)
      out.words.push_back(link.window.at(p, [&](std::int64_t n) { return in.at(n); }));
  } else if (link.line.stage == "sum") {
    const Segment& other = ports[link.in1];
    out.first = std::max(in.first, other.first);
    for (std::int64_t p = out.first; p < std::min(in.end(), other.end()); ++p)
      out.words.push_back(
          static_cast<Word>(static_cast<std::uint32_t>(in.at(p)) + 3u * static_cast<std::uint32_t>(other.at(p))));
  } else if (link.line.stage == "scale") {
    const ScaleCode code(7, 2);
    out.first = in.first;
    for (std::int64_t p = out.first; p < in.end(); ++p) out.words.push_back(code.at({in.at(p)}, p)[0]);
  } else if (link.line.stage == "mix") {
    const Segment& other = ports[link.in1];
    out.first = std::max(in.first, other.first);
    for (std::int64_t p = out.first; p < std::min(in.end(), other.end()); ++p)
      out.words.push_back(MixCode().at({in.at(p), other.at(p)}, p)[0]);
  } else {
    out.first = in.first;
    std::uint32_t sum = 0;
    for (const Word w : in.words) out.words.push_back(static_cast<Word>(sum += static_cast<std::uint32_t>(w)));
  }
  return out;
}

class Chain {
 public:
  explicit Chain(Random& random) {
    const std::int64_t length = pick<std::int64_t>(random, 1, 8);
    for (std::int64_t i = 0; i < length; ++i) add(random);
  }
  std::vector<StageLine> lines() const {
    std::vector<StageLine> all;
    for (const Link& l : links_) all.push_back(l.line);
    return all;
  }
  std::string text() const {
    std::string all;
    for (const Link& l : links_)
      all += fmt::format("{}: {} {} of {}\n", l.line.name, l.line.stage, l.line.keys, fmt::join(from(l), ", "));
    return all;
  }
  std::string last() const { return links_.back().line.name + ".out"; }
  std::int64_t granule() const { return granule_; }

  Segment run(Segment source) const {
    std::vector<Segment> ports{std::move(source)};
    for (const Link& l : links_) ports.push_back(reference(l, ports));
    return ports.back();
  }

 private:
  static std::vector<std::string> from(const Link& l) {
    std::vector<std::string> all;
    for (const auto& [in, port] : l.line.from) all.push_back(port);
    return all;
  }
  std::string port_name(std::size_t port) const { return port == 0 ? "source" : links_[port - 1].line.name + ".out"; }

  void add(Random& random) {
    Link link;
    link.line.name = fmt::format("s{}", links_.size());
    link.in = links_.size();
    Rate rate = rates_.back();
    std::vector<std::size_t> same;
    for (std::size_t p = 0; p < rates_.size(); ++p)
      if (rates_[p].num == rate.num && rates_[p].den == rate.den) same.push_back(p);
    const std::int64_t kind = pick<std::int64_t>(random, 0, 13);
    if ((kind < 2 || kind > 11) && same.size() > 1) {
      link.line.stage = kind < 2 ? "sum" : "mix";
      link.in1 = same[static_cast<std::size_t>(pick<std::int64_t>(random, 0, std::ssize(same) - 2))];
      if (pick<std::int64_t>(random, 0, 1)) std::swap(link.in, link.in1);
      link.line.from = {{"in0", port_name(link.in)}, {"in1", port_name(link.in1)}};
    } else if (kind < 3) {
      link.line.stage = "running";
      link.line.from = {{"", port_name(link.in)}};
    } else if (kind > 9) {
      link.line.stage = "scale";
      link.line.keys = "{by: 7, along: 2}";
      link.line.from = {{"", port_name(link.in)}};
    } else {
      window(random, link);
      rate = rate.times(link.window.yield, link.window.granule);
    }
    links_.push_back(link);
    rates_.push_back(rate);
  }
  void window(Random& random, Link& link) {
    WindowShape& w = link.window;
    w.past = pick<std::int64_t>(random, 0, 1) * pick<std::int64_t>(random, 0, 40);
    w.future = pick<std::int64_t>(random, 0, 2) == 0 ? pick<std::int64_t>(random, 0, 30) : 0;
    w.whole = pick<std::int64_t>(random, 0, 2) == 0;
    w.granule = pick<std::int64_t>(random, 0, 1) ? pick<std::int64_t>(random, 1, w.whole ? 12 : 4) : 1;
    w.yield = pick<std::int64_t>(random, 0, 2)              ? 1
              : w.whole && pick<std::int64_t>(random, 0, 1) ? w.granule
                                                            : pick<std::int64_t>(random, 1, 4);
    link.line.stage = "window";
    link.line.keys = fmt::format("{{past: {}, future: {}, granule: {}, yield: {}, whole: {}}}", w.past, w.future,
                                 w.granule, w.yield, w.whole);
    link.line.from = {{"", port_name(link.in)}};
    const Rate rate = rates_.back();
    if (w.whole) granule_ = std::max(granule_, ceil_div(w.granule * rate.den, rate.num));
  }

  std::vector<Link> links_;
  std::vector<Rate> rates_{Rate{}};
  std::int64_t granule_ = 1;  // the largest, in samples of the source
};

/// A stream with gaps; returns [first, end) of each part.
std::vector<std::pair<std::int64_t, std::int64_t>> random_stream(Random& random, Script& script) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  std::int64_t at = 0;
  for (std::int64_t i = 0, n = pick<std::int64_t>(random, 1, 4); i < n; ++i) {
    const std::int64_t lost = i == 0 && pick<std::int64_t>(random, 0, 1) ? 0 : pick<std::int64_t>(random, 1, 200);
    const std::int64_t samples = pick<std::int64_t>(random, 1, 900);
    script.steps.push_back({.samples = samples,
                            .chunk = pick<std::int64_t>(random, 0, 1) * pick<std::int64_t>(random, 1, 100),
                            .lost = lost});
    parts.push_back({at + lost, at + lost + samples});
    at += lost + samples;
  }
  return parts;
}

void expect_equal(const Chain& chain, const std::vector<std::pair<std::int64_t, std::int64_t>>& parts,
                  const Record& record, std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    std::vector<Word> expected, got;
    for (const auto& [first, end] : parts) {
      Segment source{first, {}};
      for (std::int64_t n = first; n < end; ++n) source.words.push_back(sample_word(n, static_cast<std::size_t>(c)));
      const Segment out = chain.run(std::move(source));
      expected.insert(expected.end(), out.words.begin(), out.words.end());
    }
    for (const Sent& s : record.sent) {
      const auto words = s.as<Word>();
      ASSERT_EQ(words.size(), static_cast<std::size_t>(s.extent * channels));
      got.insert(got.end(), words.begin() + c * s.extent, words.begin() + (c + 1) * s.extent);
    }
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << "position " << i << " channel " << c;
  }
}

void run_random_chain(std::uint32_t seed) {
  Random random(seed);
  const Chain chain(random);
  Rig::Options options;
  options.info.channels = static_cast<int>(pick<std::int64_t>(random, 1, 2));
  options.info.rate_hz = 0;  // no clock: the source reports what is lost
  options.block = std::max(chain.granule(), pick<std::int64_t>(random, 0, 1) ? pick<std::int64_t>(random, 1, 200)
                                                                             : 16 * pick<std::int64_t>(random, 1, 16));
  options.lanes = static_cast<int>(pick<std::int64_t>(random, 1, 3));
  options.slots = static_cast<int>(pick<std::int64_t>(random, 1, 6));
  options.stages = chain.lines();
  options.publish = {chain.last()};
  Script script;
  const auto parts = random_stream(random, script);
  SCOPED_TRACE(fmt::format("seed {}, blocks of {}, {} lanes\n{}", seed, options.block, options.lanes, chain.text()));
  Rig rig(options, {script});
  rig.run();
  expect_equal(chain, parts, rig.records[0], options.info.channels);
  rig.expect_conserved();
}

TEST(Chains, GiveWhatTheyGiveSampleBySample) {
  for (std::uint32_t seed = 1; seed <= 1000 && !HasFatalFailure() && !HasNonfatalFailure(); ++seed)
    run_random_chain(seed);
}

/// The source itself, and a port that is read further back than it is published: both are copied to the slot.
TEST(Chains, PublishedPortsHoldTheNewPartOnly) {
  Rig::Options options;
  options.block = 50;
  options.info.channels = 2;
  options.stages = {{"window", "{past: 3}", "a"}, {"window", "{past: 20, future: 9}", "b"}};
  options.publish = {"source", "a.out", "b"};
  Rig rig(options, {{{{.samples = 333, .lost = 7}}}});
  rig.run();
  rig.expect_continuous(0, 2);
  ASSERT_EQ(rig.records[1].sent.size(), rig.records[0].sent.size());
  for (std::size_t i = 0; i < rig.records[1].sent.size(); ++i)
    EXPECT_EQ(rig.records[1].sent[i].sample, rig.records[0].sent[i].sample);
  std::int64_t got = 0;
  for (const Sent& s : rig.records[1].sent)
    for (std::int64_t n = 0; n < s.extent; ++n, ++got) {
      const auto source = [](std::int64_t i) { return i < 7 ? 0 : sample_word(i, 1); };
      EXPECT_EQ(s.as<Word>()[static_cast<std::size_t>(s.extent + n)], (WindowShape{.past = 3}.at(7 + got, source)));
    }
  EXPECT_EQ(got, 333);
}

}  // namespace
}  // namespace iqd::testing
