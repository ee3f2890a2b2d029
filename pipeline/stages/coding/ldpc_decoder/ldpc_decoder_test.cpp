// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>

#include "pipeline/stages/coding/ldpc_decoder/row_thread.hpp"
#include "tests/support/coding_items.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ldpc_decoder {
namespace {

using coding::all_of;
using coding::items_of;
using coding::outputs_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StageUnderTest;
using Bits = std::vector<std::uint8_t>;
using Llrs = std::vector<float>;

const LdpcCode& kCode = *find_ldpc_code("80216e_2304_1_2");
const auto kN = static_cast<std::size_t>(kCode.n());
const auto kK = static_cast<std::size_t>(kCode.k());
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Words of random bits, sent with BPSK at rate one half through noise.
struct Sent {
  Bits bits;
  Llrs llr;

  Sent(std::size_t words, double ebn0_db, unsigned seed = 1) : bits(words * kK), llr(words * kN) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    const double variance = std::pow(10, -ebn0_db / 10);
    const WordEncoder encoder(whole_code(kCode));
    for (std::size_t w = 0; w < words; ++w) {
      const std::span of_word(bits.data() + w * kK, kK);
      for (auto& b : of_word) b = static_cast<std::uint8_t>(engine() & 1);
      const Bits word = encoder.encoded(of_word);
      for (std::size_t i = 0; i < kN; ++i) {
        const double y = (word[i] != 0 ? -1 : 1) + std::sqrt(variance) * normal(engine);
        llr[w * kN + i] = static_cast<float>(2 * y / variance);
      }
    }
  }
};

struct Decoded {
  Bits bits;
  std::vector<std::int32_t> iterations;
  std::vector<std::int64_t> events;
  Llrs posterior = {}, extrinsic = {};
  Bits failed = {};
  /// Without the soft outputs.
  friend bool operator==(const Decoded& a, const Decoded& b) {
    return a.bits == b.bits && a.iterations == b.iterations && a.events == b.events;
  }
};

/// The stage on items of `item` LLRs each, in one block.
std::string words_of_antennas(const std::vector<int>& sent) {
  std::string all;
  for (const int bits : sent)
    all += std::string(all.empty() ? "[" : ", ") + (bits == 0 ? "silent" : bits == 2 ? "qpsk" : "16qam");
  return all + "]";
}
/// Frames of 1200 points of three antennas with up to 4 bits, from LLRs of the bits that are sent; 1e3 at the others.
struct MixedFrames {
  explicit MixedFrames(std::vector<std::vector<int>> sent_by_frame) : sent(std::move(sent_by_frame)) {}

  static constexpr std::int64_t kPoints = 1200;
  std::vector<std::vector<int>> sent;
  Llrs llr{};
  std::vector<bool> is_sent{};

  void add(const Llrs& own, std::size_t frame) {
    std::size_t at = 0;
    for (std::int64_t p = 0; p < kPoints; ++p)
      for (const int bits : sent[frame])
        for (int b = 0; b < 4; ++b) {
          is_sent.push_back(b < bits);
          llr.push_back(b < bits ? own[at++] : 1e3F);
        }
  }
  Bits port() const {
    Bits all;
    for (const auto& frame : sent)
      for (const int bits : frame) all.push_back(static_cast<std::uint8_t>(bits));
    return all;
  }
  std::vector<StageInput> inputs(bool by_port) const {
    std::vector<StageInput> in{items_of(llr, {{"carrier", 120}, {"symbol", 10}, {"tx", 3}, {"bit", 4}})};
    if (by_port) in.push_back(items_of(port(), {{"tx", 3}}));
    return in;
  }
};

template <class T> Decoded decode(const std::vector<T>& llr, const std::string& keys = "{}", std::size_t item = kN) {
  static const StageEntry stage = entry();
  const auto out = outputs_of(stage, {items_of(llr, {{"n", static_cast<std::int64_t>(item)}})}, 0, keys);
  if (out.empty()) return {};
  return {all_of<std::uint8_t>(out[kBits]),  all_of<std::int32_t>(out[kIterations]),
          all_of<std::int64_t>(out[kTally]), all_of<float>(out[kPosterior]),
          all_of<float>(out[kExtrinsic]),    all_of<std::uint8_t>(out[kFailedWords])};
}

/// The elements of each check.
std::vector<std::vector<std::size_t>> checks() {
  std::vector<std::vector<std::size_t>> all;
  for (int row = 0; row < kCode.rows; ++row)
    for (int i = 0; i < kCode.lift; ++i) {
      all.emplace_back();
      for (const LdpcEntry& e : kCode.entries)
        if (e.row == row)
          all.back().push_back(static_cast<std::size_t>(e.column * kCode.lift + (i + e.shift) % kCode.lift));
    }
  return all;
}

/// One check by its definition, in double precision.
void update(const std::vector<std::size_t>& check, double scale, std::vector<double>& posterior,
            std::vector<double>& messages) {
  std::vector<double> q;
  for (std::size_t a = 0; a < check.size(); ++a) q.push_back(posterior[check[a]] - messages[a]);
  for (std::size_t a = 0; a < q.size(); ++a) {
    double least = std::numeric_limits<double>::infinity(), sign = 1;
    for (std::size_t b = 0; b < q.size(); ++b)
      if (b != a) least = std::min(least, std::fabs(q[b])), sign *= q[b] < 0 ? -1 : 1;
    messages[a] = scale * sign * least;
    posterior[check[a]] = q[a] + messages[a];
  }
}

Decoded model(const Llrs& llr, int most, double scale, bool early_stop) {
  Decoded all{{}, {}, {0, 0}};
  const auto of_code = checks();
  for (auto from = llr.begin(); from != llr.end(); from += static_cast<std::ptrdiff_t>(kN)) {
    std::vector<double> posterior(from, from + static_cast<std::ptrdiff_t>(kN));
    std::vector<std::vector<double>> messages;
    for (const auto& check : of_code) messages.emplace_back(check.size(), 0.0);
    Bits word(kN);
    int made = 0;
    do {
      for (std::size_t c = 0; c < of_code.size(); ++c) update(of_code[c], scale, posterior, messages[c]);
      std::ranges::transform(posterior, word.begin(), [](double p) { return static_cast<std::uint8_t>(p < 0); });
      ++made;
    } while (made < most && !(early_stop && ldpc_valid(kCode, word)));
    all.bits.insert(all.bits.end(), word.begin(), word.begin() + static_cast<std::ptrdiff_t>(kK));
    all.iterations.push_back(made);
    ++all.events[kWords];
    all.events[kFailed] += !ldpc_valid(kCode, word);
  }
  return all;
}

TEST(LdpcDecoder, GivesWhatTheDefinitionGives) {
  // The noise level at which half of the words are decoded.
  const Sent sent(6, 1.2);
  for (const bool early : {true, false}) {
    const Decoded expected = model(sent.llr, 15, 0.75, early);
    EXPECT_EQ(decode(sent.llr, early ? "{}" : "{early_stop: false}"), expected);
    EXPECT_GT(expected.events[kFailed], 0);
    EXPECT_LT(expected.events[kFailed], 6);
  }
  EXPECT_EQ(decode(sent.llr, "{iterations: 3, scale: 0.5}"), model(sent.llr, 3, 0.5, true));
}

TEST(LdpcDecoder, RightsWhatNoiseHasTurned) {
  const Sent sent(20, 2.2);
  std::size_t wrong = 0;
  for (std::size_t w = 0; w < 20; ++w)
    for (std::size_t i = 0; i < kK; ++i) wrong += (sent.llr[w * kN + i] < 0) != (sent.bits[w * kK + i] != 0);
  EXPECT_GT(wrong, 500u);
  const Decoded is = decode(sent.llr);
  EXPECT_EQ(is.bits, sent.bits);
  EXPECT_THAT(is.events, ElementsAre(20, 0));
}

TEST(LdpcDecoder, OneIterationWhereNothingIsWrong) {
  const Sent sent(2, 30);
  const Decoded is = decode(sent.llr);
  EXPECT_EQ(is.bits, sent.bits);
  EXPECT_THAT(is.iterations, Each(1));
  EXPECT_THAT(decode(sent.llr, "{early_stop: false, iterations: 7}").iterations, Each(7));
}

TEST(LdpcDecoder, TheScaleOfLlrsDoesNotMatter) {
  const Sent sent(4, 1.2);
  for (const float factor : {0x1p-60f, 0x1p60f}) {
    Llrs scaled = sent.llr;
    for (float& x : scaled) x *= factor;
    EXPECT_EQ(decode(scaled), decode(sent.llr)) << factor;
  }
}

TEST(LdpcDecoder, WholeAndHalfPrecisionLlrs) {
  const Sent sent(4, 2.4);
  std::vector<std::int8_t> whole;
  std::vector<f16> half;
  Llrs values;
  for (const float x : sent.llr) {
    values.push_back(std::clamp(std::rint(4 * x), -127.0f, 127.0f));
    whole.push_back(static_cast<std::int8_t>(values.back()));
    half.push_back(to_f16(values.back()));
  }
  const Decoded expected = decode(values);
  EXPECT_EQ(expected.bits, sent.bits);
  EXPECT_EQ(decode(whole), expected);
  EXPECT_EQ(decode(half), expected);
}

TEST(LdpcDecoder, ErasedBitsAreFilledIn) {
  Sent sent(3, 6);
  std::mt19937 engine(5);
  for (float& x : sent.llr)
    if (engine() % 10 < 3) x = engine() % 2 ? 0.0f : std::nanf("");
  EXPECT_EQ(decode(sent.llr).bits, sent.bits);
}

TEST(LdpcDecoder, OfNothingComesZeroAndAFailure) {
  for (const float nothing : {0.0f, -0.0f, std::nanf("")}) {
    const Decoded is = decode(Llrs(kN, nothing));
    EXPECT_THAT(is.bits, Each(0));
    EXPECT_THAT(is.events, ElementsAre(1, 1));
  }
}

TEST(LdpcDecoder, InfinitiesAreKnownBits) {
  Sent sent(3, 0.2);  // hopeless without the quarter of the bits that is known
  EXPECT_EQ(decode(sent.llr).events[kFailed], 3);
  for (std::size_t w = 0; w < 3; ++w)
    for (std::size_t i = 0; i < kK; i += 2)
      sent.llr[w * kN + i] = (sent.bits[w * kK + i] ? -1.0f : 1.0f) * (i % 4 ? kInfinity : FLT_MAX);
  EXPECT_EQ(decode(sent.llr).bits, sent.bits);
}

TEST(LdpcDecoder, HugeLlrsThatContradictEachOtherStayNumbers) {
  std::mt19937 engine(7);
  Llrs llr(kN);
  for (float& x : llr) x = engine() % 2 ? kInfinity : -kInfinity;
  const Decoded is = decode(llr, "{iterations: 200, scale: 1}");
  EXPECT_THAT(is.events, ElementsAre(1, 1));
  EXPECT_THAT(is.bits, Each(::testing::Le(1)));
}

TEST(LdpcDecoder, WordsOfAFrame) {
  const Sent sent(6, 1.2);
  const Decoded expected = decode(sent.llr);
  constexpr std::size_t kWordsOfFrame = 3, kLeftOver = 5;
  const std::size_t size = kWordsOfFrame * kN + kLeftOver;
  Llrs plain(2 * size, 9), woven(2 * size, 9);
  for (std::size_t f = 0; f < 2; ++f)
    for (std::size_t w = 0; w < kWordsOfFrame; ++w)
      for (std::size_t i = 0; i < kN; ++i) {
        plain[f * size + w * kN + i] = sent.llr[(f * kWordsOfFrame + w) * kN + i];
        woven[f * size + i * kWordsOfFrame + w] = sent.llr[(f * kWordsOfFrame + w) * kN + i];
      }
  EXPECT_EQ(decode(plain, "{}", size), expected);
  EXPECT_EQ(decode(woven, "{interleave: frame}", size), expected);
}

TEST(LdpcDecoder, NoWords) {
  EXPECT_THAT(decode(Llrs()).bits, ::testing::IsEmpty());
}

PortShape items_of(std::vector<Dim> dims) {
  PortShape shape = entry().inputs[0].example_shape(Element::i8, 3);
  shape.item = std::move(dims);
  shape.llr_scale = 0.25;
  return shape;
}

TEST(LdpcDecoder, ShapesOfWordsAndFrames) {
  StageUnderTest words(entry(), "{}", {items_of({{"n", 2304}})});
  EXPECT_EQ(words.out(kBits).text(), "u8 [word up to 3][bit 1152]");
  EXPECT_EQ(words.out(kIterations).text(), "i32 [word up to 3]");
  EXPECT_EQ(words.out(kBits).llr_scale, 0);
  StageUnderTest frames(entry(), "{}", {items_of({{"carrier", 288}, {"symbol", 11}, {"tx", 2}, {"bit", 4}})});
  EXPECT_EQ(frames.out(kBits).text(), "u8 [word up to 3][word 11][bit 1152]");
  EXPECT_EQ(frames.out(kIterations).text(), "i32 [word up to 3][word 11]");
}

TEST(LdpcDecoder, UsersHaveWordsOfTheirOwn) {
  const PortShape in = items_of({{"user", 3}, {"t", 3840}, {"bit", 4}});
  EXPECT_EQ(StageUnderTest(entry(), "{interleave: user, modulation: [qpsk, 16qam, bpsk]}", {in}).out(kBits).text(),
            "u8 [word up to 3][word 10][bit 1152]");
  EXPECT_EQ(StageUnderTest(entry(), "{interleave: user}", {in}).out(kBits).text(),
            "u8 [word up to 3][word 18][bit 1152]");
  const auto complaint = [&](const std::string& keys, const PortShape& shape) {
    return StageUnderTest(entry(), keys, {shape}).complaints();
  };
  EXPECT_THAT(complaint("{interleave: user, modulation: 64qam}", in), HasSubstr("has 6 bits for user 0"));
  EXPECT_THAT(complaint("{interleave: user, modulation: [qpsk, qpsk]}", in), HasSubstr("one word for all 3 users"));
  EXPECT_THAT(complaint("{modulation: qpsk}", in), HasSubstr("modulation: is for `interleave: user` and"));
  EXPECT_THAT(complaint("{interleave: user}", items_of({{"word", 3}, {"n", 2304}})), HasSubstr("[user][t][bit]"));
  EXPECT_THAT(complaint("{interleave: user}", items_of({{"user", 33}, {"t", 3000}, {"bit", 1}})),
              HasSubstr("32 users"));
  EXPECT_THAT(complaint("{interleave: user}", items_of({{"user", 3}, {"t", 500}, {"bit", 4}})),
              HasSubstr("user 0 has only 2000 LLRs"));
}

TEST(LdpcDecoder, RefusesLessThanAWord) {
  EXPECT_THAT(StageUnderTest(entry(), "{}", {items_of({{"n", 2303}})}).complaints(),
              HasSubstr("needs items of at least 2304 LLRs, such as [word][n]; its input is i8"));
  EXPECT_THAT(StageUnderTest(entry(), "{code: 80211}", {items_of({{"n", 2304}})}).complaints(),
              HasSubstr("80216e_2304_1_2"));
}

/// The kernel without a GPU: between two barriers, each thread processes all its rows before the next thread begins,
/// the last thread first. A race between two threads would change the result.
template <int kNumber> class Group {
 public:
  using Thread = RowThread<kNumber>;

  Group(const float* llr, float scale) : posterior_(llr, llr + Thread::kN), scale_(scale) {}

  void iterate() {
    for (int row = 0, end = 0; row < Thread::kRows; row = end) {
      EXPECT_TRUE(Thread::waits(row));
      for (end = row + 1; end < Thread::kRows && !Thread::waits(end);) ++end;
      for (int i = Thread::kLift - 1; i >= 0; --i)
        for (int r = row; r < end; ++r)
          kUpdates[static_cast<std::size_t>(r)](i, scale_, posterior_.data(), messages(i));
    }
  }
  bool holds() const {
    for (int i = 0; i < Thread::kLift; ++i)
      if (!Thread::hold(i, posterior_.data())) return false;
    return true;
  }
  const std::vector<float>& posterior() const { return posterior_; }

 private:
  float* messages(int i) { return messages_.data() + i * Thread::kEdges; }

  using Update = void (*)(int, float, float*, float*);
  static constexpr auto kUpdates = []<int... kRow>(std::integer_sequence<int, kRow...>) {
    return std::array<Update, sizeof...(kRow)>{&Thread::template update<kRow>...};
  }
  (std::make_integer_sequence<int, Thread::kRows>());

  std::vector<float> posterior_;
  std::vector<float> messages_ = std::vector<float>(static_cast<std::size_t>(Thread::kLift * Thread::kEdges));
  float scale_;
};

TEST(LdpcDecoder, ThreadsOfTheKernelGiveWhatTheProcessorGives) {
  constexpr std::size_t kCount = 8;
  const Sent sent(kCount, 1.2);
  const Decoded expected = decode(sent.llr);
  Decoded is;
  is.events = {kCount, 0};
  for (std::size_t w = 0; w < kCount; ++w) {
    Group<0> group(sent.llr.data() + w * kN, 0.75f);
    int made = 0;
    do {
      group.iterate();
      ++made;
    } while (made < 15 && !group.holds());
    for (std::size_t i = 0; i < kK; ++i) is.bits.push_back(group.posterior()[i] < 0);
    is.iterations.push_back(made);
    is.failed.push_back(!group.holds());
    is.events[kFailed] += is.failed.back();
    for (std::size_t i = 0; i < kN; ++i) {
      is.posterior.push_back(group.posterior()[i]);
      is.extrinsic.push_back(group.posterior()[i] - sent.llr[w * kN + i]);
    }
  }
  EXPECT_EQ(is, expected);
  EXPECT_EQ(is.failed, expected.failed);
  EXPECT_EQ(is.posterior, expected.posterior);
  EXPECT_EQ(is.extrinsic, expected.extrinsic);
  EXPECT_GT(expected.events[kFailed], 0);
}

TEST(LdpcDecoder, SoftOutputsStandWhereTheirLlrsStand) {
  constexpr std::size_t kRest = 5;
  Sent sent(2, 2.5);
  Llrs frame(2 * kN + kRest, -3.5f);
  for (std::size_t w = 0; w < 2; ++w)
    for (std::size_t i = 0; i < kN; ++i) frame[2 * i + w] = sent.llr[w * kN + i];
  const Decoded plain = decode(frame, "{interleave: frame}", frame.size());
  ASSERT_EQ(plain.bits, sent.bits);
  const WordEncoder encoder(whole_code(kCode));
  for (std::size_t w = 0; w < 2; ++w) {
    const Bits word = encoder.encoded(std::span(sent.bits).subspan(w * kK, kK));
    for (std::size_t i = 0; i < kN; ++i) {
      EXPECT_EQ(plain.posterior[2 * i + w] < 0, word[i] != 0) << w << ' ' << i;
      EXPECT_EQ(plain.extrinsic[2 * i + w], plain.posterior[2 * i + w] - frame[2 * i + w]);
    }
  }
  for (std::size_t i = 2 * kN; i < frame.size(); ++i) {
    EXPECT_EQ(plain.posterior[i], -3.5f);
    EXPECT_EQ(plain.extrinsic[i], 0.0f);
  }
}

TEST(LdpcDecoder, NamesTheWordsThatFailed) {
  Sent sent(3, 2.5);
  std::fill_n(sent.llr.begin() + static_cast<std::ptrdiff_t>(kN), kN, 0.0f);
  EXPECT_THAT(decode(sent.llr).failed, ElementsAre(0, 1, 0));
}

/// LLRs of `words` words, interleaved, and of what is behind them up to `all`.
Llrs interleaved(const Sent& sent, std::size_t words, std::size_t all) {
  Llrs llr(all, 2.5F);
  for (std::size_t w = 0; w < words; ++w)
    for (std::size_t i = 0; i < kN; ++i) llr[i * words + w] = sent.llr[w * kN + i];
  return llr;
}

/// As if only the bits that antennas send were there.
TEST(LdpcDecoder, AntennasMayDiffer) {
  for (const std::vector<int>& sent : {std::vector{4, 2, 2}, {2, 0, 4}, {4, 4, 2}}) {
    const auto bits = static_cast<std::size_t>(sent[0] + sent[1] + sent[2]) * MixedFrames::kPoints;
    const std::size_t words = bits / kN;
    const Sent x(words, 2.2);
    MixedFrames frames({sent});
    frames.add(interleaved(x, words, bits), 0);
    const std::string keys = "{interleave: frame, modulation: " + words_of_antennas(sent) + "}";
    const auto out = outputs_of(entry(), frames.inputs(false), 0, keys);
    ASSERT_FALSE(out.empty());
    const Decoded want = decode(interleaved(x, words, bits), "{interleave: frame}", bits);
    EXPECT_EQ(all_of<std::uint8_t>(out[kBits]), want.bits);
    EXPECT_EQ(all_of<std::int64_t>(out[kTally]), want.events);
    for (const auto& [port, wanted] : {std::pair{kPosterior, want.posterior}, {kExtrinsic, want.extrinsic}}) {
      const Llrs got = all_of<float>(out[port]);
      std::size_t at = 0;
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], frames.is_sent[i] ? wanted[at++] : port == kExtrinsic ? 0 : 1e3F) << i;
      EXPECT_EQ(at, bits);
    }
  }
}

/// By the port each frame may have other words; those that it has not are 0 and not counted.
TEST(LdpcDecoder, FramesMayDiffer) {
  const std::vector<std::vector<int>> sent = {{4, 2, 2}, {2, 0, 0}, {4, 4, 4}, {0, 0, 0}, {2, 2, 4}};
  MixedFrames frames(sent);
  std::size_t all = 0;
  Bits wanted;
  std::vector<bool> is_word;
  for (std::size_t f = 0; f < sent.size(); ++f) {
    const auto bits = static_cast<std::size_t>(sent[f][0] + sent[f][1] + sent[f][2]) * MixedFrames::kPoints;
    const std::size_t words = bits / kN;
    const Sent x(words, 4, static_cast<unsigned>(f));
    frames.add(interleaved(x, words, bits), f);
    wanted.insert(wanted.end(), x.bits.begin(), x.bits.end());
    wanted.resize((f + 1) * 6 * kK);
    for (std::size_t w = 0; w < 6; ++w) is_word.push_back(w < words);
    all += words;
  }
  for (const std::int64_t block : {0, 1, 2}) {
    const auto out = outputs_of(entry(), frames.inputs(true), block, "{interleave: frame}");
    ASSERT_FALSE(out.empty());
    EXPECT_EQ(all_of<std::uint8_t>(out[kBits]), wanted);
    EXPECT_THAT(all_of<std::uint8_t>(out[kFailedWords]), Each(0));
    const auto iterations = all_of<std::int32_t>(out[kIterations]);
    for (std::size_t w = 0; w < iterations.size(); ++w) EXPECT_EQ(iterations[w] > 0, is_word[w]) << w;
    const Llrs extrinsic = all_of<float>(out[kExtrinsic]);
    for (std::size_t i = 0; i < extrinsic.size(); ++i) ASSERT_TRUE(frames.is_sent[i] || extrinsic[i] == 0) << i;
    if (block > 0) continue;
    EXPECT_THAT(all_of<std::int64_t>(out[kTally]), ElementsAre(static_cast<std::int64_t>(all), 0));
  }
}

}  // namespace
}  // namespace iqd::ldpc_decoder
