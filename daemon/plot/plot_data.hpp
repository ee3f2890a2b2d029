// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/element.hpp"

namespace iqd::plot {

enum class Kind : std::uint8_t { automatic, spectrum, waterfall, constellation, time };

/// Frequencies of bins at equal distances.
struct BinAxis {
  double first_hz = 0;
  double step_hz = 0;      // 0: not known; then bins are counted
  bool is_sure = false;    // stated by the publisher, not derived from the sample rate
  bool is_offset = false;  // from the middle of each row's channel
};

/// A piece of what is plotted: rows of samples, of values or of a spectrum.
struct Piece {
  enum class Of : std::uint8_t { samples, symbols, values, bins };
  Of of = Of::samples;
  std::vector<std::vector<cf32>> samples{};  // samples, symbols: [row][n]
  std::vector<std::vector<float>> values{};  // values: [row][n]; bins: [row][bin] in dB
  double rate_hz = 0;                        // items a second; 0: not known
  double frequency_hz = 0;                   // of 0 Hz
  std::optional<std::int64_t> first{};       // position of the first item in the stream, if it is known
  BinAxis bins{};
  std::string name{};  // `spectrum.out of spectrum`, a file
  std::vector<std::string> row_names{};

  /// Items of a row.
  std::int64_t length() const noexcept {
    const bool is_complex = of == Of::samples || of == Of::symbols;
    return rows() == 0 ? 0 : static_cast<std::int64_t>(is_complex ? samples[0].size() : values[0].size());
  }
  std::size_t rows() const noexcept { return of == Of::samples || of == Of::symbols ? samples.size() : values.size(); }
};

/// What is drawn of such a piece if nothing else is asked.
inline Kind natural_kind(const Piece& piece) {
  switch (piece.of) {
    case Piece::Of::symbols: return Kind::constellation;
    case Piece::Of::values: return Kind::time;
    case Piece::Of::samples:
    case Piece::Of::bins: break;
  }
  return Kind::spectrum;
}

}  // namespace iqd::plot
