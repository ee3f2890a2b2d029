// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "signal/codes/word_code.hpp"

namespace iqd {

/// Bits of a point, whose places the bit interleaver spreads over a word.
enum class BitInterleaver : std::uint8_t { off, two, four, six, eight };
std::span<const std::string_view> enum_names(BitInterleaver);

enum class NrGraph : std::uint8_t { by_rate, one, two };
std::span<const std::string_view> enum_names(NrGraph);

/// An operator's choice of a code: by its name, or a word of NR by its lengths.
struct WordChoice {
  static constexpr std::int64_t kMostSent = 1 << 20;  // bits of a word
  static constexpr std::int64_t kMostRv = 3;

  struct Nr {
    std::int64_t k = 0, e = 0, rv = 0;
    BitInterleaver bit_interleaver = BitInterleaver::off;
    NrGraph graph = NrGraph::by_rate;
  };
  struct Fault {
    std::string key;  // code, nr.k, nr.e, crc
    std::string what;
  };

  std::string code = "none";
  bool is_nr = false;  // then `nr` counts, not `code`
  Nr nr{};
  WordCrc crc = WordCrc::none;

  bool is_none() const noexcept { return !is_nr && code == "none"; }
  /// The first thing that is wrong with it; `none` is allowed if `may_be_none`.
  std::optional<Fault> fault(bool may_be_none) const;
  /// Without a fault; nullopt for none.
  std::optional<WordCode> words() const;

 private:
  NrWord nr_word() const noexcept;
  std::optional<Fault> nr_fault() const;
};

}  // namespace iqd
