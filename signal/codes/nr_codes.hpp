// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "signal/codes/ldpc_code.hpp"

/// The codes of NR: base graphs 1 and 2 of TS 38.212, tables 5.3.2-2 and -3, with each lifting size.
namespace iqd {

/// A base graph as a file: each line is an entry `row column V0 … V7`, in order of rows, then of columns. Vi is the
/// shift, before mod z, for the lifting sizes z = kNrSets[i] · 2^j.
struct NrTable {
  const char* path;
  const char* text;
};
std::span<const NrTable> nr_tables();

inline constexpr std::array kNrSets{2, 3, 5, 7, 9, 11, 13, 15};
inline constexpr int kNrLargestLift = 384;

/// All lifting sizes, rising.
std::span<const int> nr_lifts();
/// Named nr_bg1_z2 … nr_bg1_z384, nr_bg2_z2 … nr_bg2_z384.
std::span<const LdpcCode> nr_codes();
/// `graph` is 1 or 2, `lift` one of nr_lifts().
const LdpcCode& nr_code(int graph, int lift);

}  // namespace iqd
