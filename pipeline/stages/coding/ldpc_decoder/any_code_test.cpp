// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The decoder with codes that hide columns, of all lifting sizes, sent in part or repeated, with a CRC.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "pipeline/stages/coding/ldpc_decoder/table_thread.hpp"
#include "signal/codes/irig_codes.hpp"
#include "signal/codes/nr_codes.hpp"
#include "tests/support/coding_items.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ldpc_decoder {
namespace {

using ::testing::HasSubstr;

/// Words of a code, sent with BPSK; the noise is of a bit that is sent, SNR 1 / variance.
struct SentWords {
  WordCode code;
  std::vector<std::uint8_t> bits;
  std::vector<float> llr;

  SentWords(const WordCode& words, int count, double snr_db, unsigned seed = 1) : code(words) {
    const WordEncoder encoder(words);
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal;
    const double variance = std::pow(10, -snr_db / 10);
    for (int w = 0; w < count; ++w) {
      std::vector<std::uint8_t> own(static_cast<std::size_t>(words.information()));
      for (auto& b : own) b = static_cast<std::uint8_t>(engine() & 1);
      bits.insert(bits.end(), own.begin(), own.end());
      for (const std::uint8_t bit : encoder.encoded(own))
        llr.push_back(static_cast<float>(2 / variance * ((bit != 0 ? -1 : 1) + std::sqrt(variance) * normal(engine))));
    }
  }
};

struct DecodedWords {
  std::vector<std::uint8_t> bits;
  std::vector<std::int32_t> iterations;
  std::vector<std::int64_t> events;
  std::vector<float> posterior = {};
  /// Without the posteriors.
  friend bool operator==(const DecodedWords& a, const DecodedWords& b) {
    return a.bits == b.bits && a.iterations == b.iterations && a.events == b.events;
  }
};

template <class T> DecodedWords decode_words(const std::vector<T>& llr, std::int64_t item, const std::string& keys,
                                             std::int64_t block = 0) {
  static const StageEntry stage = entry();
  const auto out = coding::outputs_of(stage, {coding::items_of(llr, {{"n", item}})}, block, keys);
  if (out.empty()) return {};
  return {coding::all_of<std::uint8_t>(out[kBits]), coding::all_of<std::int32_t>(out[kIterations]),
          coding::all_of<std::int64_t>(out[kTally]), coding::all_of<float>(out[kPosterior])};
}

std::string keys_of(std::int64_t k, std::int64_t e, const std::string& more = "", const std::string& outer = "") {
  return fmt::format("{{nr: {{k: {}, e: {}{}}}{}}}", k, e, more, outer);
}

std::vector<float> initial(const WordCode& code, const float* llr) {
  std::vector<float> posterior(static_cast<std::size_t>(code.code.bits()), 0.0f);
  for (int p = code.sent.filler_begin; p < code.sent.filler_end; ++p) posterior[static_cast<std::size_t>(p)] = kLargest;
  for (int turn = 0; turn < code.n(); ++turn)
    posterior[static_cast<std::size_t>(code.sent.position_of(turn))] += llr[code.sent.place_of(turn)];
  return posterior;
}

/// All by the definition: each check one by one. In the decoder's precision, since in words that are not decoded a bit
/// that is not sent may be 0 but for rounding.
class Definition {
 public:
  Definition(const WordCode& code, const float* llr) : code_(code) {
    posterior_ = initial(code, llr);
    messages_.resize(code.code.entries.size() * static_cast<std::size_t>(code.code.lift));
  }
  void iterate() {
    const auto& entries = code_.code.entries;
    for (std::size_t first = 0, end = 0; first < entries.size(); first = end) {
      while (end < entries.size() && entries[end].row == entries[first].row) ++end;
      for (int i = 0; i < code_.code.lift; ++i) update(first, end, i);
    }
  }
  std::vector<std::uint8_t> word() const {
    std::vector<std::uint8_t> bits;
    for (const float p : posterior_) bits.push_back(p < 0);
    return bits;
  }

 private:
  float& posterior(std::size_t e, int i) {
    const LdpcEntry& entry = code_.code.entries[e];
    const std::int64_t column = entry.column, lift = code_.code.lift;
    return posterior_[static_cast<std::size_t>(column * lift + (i + entry.shift) % lift)];
  }
  float& message(std::size_t e, int i) {
    return messages_[e * static_cast<std::size_t>(code_.code.lift) + static_cast<std::size_t>(i)];
  }
  void update(std::size_t first, std::size_t end, int i) {
    std::vector<float> q;
    for (std::size_t e = first; e < end; ++e) q.push_back(posterior(e, i) - message(e, i));
    for (std::size_t a = 0; a < q.size(); ++a) {
      float least = kLargest, sign = 1;
      for (std::size_t b = 0; b < q.size(); ++b)
        if (b != a) least = std::min(least, std::fabs(q[b])), sign *= q[b] < 0 ? -1.0f : 1.0f;
      message(first + a, i) = 0.75f * sign * least;
      posterior(first + a, i) = q[a] + message(first + a, i);
    }
  }

  const WordCode& code_;
  std::vector<float> posterior_, messages_;
};

DecodedWords by_definition(const SentWords& sent, int most) {
  DecodedWords all{{}, {}, {0, 0}};
  const int n = sent.code.n();
  for (const float* llr = sent.llr.data(); llr != sent.llr.data() + sent.llr.size(); llr += n) {
    Definition word(sent.code, llr);
    int made = 0;
    do {
      word.iterate();
      ++made;
    } while (made < most && !ldpc_valid(sent.code.code, word.word()));
    const auto bits = word.word();
    all.bits.insert(all.bits.end(), bits.begin(), bits.begin() + sent.code.k);
    all.iterations.push_back(made);
    ++all.events[kWords];
    all.events[kFailed] += !ldpc_valid(sent.code.code, bits);
  }
  return all;
}

TEST(LdpcAnyCode, EveryCodeKeepsTheBounds) {
  for (const auto codes : {ldpc_codes(), irig_codes(), nr_codes()})
    for (const LdpcCode& code : codes) {
      EXPECT_LE(code.lift, kMostLift);
      EXPECT_LE(code.rows, kMostRows);
      EXPECT_LT(code.bits(), 1 << 16);  // EdgeTable
      for (int row = 0; row < code.rows; ++row)
        EXPECT_LE(std::ranges::count(code.entries, row, &LdpcEntry::row), kMostEdges);
    }
  EXPECT_LE(kMostEdges, RowMessages::kIndexAt);
}

TEST(LdpcAnyCode, GivesWhatTheDefinitionGives) {
  struct Case {
    int k, e;
    double snr_db;
  };
  // Lifting sizes 7, 13, 26, 30, 52, 72, 384; whole and shorter chunks, rows alone; filler; repetition.
  for (const Case& c : {Case{40, 100, 0},
                        {78, 200, 0},
                        {200, 420, 1.5},
                        {300, 660, 0},
                        {1144, 1500, 4.4},
                        {561, 1200, 0},
                        {3840, 8000, 1.1},
                        {60, 900, -7}}) {
    const SentWords sent(nr_code_of({.k = c.k, .e = c.e}), 6, c.snr_db);
    const DecodedWords expected = by_definition(sent, 15);
    EXPECT_EQ(decode_words(sent.llr, c.e, keys_of(c.k, c.e)), expected) << c.k << " " << c.e;
    EXPECT_EQ(decode_words(sent.llr, c.e, keys_of(c.k, c.e), 2).bits, expected.bits) << c.k << " " << c.e;
    EXPECT_LT(expected.events[kFailed], 6) << c.k << " " << c.e;
  }
}

TEST(LdpcAnyCode, WordsOfTelemetryAsTheDefinitionGives) {
  // Some words are lost: SNR of a bit that is sent, for rates 1/2, 2/3 and 4/5.
  const double snr_db[] = {1.35, 3.3, 4.95, 0.95, 3.0, 4.75};
  std::int64_t failed = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const LdpcCode& code = irig_codes()[i];
    const SentWords sent(whole_code(code), 3, snr_db[i], 5);
    const DecodedWords expected = by_definition(sent, 50);
    EXPECT_EQ(decode_words(sent.llr, code.n(), fmt::format("{{code: {}}}", code.name)), expected) << code.name;
    EXPECT_GT(std::ranges::max(expected.iterations), 15) << code.name;
    failed += expected.events[kFailed];
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 12);
}

TEST(LdpcAnyCode, EveryCodeRightsWhatNoiseHasTurned) {
  for (const auto codes : {irig_codes(), nr_codes()})
    for (const LdpcCode& code : codes) {
      const SentWords sent(whole_code(code), 2, code.name.starts_with("irig") ? 6 : 4);
      EXPECT_GT(std::ranges::count_if(sent.llr, [](float x) { return std::fabs(x) < 1; }), 0);
      const DecodedWords is = decode_words(sent.llr, code.n(), fmt::format("{{code: {}}}", code.name));
      EXPECT_EQ(is.bits, sent.bits) << code.name;
      EXPECT_EQ(is.events, (std::vector<std::int64_t>{2, 0})) << code.name;
    }
}

TEST(LdpcAnyCode, BitsMayBeSentInAnyOrder) {
  // Where sending begins behind the information bits, it has to come around.
  for (const int rv : {0, 1, 2, 3})
    for (const int planes : {1, 2, 6}) {
      const SentWords sent(nr_code_of({.k = 500, .e = 3000, .rv = rv, .planes = planes}), 3, 2);
      const std::string more =
          fmt::format(", rv: {}, bit_interleaver: {}", rv, planes == 1 ? "off" : std::to_string(planes));
      const DecodedWords is = decode_words(sent.llr, 3000, keys_of(500, 3000, more));
      EXPECT_EQ(is.bits, sent.bits) << rv << " " << planes;
      const WordEncoder encoder(sent.code);
      for (std::size_t w = 0; w < 3; ++w) {
        const auto word = encoder.encoded(std::span(sent.bits).subspan(w * 500, 500));
        for (std::size_t i = 0; i < word.size(); ++i)
          ASSERT_EQ(is.posterior[w * word.size() + i] < 0, word[i] != 0) << rv << " " << planes << " " << i;
      }
    }
}

TEST(LdpcAnyCode, ACrcEndsAWordAndCounts) {
  for (const WordCrc crc : {WordCrc::crc16, WordCrc::crc24a, WordCrc::crc24b}) {
    const std::string name(enum_names(crc)[static_cast<std::size_t>(crc)]);
    const SentWords sent(nr_code_of({.k = 1000, .e = 2000}, crc), 40, 0.9);
    const std::string keys = keys_of(1000, 2000, "", ", crc: " + name);
    const DecodedWords is = decode_words(sent.llr, 2000, keys);
    ASSERT_EQ(is.bits.size(), sent.bits.size());
    const auto k = static_cast<std::ptrdiff_t>(sent.code.information());
    std::int64_t wrong = 0;
    for (std::ptrdiff_t w = 0; w < 40; ++w)
      wrong += !std::equal(is.bits.begin() + w * k, is.bits.begin() + (w + 1) * k, sent.bits.begin() + w * k);
    EXPECT_EQ(is.events, (std::vector<std::int64_t>{40, wrong})) << name;
    EXPECT_GT(wrong, 0);
    EXPECT_LT(wrong, 40);
    // The checks of the code hold no sooner: a word is right before all of its parity is.
    const DecodedWords unchecked = decode_words(sent.llr, 2000, keys_of(1000, 2000));
    std::int64_t sooner = 0;
    for (std::size_t w = 0; w < 40; ++w) {
      EXPECT_LE(is.iterations[w], unchecked.iterations[w]);
      sooner += is.iterations[w] < unchecked.iterations[w];
    }
    EXPECT_GT(sooner, 0);
  }
}

TEST(LdpcAnyCode, ACrcGoesWithAnyCode) {
  const SentWords sent(whole_code(*find_ldpc_code("80216e_2304_1_2"), WordCrc::crc24a), 5, 2);
  const DecodedWords is = decode_words(sent.llr, 2304, "{crc: 24a}");
  EXPECT_EQ(is.bits, sent.bits);
  EXPECT_EQ(is.bits.size(), 5u * 1128);
}

TEST(LdpcAnyCode, OfNothingComesZeroAndAFailure) {
  // The CRC of zeros holds, yet nothing is known.
  for (const char* crc : {"", ", crc: 16"}) {
    const DecodedWords is = decode_words(std::vector<float>(2000, 0.0f), 2000, keys_of(1000, 2000, "", crc));
    EXPECT_THAT(is.bits, ::testing::Each(0));
    EXPECT_EQ(is.events, (std::vector<std::int64_t>{1, 1}));
  }
}

TEST(LdpcAnyCode, InfinitiesAndHugeLlrsStayNumbers) {
  std::mt19937 engine(7);
  std::vector<float> llr(900);  // each bit comes several times
  for (float& x : llr) x = (engine() % 2 != 0 ? 1.0f : -1.0f) * (engine() % 3 != 0 ? INFINITY : 3e38f);
  const DecodedWords is = decode_words(llr, 900, "{nr: {k: 60, e: 900}, iterations: 100, scale: 1}");
  EXPECT_EQ(is.events, (std::vector<std::int64_t>{1, 1}));
  EXPECT_THAT(is.bits, ::testing::Each(::testing::Le(1)));
}

TEST(LdpcAnyCode, ElementsOfWholeAndHalfPrecision) {
  const SentWords sent(nr_code_of({.k = 300, .e = 660}), 4, 2);
  std::vector<std::int8_t> whole;
  std::vector<f16> half;
  for (const float x : sent.llr) {
    whole.push_back(static_cast<std::int8_t>(std::clamp(std::rint(4 * x), -127.0f, 127.0f)));
    half.push_back(to_f16(x));
  }
  EXPECT_EQ(decode_words(whole, 660, keys_of(300, 660)).bits, sent.bits);
  EXPECT_EQ(decode_words(half, 660, keys_of(300, 660)).bits, sent.bits);
}

/// The kernel without a GPU: in each row, the last thread first.
DecodedWords by_threads(const SentWords& sent, int most) {
  DecodedWords all{{}, {}, {0, 0}};
  const WordCode& code = sent.code;
  const EdgeTable table(code.code);
  const auto weights = crc_weights(code.crc, code.k);
  const auto lift = code.code.lift;
  for (const float* llr = sent.llr.data(); llr != sent.llr.data() + sent.llr.size(); llr += code.n()) {
    std::vector<float> posterior;
    for (int p = 0; p < code.code.bits(); ++p)
      posterior.push_back(received(code.sent, p, [&](int n) { return llr[n]; }));
    std::vector<RowMessages> messages(static_cast<std::size_t>(code.code.rows) * static_cast<std::size_t>(lift));
    const auto for_rows = [&](auto visit) {
      for (std::size_t r = 0; r + 1 < table.first.size(); ++r)
        for (int i = lift - 1; i >= 0; --i)
          visit(TableThread{lift, i}, &table.edges[table.first[r]], table.first[r + 1] - table.first[r],
                messages[r * static_cast<std::size_t>(lift) + static_cast<std::size_t>(i)]);
    };
    const auto right = [&] {
      bool hold = true;
      if (weights.empty()) {
        for_rows([&](TableThread thread, const std::uint32_t* edges, std::uint32_t count, RowMessages&) {
          hold = hold && thread.holds(edges, count, posterior.data());
        });
        return hold;
      }
      std::uint32_t sum = 0;
      for (std::size_t n = 0; n < weights.size(); ++n) sum ^= posterior[n] < 0 ? weights[n] : 0;
      return sum == 0;
    };
    int made = 0;
    do {
      for_rows([&](TableThread thread, const std::uint32_t* edges, std::uint32_t count, RowMessages& m) {
        thread.update(edges, count, 0.75f, posterior.data(), m);
      });
      ++made;
    } while (made < most && !right());
    for (int n = 0; n < code.information(); ++n) all.bits.push_back(posterior[static_cast<std::size_t>(n)] < 0);
    all.iterations.push_back(made);
    ++all.events[kWords];
    all.events[kFailed] += !right();
  }
  return all;
}

TEST(LdpcAnyCode, ThreadsOfTheKernelGiveWhatTheProcessorGives) {
  for (const auto& [k, e, snr_db] : {std::tuple(40, 100, 0.0),
                                     {300, 660, 0.0},
                                     {1144, 1500, 4.4},
                                     {60, 900, -7.0},
                                     {3840, 8000, 1.1},
                                     {8448, 16896, 1.1}}) {
    for (const WordCrc crc : {WordCrc::none, WordCrc::crc16}) {
      SentWords sent(nr_code_of({.k = k, .e = e}, crc), 4, snr_db);
      for (std::size_t i = 0; i < sent.llr.size(); i += 37)
        sent.llr[i] = i % 2 != 0 ? NAN : i % 4 != 0 ? 0.0f : std::copysign(INFINITY, sent.llr[i]);
      const std::string keys = keys_of(k, e, "", crc == WordCrc::none ? "" : ", crc: 16");
      EXPECT_EQ(by_threads(sent, 15), decode_words(sent.llr, e, keys)) << keys;
    }
  }
  const SentWords plain(whole_code(*find_ldpc_code("80216e_2304_1_2")), 8, 1.2);
  EXPECT_EQ(by_threads(plain, 15), decode_words(plain.llr, 2304, "{}"));
  for (const LdpcCode& code : irig_codes()) {
    const SentWords sent(whole_code(code), 2, 10 * std::log10(2.0 * code.k() / code.n()) + 1.5);
    EXPECT_EQ(by_threads(sent, 50), decode_words(sent.llr, code.n(), fmt::format("{{code: {}}}", code.name)));
  }
}

TEST(LdpcAnyCode, ShapesFollowTheCode) {
  PortShape in = entry().inputs[0].example_shape(Element::f32, 3);
  in.item = {{"n", 5000}};
  testing::StageUnderTest words(entry(), "{nr: {k: 1000, e: 2000}, crc: 24b, interleave: frame}", {in});
  EXPECT_EQ(words.out(kBits).text(), "u8 [word up to 3][word 2][bit 976]");
  EXPECT_THAT(testing::StageUnderTest(entry(), "{nr: {k: 1000, e: 6000}}", {in}).complaints(),
              HasSubstr("needs items of at least 6000 LLRs"));
  EXPECT_THAT(testing::StageUnderTest(entry(), "{code: nr_bg1_z384}", {in}).complaints(),
              HasSubstr("needs items of at least 25344 LLRs"));
}

TEST(LdpcAnyCode, ChoicesThatMakeNoCodeAreRefused) {
  PortShape in = entry().inputs[0].example_shape(Element::f32, 3);
  in.item = {{"n", 50000}};
  const auto complaints = [&](const std::string& keys) {
    return testing::StageUnderTest(entry(), keys, {in}).complaints();
  };
  EXPECT_THAT(complaints("{code: nr_bg3_z8}"), HasSubstr("code: 'nr_bg3_z8' is not one of 80216e_2304_1_2, irig"));
  EXPECT_THAT(complaints("{code: nr_bg1_z8, nr: {k: 10, e: 20}}"), HasSubstr("code: `nr` chooses the code"));
  EXPECT_THAT(complaints("{nr: {k: 10}}"), HasSubstr("nr.e: is required"));
  EXPECT_THAT(complaints("{nr: {k: 20, e: 10}}"), HasSubstr("nr.e: has to be more than k, 20"));
  EXPECT_THAT(complaints("{nr: {k: 10000, e: 20000}}"), HasSubstr("nr.k: a word of base graph 1"));
  EXPECT_THAT(complaints("{nr: {k: 16, e: 40}, crc: 16}"), HasSubstr("crc: has 16 bits, but a word has only 16"));
  EXPECT_THAT(complaints("{crc: 8}"), HasSubstr("crc"));
}

}  // namespace
}  // namespace iqd::ldpc_decoder
