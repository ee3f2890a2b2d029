// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "signal/codes/ldpc_code.hpp"

/// Codes whose decoder is compiled with their tables. Another one is another table here and another line below. The
/// decoder's kernel is compiled for each, so the compiler sees the tables. The codes of NR share a kernel: nr_codes.hpp.
namespace iqd {

/// IEEE 802.16e, rate 1/2, n = 2304: {row, column, shift}, one row per line.
// clang-format off
inline constexpr LdpcEntry k80216e_2304_1_2[] = {
    {0, 1, 94}, {0, 2, 73}, {0, 8, 55}, {0, 9, 83}, {0, 12, 7}, {0, 13, 0},
    {1, 1, 27}, {1, 5, 22}, {1, 6, 79}, {1, 7, 9}, {1, 11, 12}, {1, 13, 0}, {1, 14, 0},
    {2, 3, 24}, {2, 4, 22}, {2, 5, 81}, {2, 7, 33}, {2, 11, 0}, {2, 14, 0}, {2, 15, 0},
    {3, 0, 61}, {3, 2, 47}, {3, 8, 65}, {3, 9, 25}, {3, 15, 0}, {3, 16, 0},
    {4, 2, 39}, {4, 6, 84}, {4, 9, 41}, {4, 10, 72}, {4, 16, 0}, {4, 17, 0},
    {5, 4, 46}, {5, 5, 40}, {5, 7, 82}, {5, 11, 79}, {5, 12, 0}, {5, 17, 0}, {5, 18, 0},
    {6, 2, 95}, {6, 3, 53}, {6, 9, 14}, {6, 10, 18}, {6, 18, 0}, {6, 19, 0},
    {7, 1, 11}, {7, 2, 73}, {7, 6, 2}, {7, 9, 47}, {7, 19, 0}, {7, 20, 0},
    {8, 0, 12}, {8, 4, 83}, {8, 5, 24}, {8, 7, 43}, {8, 11, 51}, {8, 20, 0}, {8, 21, 0},
    {9, 5, 94}, {9, 7, 59}, {9, 10, 70}, {9, 11, 72}, {9, 21, 0}, {9, 22, 0},
    {10, 2, 7}, {10, 3, 65}, {10, 8, 39}, {10, 9, 49}, {10, 22, 0}, {10, 23, 0},
    {11, 0, 43}, {11, 5, 66}, {11, 7, 41}, {11, 11, 26}, {11, 12, 7}, {11, 23, 0},
};
// clang-format on

inline constexpr LdpcCode kLdpcCodes[] = {
    {.name = "80216e_2304_1_2", .lift = 96, .rows = 12, .columns = 24, .core = 12, .entries = k80216e_2304_1_2},
};

}  // namespace iqd
