// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "signal/codes/ldpc_codes.hpp"

/// The work of one thread of the kernel: row i of each block row. The thread's messages are in registers, the word's
/// posteriors, [n], in shared memory. Within a block row, no two threads access the same posterior. The code is a
/// compile-time constant, so loops over edges are unrolled and registers need no dynamic index.
namespace iqd::ldpc_decoder {

/// A block row.
struct Layer {
  int first = 0;  // entry
  int edges = 0;
  int columns[kMostEdges] = {};  // first position of each edge's block column
  int shifts[kMostEdges] = {};
};

template <int kCode> struct RowThread {
  static constexpr int kLift = kLdpcCodes[kCode].lift;
  static constexpr int kRows = kLdpcCodes[kCode].rows;
  static constexpr int kN = kLdpcCodes[kCode].n();
  static constexpr int kK = kLdpcCodes[kCode].k();
  static constexpr int kEdges = static_cast<int>(kLdpcCodes[kCode].entries.size());

  static constexpr Layer layer(int row) {
    Layer l;
    for (int e = 0; e < kEdges; ++e) {
      const LdpcEntry& entry = kLdpcCodes[kCode].entries[static_cast<std::size_t>(e)];
      if (entry.row < row) ++l.first;
      if (entry.row != row) continue;
      l.columns[l.edges] = entry.column * kLift;
      l.shifts[l.edges++] = entry.shift;
    }
    return l;
  }

  /// Whether a thread may access another thread's posteriors in these two rows.
  static constexpr bool meet(int one, int other) {
    const Layer a = layer(one), b = layer(other);
    for (int i = 0; i < a.edges; ++i)
      for (int j = 0; j < b.edges; ++j)
        if (a.columns[i] == b.columns[j] && a.shifts[i] != b.shifts[j]) return true;
    return false;
  }
  /// Whether the threads must synchronize before a row.
  static constexpr bool waits(int row) {
    int since = 0;
    bool wait = true;
    for (int r = 1; r <= row; ++r) {
      wait = false;
      for (int before = since; before < r; ++before) wait = wait || meet(before, r);
      if (wait) since = r;
    }
    return wait;
  }

  /// Processes a block row: reads all of its posteriors, then writes all.
  template <int kRow> IQD_HOST_DEVICE static void update(int i, float scale, float* posterior, float* messages) {
    constexpr int first = kLayer<kRow>.first, edges = kLayer<kRow>.edges;
    float q[edges];
    float least = kLargest, second = kLargest;
    std::uint32_t signs = 0;
    each<edges>([&](auto e) {
      q[e] = posterior[place<kRow, e>(i)] - messages[first + e];
      second = fminf(second, fmaxf(least, fabsf(q[e])));
      least = fminf(least, fabsf(q[e]));
      signs ^= bits_of(q[e]);
    });
    // An edge with the minimum gets the second minimum; if two edges have the minimum, both are equal.
    const std::uint32_t sign = signs & kSign;
    const std::uint32_t of_least = bits_of(scale * second) | sign, of_others = bits_of(scale * least) | sign;
    each<edges>([&](auto e) {
      const std::uint32_t message = (fabsf(q[e]) == least ? of_least : of_others) ^ (bits_of(q[e]) & kSign);
      messages[first + e] = std::bit_cast<float>(message);
      posterior[place<kRow, e>(i)] = q[e] + messages[first + e];
    });
  }

  /// One iteration; `wait` is a barrier for all threads.
  template <class Wait>
  IQD_HOST_DEVICE static void iterate(int i, float scale, float* posterior, float* messages, Wait wait) {
    each<kRows>([&](auto row) {
      if constexpr (waits(row)) wait();
      update<row>(i, scale, posterior, messages);
    });
  }

  /// Whether the checks of this thread's rows hold.
  IQD_HOST_DEVICE static bool hold(int i, const float* posterior) {
    std::uint32_t odd = 0;
    each<kRows>([&](auto row) {
      std::uint32_t signs = 0;
      each<kLayer<row>.edges>([&](auto e) { signs ^= bits_of(posterior[place<row, e>(i)]); });
      odd |= signs;
    });
    return odd >> 31 == 0;
  }

 private:
  static constexpr std::uint32_t kSign = 0x80000000u;
  template <int kRow> static constexpr Layer kLayer = layer(kRow);

  /// Calls f with the numbers below kCount as integral constants.
  template <int kCount, class F> IQD_HOST_DEVICE static void each(F f) {
    [&]<int... k>(std::integer_sequence<int, k...>) {
      (f(std::integral_constant<int, k>()), ...);
    }
    (std::make_integer_sequence<int, kCount>());
  }
  template <int kRow, int kEdge> IQD_HOST_DEVICE static int place(int i) {
    constexpr int column = kLayer<kRow>.columns[kEdge], shift = kLayer<kRow>.shifts[kEdge];
    return column + (i + shift < kLift ? i + shift : i + shift - kLift);
  }
  IQD_HOST_DEVICE static std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
};

}  // namespace iqd::ldpc_decoder
