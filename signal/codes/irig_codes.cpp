// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/irig_codes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

namespace iqd {
namespace {

// A code is three rows of blocks of M x M bits. A block is a sum of permutations Pi_first … Pi_last, Pi_0 the identity.
// Pi_k is four circulants of M / 4: quarter j of its rows is in quarter theta_k + j (mod 4) of its columns, with the
// shift phi_k(j, M).
constexpr int kPermutations = 26;
constexpr int kQuarters = 4;
constexpr int kTheta[kPermutations] = {3, 0, 1, 2, 2, 3, 0, 1, 0, 1, 2, 0, 2, 3, 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 3};
/// For M = 128 · 2^i: [i][j][k - 1].
constexpr std::int16_t kPhi[5][kQuarters][kPermutations] = {
    {{1, 22, 0, 26, 0, 10, 5, 18, 3, 22, 3, 8, 25, 25, 2, 27, 7, 7, 15, 10, 4, 19, 7, 9, 26, 17},
     {0, 27, 30, 28, 7, 1, 8, 20, 26, 24, 4, 12, 23, 15, 15, 22, 31, 3, 29, 21, 2, 5, 11, 26, 9, 17},
     {0, 12, 30, 18, 10, 16, 13, 9, 7, 15, 16, 18, 4, 23, 5, 3, 29, 11, 4, 8, 2, 11, 11, 3, 15, 13},
     {0, 13, 19, 14, 15, 20, 17, 4, 4, 11, 17, 20, 8, 22, 19, 15, 5, 21, 17, 9, 20, 18, 31, 13, 2, 18}},
    {{59, 18, 52, 23, 11, 7, 22, 25, 27, 30, 43, 14, 46, 62, 44, 12, 38, 47, 1, 52, 61, 10, 55, 7, 12, 2},
     {0, 32, 21, 36, 30, 29, 44, 29, 39, 14, 22, 15, 48, 55, 39, 11, 1, 50, 40, 62, 27, 38, 40, 15, 11, 18},
     {0, 46, 45, 27, 48, 37, 41, 13, 9, 49, 36, 10, 11, 18, 54, 40, 27, 35, 25, 46, 24, 33, 18, 37, 35, 21},
     {0, 44, 51, 12, 15, 12, 4, 7, 2, 30, 53, 23, 29, 37, 42, 48, 4, 10, 18, 56, 9, 11, 23, 8, 7, 24}},
    {{16, 103, 105, 0, 50, 29, 115, 30, 92, 78, 70, 66, 39, 84, 79, 70, 29, 32, 45, 113, 86, 1, 42, 118, 33, 126},
     {0, 53, 74, 45, 47, 0, 59, 102, 25, 3, 88, 65, 62, 68, 91, 70, 115, 31, 121, 45, 56, 54, 108, 14, 30, 116},
     {0, 8, 119, 89, 31, 122, 1, 69, 92, 47, 11, 31, 19, 66, 49, 81, 96, 38, 83, 42, 58, 24, 25, 92, 38, 120},
     {0, 35, 97, 112, 64, 93, 99, 94, 103, 91, 3, 6, 39, 113, 92, 119, 74, 73, 116, 31, 127, 98, 23, 38, 18, 62}},
    {{160, 241, 185, 251, 209, 103, 90,  184, 248, 12, 111, 66,  173,
      42,  157, 174, 104, 144, 43,  181, 250, 202, 68, 177, 170, 89},
     {0,   182, 249, 65,  70,  141, 237, 77,  55,  12,  227, 42,  52,
      243, 179, 250, 247, 164, 17,  31,  149, 105, 183, 153, 177, 19},
     {0,   35, 167, 214, 84, 206, 122, 67,  147, 54, 23, 93,  20,
      197, 46, 162, 101, 76, 78,  253, 124, 143, 63, 41, 214, 70},
     {0,  162, 7,   31, 164, 11,  237, 125, 133, 99,  105, 17, 97,
      91, 211, 128, 82, 115, 248, 62,  26,  140, 121, 12,  41, 249}},
    {{108, 126, 238, 481, 96,  28,  59,  225, 323, 28, 386, 305, 34,
      510, 147, 199, 347, 391, 165, 414, 97,  158, 86, 168, 506, 489},
     {0,   375, 436, 350, 260, 84, 318, 382, 169, 213, 67,  313, 242,
      188, 1,   306, 397, 80,  33, 7,   447, 336, 424, 134, 152, 492},
     {0,   219, 16,  263, 415, 403, 184, 279, 198, 307, 432, 240, 454,
      294, 479, 289, 373, 104, 141, 270, 439, 333, 399, 14,  277, 412},
     {0,   312, 503, 388, 48, 7,   185, 328, 254, 202, 285, 11,  168,
      127, 8,   437, 475, 85, 419, 459, 468, 209, 311, 211, 510, 320}},
};

struct IrigBlock {
  int row, column;  // of rate 4/5
  int first, last;
};
constexpr int kBlockColumns = 11;  // of rate 4/5; the others are without its first ones
constexpr IrigBlock kBlocks[] = {
    {0, 8, 0, 0},   {0, 10, 0, 1},                                                                  //
    {1, 0, 21, 23}, {1, 1, 0, 0},   {1, 2, 15, 17}, {1, 3, 0, 0},   {1, 4, 9, 11}, {1, 5, 0, 0},    //
    {1, 6, 0, 0},   {1, 7, 0, 0},   {1, 9, 0, 0},   {1, 10, 2, 4},                                  //
    {2, 0, 0, 0},   {2, 1, 24, 26}, {2, 2, 0, 0},   {2, 3, 18, 20}, {2, 4, 0, 0},  {2, 5, 12, 14},  //
    {2, 6, 0, 0},   {2, 7, 5, 6},   {2, 9, 7, 8},   {2, 10, 0, 0},
};

struct IrigRate {
  const char* name;
  int blocks;  // of information
};
constexpr IrigRate kRates[] = {{"1_2", 2}, {"2_3", 4}, {"4_5", 8}};
constexpr int kLengths[] = {1024, 4096};
constexpr int kIterations = 50;  // with 15, 7 to 18 times as many words are lost: bench/codes

using Entries = std::vector<LdpcEntry>;

/// Quarter j of permutation k, in a block whose quarters begin at `row` and `column`.
LdpcEntry entry_of(int k, int size, int row, int column, int j) {
  if (k == 0) return {static_cast<std::int16_t>(row + j), static_cast<std::int16_t>(column + j), 0};
  int i = 0;
  while (128 << i != size) ++i;
  const auto at = static_cast<std::size_t>(k - 1);
  return {static_cast<std::int16_t>(row + j), static_cast<std::int16_t>(column + (kTheta[at] + j) % kQuarters),
          kPhi[i][j][at]};
}

Entries entries_of(int size, int columns) {
  Entries entries;
  const int left_out = kBlockColumns - columns;
  for (const IrigBlock& block : kBlocks)
    for (int k = block.first; k <= block.last && block.column >= left_out; ++k)
      for (int j = 0; j < kQuarters; ++j)
        entries.push_back(entry_of(k, size, kQuarters * block.row, kQuarters * (block.column - left_out), j));
  std::ranges::sort(entries, {}, [](const LdpcEntry& e) { return std::tuple(e.row, e.column); });
  return entries;
}

class IrigCodes {
 public:
  IrigCodes() {
    for (const int length : kLengths)
      for (const IrigRate& rate : kRates) add(length, rate);
  }
  std::span<const LdpcCode> codes() const { return codes_; }

 private:
  void add(int length, const IrigRate& rate) {
    const std::size_t at = added_++;
    const int size = length / rate.blocks, columns = rate.blocks + 3;
    names_[at] = "irig_" + std::to_string(length) + "_" + rate.name;
    entries_[at] = entries_of(size, columns);
    codes_[at] = {.name = names_[at],
                  .lift = size / kQuarters,
                  .rows = 3 * kQuarters,
                  .columns = columns * kQuarters,
                  .core = 3 * kQuarters,
                  .hidden_first = (columns - 1) * kQuarters,
                  .hidden = kQuarters,
                  .iterations = kIterations,
                  .entries = entries_[at]};
  }

  static constexpr std::size_t kCount = std::size(kLengths) * std::size(kRates);
  std::size_t added_ = 0;
  std::array<std::string, kCount> names_;
  std::array<Entries, kCount> entries_;
  std::array<LdpcCode, kCount> codes_;
};

}  // namespace

std::span<const LdpcCode> irig_codes() {
  static const IrigCodes kCodes;
  return kCodes.codes();
}

}  // namespace iqd
