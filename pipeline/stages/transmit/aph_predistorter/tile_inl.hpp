// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "pipeline/stages/transmit/aph_predistorter/sample_inl.hpp"

/// The work of a thread block on a run of samples, thread by thread; the kernel puts barriers in between.
///
/// Inputs go through shared memory, so that neighbouring threads read neighbouring samples. Each thread then takes 8
/// adjacent samples and those before them, so an input's powers are computed once for all its outputs. Shared memory is
/// in units of 16 bytes (two Pairs, or four sc16). The lowest bits of a unit's number are XORed with higher ones, so
/// that the units which 8 threads read at once, 4 apart, are in different banks.
namespace iqd::aph_predistorter {

/// 16 bytes: two Pairs or four sc16.
struct alignas(16) [[gnu::may_alias]] Unit {
  std::uint32_t words[4];

  template <class T> IQD_HOST_DEVICE T at(int e) const {
    T value;
    std::memcpy(static_cast<void*>(&value), words + e * (sizeof(T) / 4), sizeof(T));
    return value;
  }
  template <class T> IQD_HOST_DEVICE void set(int e, T value) {
    std::memcpy(words + e * (sizeof(T) / 4), &value, sizeof(T));
  }
};
template <class T> inline constexpr int per_unit = static_cast<int>(sizeof(Unit) / sizeof(T));

struct Tile {
  static constexpr int kThreads = 128;
  static constexpr int kEach = 8;
  static constexpr int kOutputs = kThreads * kEach;
  static constexpr int kMostHistory = 16;
  static constexpr int kInputUnits = (kOutputs + kMostHistory) / per_unit<Complex>;
  static constexpr int kOutputUnits = kOutputs / per_unit<Complex>;

  /// Staged samples before the first output: whole units of either type.
  static IQD_HOST_DEVICE constexpr int history(int taps) { return (taps + 2) / 4 * 4; }
  /// Position of unit u in shared memory.
  static IQD_HOST_DEVICE constexpr int place(int u) { return u ^ (u >> 3 & 3); }
};

template <class T> IQD_HOST_DEVICE bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(Unit) == 0;
}
/// Converts those samples of `In` in the unit from sample i (even) on to Pairs.
template <class In> IQD_HOST_DEVICE void stage_unit(const Unit& x, int i, Unit* inputs) {
  for (int e = 0; e < per_unit<In>; e += 2) {
    Unit two{};
    two.set(0, to_complex(x.at<In>(e)));
    two.set(1, to_complex(x.at<In>(e + 1)));
    inputs[Tile::place((i + e) / 2)] = two;
  }
}

/// Stages x(-history) … of a tile, zero where there is none. x(0) is that of the tile's first output; `past` samples
/// are before it, `length` from it on.
template <class In> IQD_HOST_DEVICE void stage_inputs(const In* x, std::int64_t past, std::int64_t length, int history,
                                                      int thread, Unit* inputs) {
  constexpr int per = per_unit<In>;
  constexpr int step = Tile::kThreads * per;
  constexpr int steps = Tile::kEach / per;  // of a thread: all loads are issued before the first is used
  const int first = thread * per;
  x -= history;
  if (past >= history && length >= Tile::kOutputs && is_aligned(x)) {
    const bool one_more = first < history;
    Unit loaded[steps];
    Unit last{};
    for (int s = 0; s < steps; ++s) loaded[s] = *reinterpret_cast<const Unit*>(x + s * step + first);
    if (one_more) last = *reinterpret_cast<const Unit*>(x + Tile::kOutputs + first);
    for (int s = 0; s < steps; ++s) stage_unit<In>(loaded[s], s * step + first, inputs);
    if (one_more) stage_unit<In>(last, Tile::kOutputs + first, inputs);
    return;
  }
  for (int i = first; i < history + Tile::kOutputs; i += step) {
    Unit unit{};
    for (int e = 0; e < per; ++e)
      if (i + e >= history - past && i + e < history + length) unit.set(e, x[i + e]);
    stage_unit<In>(unit, i, inputs);
  }
}

/// The sums of a thread's outputs, for constant sizes: each input's powers are computed once.
template <int branches, int taps>
IQD_HOST_DEVICE void sum_up(const Model& model, int thread, const Unit* inputs, Complex* z) {
  constexpr int history = Tile::history(taps);
  constexpr int units = (history + Tile::kEach) / per_unit<Complex>;
  Unit x[units];
  for (int u = 0; u < units; ++u) x[u] = inputs[Tile::place(thread * (Tile::kEach / per_unit<Complex>)+u)];
  for (int i = history - (taps - 1); i < history + Tile::kEach; ++i) {
    Complex v = x[i / 2].template at<Complex>(i % 2);
    const float a = square(v);
    for (int b = 0; b < branches; ++b) {
      for (int o = 0; o < Tile::kEach; ++o)
        if (const int k = o + history - i; k >= 0 && k < taps) add(z[o], model.weights[k * branches + b], v);
      v = scaled(v, a);
    }
  }
}

/// The same sums in the same order, for any sizes.
IQD_HOST_DEVICE inline void sum_up(const Model& model, int thread, const Unit* inputs, Complex* z) {
  const int first = thread * Tile::kEach + Tile::history(model.taps);
  for (int k = model.taps - 1; k >= 0; --k) {
    Complex v[Tile::kEach];
    float a[Tile::kEach];
    for (int o = 0; o < Tile::kEach; ++o) {
      v[o] = inputs[Tile::place((first + o - k) / 2)].at<Complex>((first + o - k) % 2);
      a[o] = square(v[o]);
    }
    for (int b = 0; b < model.branches; ++b) {
      const Weights w = model.weights[k * model.branches + b];
      for (int o = 0; o < Tile::kEach; ++o) {
        add(z[o], w, v[o]);
        v[o] = scaled(v[o], a[o]);
      }
    }
  }
}

/// The positions of a block's new outputs; only those are reported.
struct Told {
  std::int64_t begin;
  std::int64_t end;
};

/// Limits z for sending, and collects the statistics; `first` is the position of the thread's first output.
template <class Out> IQD_HOST_DEVICE void limit_outputs(const Complex* z, float clip, std::int64_t first, Told told,
                                                        int thread, Unit* outputs, Watch& watch) {
  constexpr int per = per_unit<Out>;
  for (int o = 0; o < Tile::kEach; o += per) {
    Unit unit{};
    for (int e = 0; e < per; ++e) {
      Watch one;
      unit.set(e, limit<Out>(z[o + e], clip, one));
      if (first + o + e >= told.begin && first + o + e < told.end) watch.add(one);
    }
    outputs[Tile::place((thread * Tile::kEach + o) / per)] = unit;
  }
}

template <class Out> IQD_HOST_DEVICE void store_outputs(const Unit* outputs, int thread, std::int64_t length, Out* z) {
  constexpr int per = per_unit<Out>;
  const bool whole = length >= Tile::kOutputs && is_aligned(z);
  for (int u = thread; u < Tile::kOutputs / per; u += Tile::kThreads) {
    const Unit unit = outputs[Tile::place(u)];
    Out* const to = z + u * per;
    if (whole)
      *reinterpret_cast<Unit*>(to) = unit;
    else
      for (int e = 0; e < per; ++e)
        if (u * per + e < length) to[e] = unit.at<Out>(e);
  }
}

}  // namespace iqd::aph_predistorter
