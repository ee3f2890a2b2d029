// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"

/// The work of one thread of the kernel for any code: row i of each block row, with a table at run time. The word's
/// posteriors are in shared memory. Of a row's messages a thread keeps the two magnitudes that they have, which edge has
/// the larger one, and their signs. Within a block row, no two threads access the same posterior.
namespace iqd::ldpc_decoder {

/// Entries of a row of blocks: first[row] … first[row + 1] - 1, each the position of its block column << 16 | shift.
struct EdgeTable {
  std::vector<std::uint32_t> edges;
  std::vector<std::uint32_t> first;

  explicit EdgeTable(const LdpcCode& code) : first(static_cast<std::size_t>(code.rows) + 1) {
    for (const LdpcEntry& e : code.entries) {
      edges.push_back(static_cast<std::uint32_t>(e.column * code.lift) << 16 | static_cast<std::uint32_t>(e.shift));
      first[static_cast<std::size_t>(e.row) + 1] = static_cast<std::uint32_t>(edges.size());
    }
  }
};

/// The messages of a row.
struct RowMessages {
  static constexpr int kIndexAt = 27;  // edges that have a sign bit; above them the index of the least
  static constexpr std::uint32_t kNone = 31;

  float of_others = 0, of_least = 0;  // magnitudes
  std::uint32_t signs = kNone << kIndexAt;

  IQD_HOST_DEVICE float at(std::uint32_t edge) const noexcept {
    const float size = edge == signs >> kIndexAt ? of_least : of_others;
    return (signs >> edge & 1) != 0 ? -size : size;
  }
};

struct TableThread {
  int lift;
  int i;

  IQD_HOST_DEVICE int place(std::uint32_t edge) const noexcept {
    const int column = static_cast<int>(edge >> 16), at = i + static_cast<int>(edge & 0xffff);
    return column + (at < lift ? at : at - lift);
  }

  /// Processes a block row of `count` edges. In between, posteriors are those without this row's messages.
  IQD_HOST_DEVICE void update(const std::uint32_t* edges, std::uint32_t count, float scale, float* posterior,
                              RowMessages& messages) const noexcept {
    float least = kLargest, second = kLargest;
    std::uint32_t signs = 0, index = RowMessages::kNone;
    for (std::uint32_t e = 0; e < count; ++e) {
      float& p = posterior[place(edges[e])];
      const float q = p - messages.at(e), size = std::fabs(q);
      p = q;
      if (size < least) {
        second = least;
        least = size;
        index = e;
      } else if (size < second) {
        second = size;
      }
      signs |= std::bit_cast<std::uint32_t>(q) >> 31 << e;
    }
    const bool odd = (parity(signs) & 1) != 0;
    messages.of_others = scale * least;
    messages.of_least = scale * second;
    messages.signs = ((odd ? ~signs : signs) & ((1u << count) - 1)) | index << RowMessages::kIndexAt;
    for (std::uint32_t e = 0; e < count; ++e) posterior[place(edges[e])] += messages.at(e);
  }

  /// Whether the check of this thread's row holds.
  IQD_HOST_DEVICE bool holds(const std::uint32_t* edges, std::uint32_t count, const float* posterior) const noexcept {
    std::uint32_t signs = 0;
    for (std::uint32_t e = 0; e < count; ++e) signs ^= std::bit_cast<std::uint32_t>(posterior[place(edges[e])]);
    return signs >> 31 == 0;
  }

 private:
  IQD_HOST_DEVICE static std::uint32_t parity(std::uint32_t x) noexcept {
    x ^= x >> 16;
    x ^= x >> 8;
    x ^= x >> 4;
    x ^= x >> 2;
    return x ^ x >> 1;
  }
};

/// A bit's posterior at first: what was received of it, repetitions added up. `llr_at(i)` is LLR i of the word.
template <class At>
IQD_HOST_DEVICE inline float received(const SentBits& sent, int position, const At& llr_at) noexcept {
  if (sent.is_filler(position)) return kLargest;
  float sum = 0;
  for (int turn = sent.turn_of(position); turn < sent.count; turn += sent.ring)
    sum = usable_llr(sum + usable_llr(llr_at(sent.place_of(turn))));
  return sum;
}

}  // namespace iqd::ldpc_decoder
