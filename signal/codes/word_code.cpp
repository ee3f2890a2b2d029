// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/word_code.hpp"

#include <algorithm>

#include "signal/codes/nr_codes.hpp"

namespace iqd {
namespace {

/// All of a code, whose information bits behind the first `k` are filler.
WordCode whole(const LdpcCode& code, int k, WordCrc crc) {
  const int hidden = code.hidden * code.lift, first = code.hidden_first * code.lift;
  const int sent = code.n() - (code.k() - k);
  return {.code = code,
          .sent = {.hidden_begin = first,
                   .hidden_end = first + hidden,
                   .filler_begin = k,
                   .filler_end = code.k(),
                   .begin = 0,
                   .ring = sent,
                   .count = sent},
          .crc = crc,
          .k = k};
}

/// Leaves out the rows that reach no bit that is sent.
void drop_rows(WordCode& words) {
  const SentBits& sent = words.sent;
  if (sent.begin + sent.count >= sent.ring) return;
  const int last = sent.position_of(sent.count - 1) / words.code.lift;
  words.code = words.code.first_rows(std::max(words.code.core, last + 1 - words.code.information()));
}

}  // namespace

WordCode whole_code(const LdpcCode& code, WordCrc crc) {
  return whole(code, code.k(), crc);
}

int nr_graph(const NrWord& word) noexcept {
  if (word.graph != 0) return word.graph;
  const double rate = static_cast<double>(word.k) / static_cast<double>(word.e);
  return word.k <= 292 || (word.k <= 3824 && rate <= 0.67) || rate <= 0.25 ? 2 : 1;
}

int nr_lift(int graph, std::int64_t k) noexcept {
  const int columns = graph == 1 ? 22 : k > 640 ? 10 : k > 560 ? 9 : k > 192 ? 8 : 6;
  return *std::ranges::find_if(nr_lifts(), [&](int lift) { return columns * lift >= k; });
}

WordCode nr_code_of(const NrWord& word, WordCrc crc) {
  static constexpr int kBegins[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};
  const int graph = nr_graph(word);
  const LdpcCode& code = nr_code(graph, nr_lift(graph, word.k));
  WordCode words = whole(code, static_cast<int>(word.k), crc);
  // The first bit counts filler, the ring does not.
  const int first = (kBegins[graph - 1][word.rv] + code.hidden) * code.lift;
  const SentBits& sent = words.sent;
  const int filler = std::clamp(first, sent.filler_begin, sent.filler_end) - sent.filler_begin;
  words.sent.begin = first - sent.hidden_end - filler;
  words.sent.count = static_cast<int>(word.e);
  words.sent.planes = word.planes;
  drop_rows(words);
  return words;
}

NrSegments nr_segments(std::int64_t bits, int graph) noexcept {
  const std::int64_t most = kNrMostBits[graph - 1];
  if (bits <= most) return {1, bits};
  const std::int64_t own = bits_of(WordCrc::crc24b), count = (bits + most - own - 1) / (most - own);
  return {count, (bits + count * own + count - 1) / count};
}

WordEncoder::WordEncoder(const WordCode& code) : code_(code), ldpc_(code.code) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(code.n()));
  for (int turn = 0; turn < code.n(); ++turn)
    positions[static_cast<std::size_t>(code.sent.place_of(turn))] = code.sent.position_of(turn);
  for (const std::int32_t position : positions) {
    if (!runs_.empty() && position == runs_.back().position + runs_.back().count)
      ++runs_.back().count;
    else
      runs_.push_back({position, 1});
  }
}

void WordEncoder::encode(std::span<const std::uint8_t> information, std::span<std::uint8_t> word,
                         std::span<std::uint8_t> scratch) const noexcept {
  const auto all = scratch.first(scratch_bytes());
  const auto count = static_cast<std::size_t>(code_.information());
  std::transform(information.begin(), information.begin() + code_.information(), all.begin(),
                 [](std::uint8_t b) { return static_cast<std::uint8_t>(b & 1); });
  const int checks = bits_of(code_.crc);
  const std::uint32_t crc = crc_of(code_.crc, all.first(count));
  for (int b = 0; b < checks; ++b)
    all[count + static_cast<std::size_t>(b)] = static_cast<std::uint8_t>(crc >> (checks - 1 - b) & 1);
  std::fill_n(all.begin() + code_.k, code_.code.k() - code_.k, std::uint8_t{0});
  ldpc_.encode(all);
  auto to = word.begin();
  for (const Run& run : runs_) to = std::copy_n(all.begin() + run.position, run.count, to);
}

std::vector<std::uint8_t> WordEncoder::encoded(std::span<const std::uint8_t> information) const {
  std::vector<std::uint8_t> word(static_cast<std::size_t>(code_.n())), scratch(scratch_bytes());
  encode(information, word, scratch);
  return word;
}

}  // namespace iqd
