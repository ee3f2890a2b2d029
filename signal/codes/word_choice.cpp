// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/word_choice.hpp"

#include <fmt/format.h>

namespace iqd {

std::span<const std::string_view> enum_names(BitInterleaver) {
  static constexpr std::string_view kNames[] = {"off", "2", "4", "6", "8"};
  return kNames;
}

std::span<const std::string_view> enum_names(NrGraph) {
  static constexpr std::string_view kNames[] = {"auto", "1", "2"};
  return kNames;
}

NrWord WordChoice::nr_word() const noexcept {
  const auto bits = static_cast<int>(nr.bit_interleaver);
  return {.k = nr.k,
          .e = nr.e,
          .rv = static_cast<int>(nr.rv),
          .planes = bits == 0 ? 1 : 2 * bits,
          .graph = static_cast<int>(nr.graph)};
}

std::optional<WordChoice::Fault> WordChoice::nr_fault() const {
  const NrWord word = nr_word();
  if (word.e <= word.k) return Fault{"nr.e", fmt::format("has to be more than k, {}", word.k)};
  if (word.e % word.planes != 0)
    return Fault{"nr.e", fmt::format("has to be a multiple of {}, for the bit interleaver", word.planes)};
  const int graph = nr_graph(word);
  const std::int64_t most = kNrMostBits[graph - 1];
  if (word.k <= most) return std::nullopt;
  const NrSegments parts = nr_segments(word.k, graph);
  return Fault{"nr.k", fmt::format("a word of base graph {} has at most {} bits; split {} bits "
                                   "into {} words of k {} with crc 24b",
                                   graph, most, word.k, parts.count, parts.k)};
}

std::optional<WordChoice::Fault> WordChoice::fault(bool may_be_none) const {
  if (is_none()) {
    if (!may_be_none) return Fault{"code", "'none' is not one of " + ldpc_code_names()};
    if (crc != WordCrc::none) return Fault{"crc", "needs a code"};
    return std::nullopt;
  }
  if (is_nr) {
    if (auto fault = nr_fault()) return fault;
  } else if (find_ldpc_code(code) == nullptr) {
    return Fault{"code", fmt::format("'{}' is not one of {}{}", code, may_be_none ? "none, " : "", ldpc_code_names())};
  }
  const WordCode words = *this->words();
  if (words.information() > 0) return std::nullopt;
  return Fault{"crc", fmt::format("has {} bits, but a word has only {}", bits_of(crc), words.k)};
}

std::optional<WordCode> WordChoice::words() const {
  if (is_none()) return std::nullopt;
  return is_nr ? nr_code_of(nr_word(), crc) : whole_code(*find_ldpc_code(code), crc);
}

}  // namespace iqd
